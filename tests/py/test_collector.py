"""Garbage collections are functions of their own, below whom they interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from test_api import answer

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

Write = Callable[..., Path]


def test_a_collection_is_not_the_time_of_whom_it_interrupts(write: Write, tmp_path: Path) -> None:
    # GIVEN garbage whose finalizer takes a while, a function that asks for a collection, and one that only allocates
    result = answer(
        write,
        tmp_path,
        """
        import gc
        class Slow:
            def __del__(self):
                end = time.monotonic() + 0.08
                while time.monotonic() < end: pass
        def asks():
            slow = Slow()
            slow.itself = slow
            del slow
            gc.collect()
        def allocates():
            gc.set_threshold(50, 2, 2)
            kept = []
            for _ in range(5000): kept.append([])
            gc.set_threshold(10**6)
            return len(kept)
        gc.collect()
        flamelet.start()
        asks()
        allocates()
        flamelet.stop()
        snapshot = flamelet.snapshot()
        names = [f.qualname for f in snapshot.functions]
        own = {f.qualname: f.own_cpu + f.own_blocked for f in snapshot.functions}
        edges = [[names[e.caller], names[e.callee], e.calls] for e in snapshot.edges]
        say([own, edges, snapshot.gc, snapshot.totals.calls])
        """,
    )
    own, edges, (count, time, longest), calls = result
    below = {(caller, callee): number for caller, callee, number in edges}
    # THEN the finalizer is below the collection, which is below who asked for it, and that one did nothing itself
    full = "garbage collection, generation 2"
    assert below["asks", full] == 1
    assert below[full, "Slow.__del__"] == 1
    assert own["Slow.__del__"] >= 0.075
    assert own["asks"] < 0.02
    # AND those that came by themselves are below whom they interrupted
    by_itself = {callee: number for (caller, callee), number in below.items() if caller == "allocates"}
    assert by_itself.get("garbage collection, generation 0", 0) >= 5, edges
    # AND they are summed up, with their finalizers, but are no calls
    assert count == sum(number for (_, callee), number in below.items() if callee.startswith("garbage collection"))
    assert 0.075 <= longest <= time < 5
    assert calls == 3  # asks, the finalizer, allocates


def test_the_list_of_callbacks_is_as_it_was(write: Write, tmp_path: Path) -> None:
    # GIVEN a program with a callback of its own, and one that throws the whole list away in the middle
    result = answer(
        write,
        tmp_path,
        """
        import gc
        seen = []
        def mine(phase, info): seen.append(phase)
        gc.callbacks.append(mine)
        for _ in range(3):
            flamelet.start()
            during = len(gc.callbacks)
            gc.collect()
            flamelet.stop()
        after = list(gc.callbacks) == [mine]
        flamelet.start()
        gc.callbacks.clear()
        gc.collect()
        flamelet.stop()
        say([during, after, len(gc.callbacks), seen.count("start"), seen.count("stop"),
             dict(flamelet.snapshot().lost)])
        """,
    )
    # THEN ours stands there only while profiling runs, theirs sees all, and nothing is lost
    during, after, at_last, started, stopped, lost = result
    assert (during, after, at_last) == (2, True, 0)
    assert (started, stopped) == (3, 3)
    assert not any(lost.values()), lost


def test_a_start_and_a_stop_in_the_middle_of_a_collection(write: Write, tmp_path: Path) -> None:
    # GIVEN finalizers that start and stop profiling
    result = answer(
        write,
        tmp_path,
        """
        import gc
        class Starts:
            def __del__(self): flamelet.start()
        class Stops:
            def __del__(self): flamelet.stop()
        def collect(kind):
            garbage = kind()
            garbage.itself = garbage
            del garbage
            gc.collect()
        for _ in range(20):
            collect(Starts)
            collect(Stops)
        flamelet.stop()
        gc.collect()
        snapshot = flamelet.snapshot()
        say([[f.calls for f in snapshot.functions if f.qualname == "collect"], dict(snapshot.lost),
             len(gc.callbacks)])
        """,
    )
    # THEN the stack is right before and after: a collection whose beginning was not seen has no end either
    calls, lost, callbacks = result
    assert calls == [20]
    assert not any(lost.values()), lost
    assert callbacks == 0
