"""The programs that scale.py measures: `scenes.py NAME on|off NUMBERS...` runs one and prints what it measured as JSON.

on: under flamelet, with every call recorded and the server off.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import flamelet

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def short(on: bool, greenlets: int) -> dict[str, float]:
    """Greenlets of 20 us of work each, a tenth of it calls: started, run to their end, forgotten."""
    import gevent

    def work() -> None:
        for _ in range(8):
            step()

    def step() -> int:
        total = 0
        for number in range(spins):
            total += number
        return total

    def run(count: int) -> None:
        for first in range(0, count, 100):
            gevent.joinall([gevent.spawn(work) for _ in range(min(100, count - first))])

    spins = 100
    began = perf_counter()
    for _ in range(200):
        work()
    spins = max(1, int(spins * 20e-6 / ((perf_counter() - began) / 200)))
    if on:
        flamelet.start()
    run(max(1, greenlets // 100))
    before = resident()
    began = perf_counter()
    run(greenlets)
    seconds = perf_counter() - began
    return {"seconds": seconds, "grown_bytes": resident() - before}


def parked(on: bool, greenlets: int, frames: int) -> dict[str, float]:
    """Greenlets that wait, each `frames` deep."""
    waiting = _park(10, frames)  # what is needed once
    if on:
        flamelet.start()
    before = resident()
    waiting += _park(greenlets, frames)
    needed = resident() - before
    began = perf_counter()
    if on:
        flamelet.session.recording_lines("scene")
    return {"bytes": needed, "ms": (perf_counter() - began) * 1e3}


def _park(greenlets: int, frames: int) -> list[Any]:
    from greenlet import getcurrent, greenlet

    parent = getcurrent()

    def descend(left: int) -> None:
        if left > 1:
            descend(left - 1)
        else:
            parent.switch()

    waiting = [greenlet(descend) for _ in range(greenlets)]
    for one in waiting:
        one.switch(frames)
    return waiting


def paths(on: bool, deep: int) -> dict[str, float]:
    """Ten functions that call each other in every order, `deep` calls deep."""
    functions: list[Callable[[int], None]] = []
    for number in range(10):
        scope: dict[str, Any] = {"functions": functions}
        source = f"def f{number}(left):\n    if left > 1:\n        for f in functions: f(left - 1)"
        exec(source, scope)
        functions.append(scope[f"f{number}"])
    before = resident()
    if on:
        flamelet.start()
    for function in functions:
        function(deep)
    needed = resident() - before
    if not on:
        return {"bytes": needed}
    flamelet.stop()
    picture = flamelet.snapshot()
    seen = sum(row.calls for row in picture.functions if row.name in {f"f{i}" for i in range(10)})
    missing = sum(10**level for level in range(1, deep + 1)) - seen
    return {"bytes": needed, "missing": missing, "uncounted": max(0, missing - picture.lost["events"])}


def started(on: bool, greenlets: int) -> dict[str, float]:
    """Start and stop with many parked greenlets, while another thread asks for the GIL again and again."""
    waiting = _park(greenlets, 4)
    gaps: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            began = perf_counter()
            sleep(PAUSE)
            gaps.append(perf_counter() - began - PAUSE)

    PAUSE = 0.0002  # noqa: N806
    sys.setswitchinterval(0.0005)
    asking = threading.Thread(target=ask)
    asking.start()
    measured = {}
    for name, act in (("start", flamelet.start), ("stop", flamelet.stop)):
        sleep(0.05)
        gaps.clear()
        began = perf_counter()
        if on:
            act()
        measured[f"{name}_ms"] = (perf_counter() - began) * 1e3
        sleep(0.01)
        measured[f"{name}_gap_ms"] = max(gaps) * 1e3
    over.set()
    asking.join()
    assert waiting
    return measured


if __name__ == "__main__":
    name, state, *numbers = sys.argv[1:]
    scenes: dict[str, Callable[..., dict[str, float]]] = {
        "short": short,
        "parked": parked,
        "paths": paths,
        "started": started,
    }
    print(json.dumps(scenes[name](state == "on", *map(int, numbers))))
    sys.stdout.flush()
    os._exit(0)  # what is parked need not be unwound
