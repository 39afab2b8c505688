"""A second native thread with a hub of its own: it counts what the routes report to it, over UDP on the loopback.

It writes its totals to a slow place now and then, and holds a native lock while it does: right for two threads that
share the totals, and a trap for whoever takes that lock in the main thread, where waiting for it stops the hub.
"""

import json
from collections import Counter, defaultdict
from typing import Any

import gevent
from gevent import socket
from gevent.event import Event
from gevent.lock import BoundedSemaphore
from gevent.monkey import get_original
from gevent.server import DatagramServer

from mistake import HOLD

PUBLISH_EVERY = 5.0  # seconds
PUBLISHING_TAKES = HOLD
REST = 0.02  # after it, so that who waits for the lock gets it before the next one publishes
START_LIMIT = 10.0
ANSWER_LIMIT = 5.0

# The patched ones would make a greenlet, and a lock that only stops a greenlet.
_allocate_lock = get_original("_thread", "allocate_lock")
_start_native_thread = get_original("_thread", "start_new_thread")


class Collector:
    """`count`, `totals` and `publish` are for the main thread; what the collector's own thread runs says so."""

    def __init__(self) -> None:
        self.lock = _allocate_lock()  # guards `published`
        self.published: dict[str, Any] = {}
        self._ready = _allocate_lock()
        self._ended = _allocate_lock()
        self._client: socket.socket | None = None
        # From here on the collector's own thread's.
        self._requests: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def start(self) -> None:
        """Returns when the other hub runs. The caller has a hub already: two hubs must not be made at the same time."""
        gevent.get_hub()
        self._ready.acquire()
        self._ended.acquire()
        _start_native_thread(self._run, ())
        if not self._ready.acquire(timeout=START_LIMIT):
            raise RuntimeError("the collector's thread did not start")
        self._client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def stop(self) -> None:
        if self._client is None:
            return
        self._client.close()
        self._client = None
        self._stop_watcher.send()  # the one method of a hub that another thread may call
        self._ended.acquire(timeout=ANSWER_LIMIT)

    def count(self, route: str, seconds: float) -> None:
        """Never waits; what does not fit into the socket's buffer is not counted."""
        if self._client is not None:
            self._client.sendto(f"count {route} {seconds:.6f}".encode(), self._address)

    def totals(self) -> dict[str, Any]:
        """Route -> {requests, seconds}."""
        return self._ask("totals")

    def publish(self) -> None:
        """Returns when the collector has taken `lock`; it publishes and keeps the lock for `PUBLISHING_TAKES`."""
        self._ask("publish")

    def _ask(self, question: str) -> dict[str, Any]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(ANSWER_LIMIT)
            client.sendto(question.encode(), self._address)
            answer: dict[str, Any] = json.loads(client.recv(65536))
            return answer

    # The collector's own thread.

    def _run(self) -> None:
        hub = gevent.get_hub()
        stopped = Event()
        self._turn = BoundedSemaphore(1)
        self._stop_watcher = hub.loop.async_()
        self._stop_watcher.start(stopped.set)
        receive: Any = self._receive  # gevent's stubs name a socket where it passes bytes
        self._server = DatagramServer(("127.0.0.1", 0), receive)
        self._server.start()
        self._address = self._server.address
        publisher = gevent.spawn(self._publish_regularly)
        self._ready.release()
        stopped.wait()
        publisher.kill()
        self._server.stop()
        self._stop_watcher.close()
        hub.destroy(destroy_loop=True)
        self._ended.release()

    def _receive(self, message: bytes, sender: tuple[str, int]) -> None:
        match message.decode().split():
            case ["count", route, seconds]:
                self._requests[route] += 1
                self._seconds[route] += float(seconds)
            case ["totals"]:
                self._answer(self._count_up(), sender)
            case ["publish"]:
                self._publish(sender)

    def _answer(self, answer: dict[str, Any], receiver: tuple[str, int]) -> None:
        self._server.sendto(json.dumps(answer).encode(), receiver)

    def _count_up(self) -> dict[str, Any]:
        return {
            route: {"requests": count, "seconds": round(self._seconds[route], 3)}
            for route, count in sorted(self._requests.items())
        }

    def _publish_regularly(self) -> None:
        while True:
            gevent.sleep(PUBLISH_EVERY)
            self._publish()

    def _publish(self, asker: tuple[str, int] | None = None) -> None:
        # One greenlet of this hub at a time: a second one that waits for the native lock would stop the first.
        with self._turn:
            with self.lock:
                self.published = self._count_up()
                if asker is not None:
                    self._answer({"publishing": True}, asker)
                gevent.sleep(PUBLISHING_TAKES)
            gevent.sleep(REST)
