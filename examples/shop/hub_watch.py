"""How long the hub was held, measured from within: a greenlet wants to run every few milliseconds; how late is it?

This is the shop's own evidence, independent of any profiler. A gap counts for a route whose request was in progress
during more than half of it, so with requests one after the other each gap has one name.
"""

import time
from collections import Counter, deque

import gevent

TICK = 0.005  # seconds
GAP = 0.06  # seconds: a shorter one is not worth a word


class HubWatch:
    def __init__(self) -> None:
        self.gaps = 0
        self.longest = 0.0
        self.gaps_during: Counter[str] = Counter()
        self.longest_during: dict[str, float] = {}
        self._open: dict[int, tuple[str, float]] = {}
        self._over: deque[tuple[str, float, float]] = deque(maxlen=200)
        self._next = 0

    def request_began(self, route: str) -> int:
        """Returns a number for `request_ended`."""
        self._next += 1
        self._open[self._next] = (route, time.monotonic())
        return self._next

    def request_ended(self, number: int) -> None:
        route, began = self._open.pop(number)
        self._over.append((route, began, time.monotonic()))

    def run(self) -> None:
        """The ticker's life: a greenlet that never ends by itself."""
        before = time.monotonic()
        while True:
            gevent.sleep(TICK)
            now = time.monotonic()
            self._note(before, now)
            before = now

    def _note(self, begin: float, end: float) -> None:
        gap = end - begin - TICK
        self.longest = max(self.longest, gap)
        requests = [*self._over, *((route, began, end) for route, began in self._open.values())]
        self._over.clear()
        routes = {route for route, began, ended in requests if min(ended, end) - max(began, begin) > gap / 2}
        for route in routes:
            self.longest_during[route] = max(self.longest_during.get(route, 0.0), gap)
        if gap >= GAP:
            self.gaps += 1
            self.gaps_during.update(routes)

    def print_findings(self) -> None:
        print(f"hub: {self.gaps} gaps of {1000 * GAP:.0f} ms or more, longest {1000 * self.longest:.0f} ms")
        for route, longest in sorted(self.longest_during.items()):
            print(f"hub: during {route} {self.gaps_during[route]} gaps, longest {1000 * longest:.0f} ms")
