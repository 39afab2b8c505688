"""A pre-fork program on gevent: two workers that do different things. Prints their process ids, one to a line.

Ends at Ctrl-C, with its workers, or after five minutes.
"""

import contextlib
import os
import signal
import time

import gevent

SECONDS = 300


def paint() -> None:
    spin("paint")


def weigh() -> None:
    spin("weigh")


def spin(what: str) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        sum(range(20_000))
        gevent.sleep(0.01)


def main() -> None:
    workers = []
    for work in (paint, weigh):
        pid = os.fork()
        if pid == 0:
            gevent.reinit()
            gevent.spawn(work).join()
            os._exit(0)
        workers.append(pid)
        print(pid, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        os.waitpid(workers[0], 0)
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


main()
