"""gunicorn's settings. A worker is a forked child; with PROFILED=worker it starts flamelet itself."""

import os
import sys

bind = f"127.0.0.1:{os.environ['REAL_PORT']}"
worker_class = "gevent"
workers = 2
accesslog = "-"
access_log_format = "%(m)s %(U)s %(s)s %(B)s"
control_socket = os.path.join(os.environ["REAL_OUTPUT"], "control")


def post_worker_init(worker):
    if os.environ["PROFILED"] == "worker":
        import flamelet

        flamelet.start()
    worker.log.info("Worker ready: %s", worker.pid)


def worker_exit(server, worker):
    import meter

    flamelet = sys.modules.get("flamelet")
    if flamelet and flamelet.is_running():
        snapshot = flamelet.snapshot()
        meter.save(functions=[row._asdict() for row in snapshot.functions], lost=dict(snapshot.lost))
    else:
        meter.save()
