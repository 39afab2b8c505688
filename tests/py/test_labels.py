"""flamelet.label(): a dimension of groups, inherited by what a task spawns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from running import PYTHON, run
from test_api import answer

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

Write = Callable[..., Path]

GROUPS = """
        def groups():
            return sorted([g.entry, g.label, g.started, g.ended, round(g.cpu + g.blocked, 2)]
                          for g in flamelet.snapshot().groups if g.label or g.entry in ("serve", "helper", "work"))
        def burn(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end: pass
"""


def test_as_a_call_and_as_a_context_manager(write: Write, tmp_path: Path) -> None:
    # GIVEN one task that serves two requests, as on a connection that is kept alive
    result = answer(
        write,
        tmp_path,
        """
        import gevent"""
        + GROUPS
        + """
        def serve():
            with flamelet.label("GET /a"):
                burn(0.1)
                with flamelet.label("inner"):
                    burn(0.05)
                burn(0.02)
            flamelet.label("GET /b")
            burn(0.2)
            flamelet.label(None)
            burn(0.04)
        flamelet.start()
        gevent.spawn(serve).join()
        flamelet.stop()
        say(groups())
        """,
    )
    # THEN the time of each goes to its label, and each counts its stretches
    seconds = {(entry, label): took for entry, label, _, _, took in result}
    counts = {(entry, label): (started, ended) for entry, label, started, ended, _ in result}
    for label, wanted in (("GET /a", 0.12), ("inner", 0.05), ("GET /b", 0.2), ("", 0.04)):
        assert abs(seconds["serve", label] - wanted) <= max(0.02, wanted / 10), (label, result)
    assert counts == {("serve", ""): (1, 1), ("serve", "GET /a"): (2, 2), ("serve", "inner"): (1, 1),
                      ("serve", "GET /b"): (1, 1)}  # fmt: skip


def test_greenlets_inherit_it(write: Write, tmp_path: Path) -> None:
    # GIVEN greenlets that are spawned under a label, begin when it is gone, and spawn more
    result = answer(
        write,
        tmp_path,
        """
        import gevent, greenlet"""
        + GROUPS
        + """
        def helper(): burn(0.02)
        def work():
            gevent.sleep(0)
            gevent.spawn(helper).join()
        def raw(): burn(0.02)
        def serve():
            with flamelet.label("GET /"):
                spawned = gevent.spawn(work)
                never = gevent.spawn(work)
                never.kill(block=False)
                greenlet.greenlet(raw).switch()
            gevent.spawn(helper).join()
            spawned.join()
        flamelet.start()
        gevent.spawn(serve).join()
        flamelet.stop()
        say([groups(), [[t.entry, t.group >= 0] for t in flamelet.snapshot().tasks if t.entry == "raw"]])
        """,
    )
    groups, _ = result
    counts = {(entry, label): started for entry, label, started, _, _ in groups}
    # THEN each has the label of its spawner at that moment
    assert counts["work", "GET /"] == 1
    assert counts["helper", "GET /"] == 1
    assert counts["helper", ""] == 1
    assert counts["raw", "GET /"] == 1


def test_asyncio_tasks_inherit_it(write: Write, tmp_path: Path) -> None:
    # GIVEN asyncio tasks that are made under a label and run after it
    result = answer(
        write,
        tmp_path,
        """
        import asyncio"""
        + GROUPS
        + """
        async def helper(): burn(0.02)
        async def serve():
            with flamelet.label("GET /"):
                task = asyncio.create_task(helper())
            await task
            await asyncio.create_task(helper())
        flamelet.start()
        asyncio.run(serve())
        flamelet.stop()
        say(groups())
        """,
    )
    counts = {(entry, label): started for entry, label, started, _, _ in result}
    assert counts["helper", "GET /"] == 1
    assert counts["helper", ""] == 1


def test_before_a_start_and_while_stopped(write: Write, tmp_path: Path) -> None:
    # GIVEN labels that are set while profiling is off
    result = answer(
        write,
        tmp_path,
        GROUPS
        + """
        def work():
            burn(0.05)
        with flamelet.label("early"):
            flamelet.start()
            work()
            flamelet.stop()
        flamelet.start()
        work()
        with flamelet.label("late"):
            flamelet.stop()
        flamelet.start()
        work()
        flamelet.stop()
        say([[g.label, round(g.cpu + g.blocked, 2)] for g in flamelet.snapshot().groups])
        """,
    )
    # THEN the task has the label that is in force when profiling is on
    seconds: dict[str, float] = {}
    for label, took in result:
        seconds[label] = seconds.get(label, 0) + took
    assert 0.04 <= seconds["early"] <= 0.09
    assert "late" not in seconds or seconds["late"] < 0.01
    assert 0.09 <= seconds[""] <= 0.2


def test_a_wrong_argument(write: Write, tmp_path: Path) -> None:
    write("program.py", "import flamelet\nflamelet.label(7)\n")
    finished = run(PYTHON, "program.py", cwd=tmp_path)
    assert finished.code == 1
    assert "label() takes a str, or None to take the label away, not int" in finished.errors


def test_more_labels_than_there_is_room_for(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that puts a number into each label
    result = answer(
        write,
        tmp_path,
        """
        def work():
            for i in range(6000):
                with flamelet.label(f"request {i}"):
                    pass
        flamelet.start(); work(); flamelet.stop()
        groups = flamelet.snapshot().groups
        say([len(groups), [g.started for g in groups if g.label == "(other labels)"]])
        """,
    )
    # THEN the groups are bounded, and the rest share one
    count, shared = result
    assert count <= 4096 + 8
    assert shared == [6000 - 4096]


def test_what_it_costs(write: Write, tmp_path: Path) -> None:
    # GIVEN labels that are set again and again, 12 frames deep
    result = answer(
        write,
        tmp_path,
        """
        def deep(n):
            if n: return deep(n - 1)
            one, other = "one", "other"
            label = flamelet.label
            best = 1e9
            for _ in range(40):
                begin = time.perf_counter()
                for _ in range(1000):
                    label(one); label(other)
                best = min(best, time.perf_counter() - begin)
            return best / 2000 * 1e9
        flamelet.start()
        ns = deep(12)
        flamelet.stop()
        say(ns)
        """,
    )
    print(f"setting a label: {result:.0f} ns")
    # THEN nothing in it grows with the number of labels set (200 ns on a quiet machine; docs/benchmarks.md)
    assert result < 2000
