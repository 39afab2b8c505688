"""Who holds the GIL and who waits for it, as a thread sees it that has not got it."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from flamelet import _ext

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

LOOKS = 300


@contextmanager
def thread(work: Callable[[threading.Event], None]) -> Iterator[int]:
    """A thread that does work(end) until the block ends. Gives its native id."""
    end = threading.Event()
    worker = threading.Thread(target=work, args=(end,), daemon=True)
    worker.start()
    assert worker.native_id is not None
    try:
        yield worker.native_id
    finally:
        end.set()
        worker.join()


def burn(end: threading.Event) -> None:
    while not end.is_set():
        sum(range(1000))


def sleep(end: threading.Event) -> None:
    while not end.is_set():
        time.sleep(0.5)


def test_the_thread_that_computes_is_the_holder() -> None:
    # GIVEN a thread that computes, and another one that sleeps
    with thread(burn) as burning, thread(sleep) as sleeping:
        # WHEN a thread without the GIL looks
        looks = _ext.debug_gil(sleeping, LOOKS)
    # THEN it sees the first one, and nobody else but a moment at a wake-up
    holders = Counter(holder for holder, _ in looks)
    assert holders[burning] > 0.9 * LOOKS
    # AND the one that sleeps waits for nobody
    assert Counter(wait for _, wait in looks)["yes"] < 0.1 * LOOKS


def test_of_two_that_compute_one_waits_for_the_other() -> None:
    # GIVEN two threads that compute
    with thread(burn) as one, thread(burn) as other:
        # WHEN a thread without the GIL looks at one of them
        looks = _ext.debug_gil(one, LOOKS)
    # THEN the GIL is always held by one of the two, but for the moments in which it changes hands
    holders = Counter(holder for holder, _ in looks)
    assert holders[one] + holders[other] > 0.9 * LOOKS
    assert min(holders[one], holders[other]) > 0.1 * LOOKS, "both get their turn"
    # AND the first one waits while the second one holds it, and does not wait while it holds it itself
    waits = Counter((holder == one, wait) for holder, wait in looks if holder in (one, other))
    assert waits[False, "yes"] > 0.9 * (waits[False, "yes"] + waits[False, "no"])
    assert waits[True, "no"] > 0.9 * (waits[True, "yes"] + waits[True, "no"])
    # (unknown: it woke up, to insist, and waits for a processor; on a busy machine it does so often)
    assert waits[False, "yes"] > 10


def test_a_thread_in_c_that_keeps_the_gil_is_the_holder() -> None:
    # GIVEN a thread in a C function that does not give the GIL back for 200 ms
    looks: list[tuple[int, str]] = []
    watcher = threading.Thread(target=lambda: looks.extend(_ext.debug_gil(1, 100)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        watcher.start()
        while not looks and watcher.is_alive():
            # WHEN a thread without the GIL looks meanwhile
            _ext.debug_hold(0.2)
    finally:
        sys.setswitchinterval(interval)
    watcher.join()
    # THEN it sees that thread
    holders = Counter(holder for holder, _ in looks)
    assert holders[threading.get_native_id()] > 0.8 * len(looks) > 0
    # AND of a thread that does not exist it says nothing
    assert {wait for _, wait in looks} == {"unknown"}


def test_nobody_holds_it_while_all_sleep() -> None:
    # GIVEN a thread that sleeps
    with thread(sleep) as sleeping:
        # WHEN the only other one looks without the GIL
        looks = _ext.debug_gil(sleeping, LOOKS)
    # THEN nobody has it
    holders = Counter(holder for holder, _ in looks)
    assert holders[0] > 0.95 * LOOKS
