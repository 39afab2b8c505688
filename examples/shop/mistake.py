"""The mistake: one step of one route holds the hub, in one of five ways, drawn from a seed.

Each of the four steps (`related_products`, `rank_products`, `price_order`, `build_rows`) spells out the five ways in
its own body. A shared helper would be shorter, but then a profiler would show the helper, where a real blunder shows
the function that somebody wrote for the route.
"""

import math
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from gevent.monkey import get_original

ROUTES = ("/product", "/search", "/checkout", "/report")
KINDS = ("c_call", "unpatched_sleep", "cpu_loop", "foreign_lock", "big_sort")

HOLD = 0.22  # seconds that one mistaken request holds the hub, about
PEACE = 0.3  # seconds until the next one: were each request mistaken, no route would look innocent at a higher load
PEACE_SHARE = 1.4  # of the time that the last one took, at least: on a starved machine it takes far longer


class NativeLock(Protocol):
    """What `_thread.allocate_lock()` gives when nothing is patched: it stops the thread, not the greenlet."""

    def __enter__(self) -> bool: ...
    def __exit__(self, *exception: object) -> None: ...


class Publisher(Protocol):
    """The other thread, as far as the mistake knows it."""

    lock: NativeLock

    def publish(self) -> None:
        """Returns once the other thread has taken `lock`; it keeps it for a while."""


def draw(seed: int) -> tuple[str, str]:
    """Route and kind; the same ones for the same seed, on every Python."""
    dice = random.Random(seed)
    return dice.choice(ROUTES), dice.choice(KINDS)


class Mistake:
    """What was drawn, and what the wrong code works on. Used by greenlets of the main thread only.

    `size` is the length of `text`, the number of `numbers`, or the rounds of a loop: `calibrate` chooses it so that one
    mistaken request takes about `HOLD` seconds of CPU on this machine. Only what the drawn kind needs is filled.
    """

    def __init__(self, drawn: tuple[str, str], publisher: Publisher) -> None:
        self.route, self.kind = drawn
        self.times = 0
        self.size = 0
        self.text = ""
        self.trailing_space = re.compile(r"\s+$")  # its `sub` is C; `re.sub` would be a Python frame of its own
        self.numbers: list[int] = []
        self.seconds = HOLD
        self.sleep: Callable[[float], None] = get_original("time", "sleep")
        self.lock = publisher.lock
        self._publisher = publisher
        self._peace_until = 0.0

    @contextmanager
    def chance(self, route: str) -> "Iterator[Mistake | None]":
        """Around the step of a request of `route`: gives the mistake where it is to be made, else None."""
        if route != self.route or time.monotonic() < self._peace_until:
            yield None
            return
        self._peace_until = math.inf  # other requests come here while this one waits
        self.times += 1
        began = time.monotonic()
        try:
            if self.kind == "foreign_lock":
                self._publisher.publish()  # else the lock would be free most of the time
            yield self
        finally:
            ended = time.monotonic()
            self._peace_until = ended + max(PEACE, PEACE_SHARE * (ended - began))

    def calibrate(self, step: Callable[["Mistake"], object]) -> None:
        """Grow `size` until one call of `step` takes about `HOLD` seconds. Takes about as long itself."""
        if self.kind not in _START_SIZE:
            return
        self._resize(_START_SIZE[self.kind])
        while (cost := min(_cpu_seconds(step, self) for _ in range(2))) < HOLD / 4:
            self._resize(self.size * 2)
        self._resize(round(self.size * (HOLD / cost) ** (1 / _EXPONENT[self.kind])))

    def _resize(self, size: int) -> None:
        self.size = size
        if self.kind == "c_call":
            # The pasted text that once stopped a large site: `trailing_space` tries again from each of its spaces.
            self.text = "|" + " " * size + "|"
        elif self.kind == "big_sort":
            self.numbers = list(memoryview(random.Random(size).randbytes(4 * size)).cast("I"))


_START_SIZE = {"c_call": 2_000, "cpu_loop": 200_000, "big_sort": 50_000}
_EXPONENT = {"c_call": 2, "cpu_loop": 1, "big_sort": 1.15}  # time grows with size to the power of this


def _cpu_seconds(step: Callable[[Mistake], object], mistake: Mistake) -> float:
    # Not wall time: a busy neighbour at the start would make every hold too short.
    before = time.thread_time()
    step(mistake)
    return time.thread_time() - before
