"""The shop from start to stop: what is started in which order, and ended in the opposite one."""

import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import gevent
from gevent.pool import Pool
from gevent.pywsgi import WSGIServer

from application import STEPS, create_application
from carts import Carts
from collector import Collector
from database import Database
from hub_watch import HubWatch
from jobs import start_jobs
from mistake import Mistake
from orders import Orders
from services import Services

CONNECTIONS = 64
SHUTDOWN_LIMIT = 2.0  # seconds for requests in progress


class CannotListen(Exception):
    """Names the port and the reason."""


class Shop:
    """`start`, then `start_load`, then `stop`, which may follow a `start` that failed."""

    def __init__(self, drawn: tuple[str, str], port: int) -> None:
        self.port = port
        self.requests: Counter[str] = Counter()
        self.failures = 0  # requests of the load; known after `stop`
        self._collector = Collector()
        self.mistake = Mistake(drawn, self._collector)
        self._to_stop = ExitStack()

    def start(self, watch: HubWatch | None) -> None:
        """Raises CannotListen when the port can't be had."""
        self.mistake.calibrate(STEPS[self.mistake.route].rehearse)
        database = Database()
        self._to_stop.callback(database.close)
        self._collector.start()
        self._to_stop.callback(self._collector.stop)
        carts, orders = Carts(), Orders(database)
        jobs = start_jobs(database, carts, orders)
        if watch is not None:
            jobs.append(gevent.spawn(watch.run))
        self._to_stop.callback(gevent.killall, jobs)
        services = Services(database, carts, orders, self._collector, self.mistake)
        application = create_application(services, self.requests, watch)
        # Without its name the server would ask the resolver for one, which may take long and leaves an idle thread.
        environ = {"SERVER_NAME": "127.0.0.1"}
        server = WSGIServer(("127.0.0.1", self.port), application, spawn=Pool(CONNECTIONS), log=None, environ=environ)
        try:
            server.start()
        except OSError as error:
            raise CannotListen(f"cannot listen on 127.0.0.1:{self.port}: {os.strerror(error.errno or 0)}") from error
        self._to_stop.callback(server.stop, timeout=SHUTDOWN_LIMIT)
        self.port = services.port = int(server.address[1])

    def start_load(self, rate: float, seconds: float, seed: int) -> None:
        """A second process sends `rate` requests per second; it ends with `seconds`, at `stop`, or when we die."""
        if rate <= 0:
            return
        command = [sys.executable, str(Path(__file__).with_name("load.py")), "--end-with-stdin"]
        command += ["--port", str(self.port), "--rate", str(rate), "--seed", str(seed)]
        if seconds:
            command += ["--seconds", str(seconds)]
        load = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._to_stop.callback(self._stop_load, load)

    def stop(self) -> None:
        self._to_stop.close()

    def _stop_load(self, load: "subprocess.Popen[str]") -> None:
        try:
            printed, _ = load.communicate(timeout=SHUTDOWN_LIMIT)  # closes its stdin, so it ends
        except subprocess.TimeoutExpired:
            load.kill()
            printed, _ = load.communicate()
        if load.returncode == 0:
            self.failures = int(printed)
        else:
            print(f"shop: the load ended with exit code {load.returncode}", file=sys.stderr)
