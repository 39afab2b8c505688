"""Own trees: with each setting a program's numbers are the same, and memory is bounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from running import PYTHON, run
from test_api import answer

Write = Callable[..., Path]


@pytest.mark.parametrize("task_trees", ["long", "watched", "all"])
def test_the_numbers_are_the_same(write: Write, tmp_path: Path, task_trees: str) -> None:
    # GIVEN greenlets that come and go, and some that live long
    result = answer(
        write,
        tmp_path,
        f"""
        import gevent
        def inner(): pass
        def work(): inner(); gevent.sleep(0); inner()
        def stays():
            end = time.monotonic() + 1.5
            turns = 0
            while time.monotonic() < end:
                inner()
                turns += 1
                gevent.sleep(0.01)
            turned.append(turns)
        turned = []
        def main():
            long = [gevent.spawn(stays) for _ in range(3)]
            for _ in range(200):
                gevent.joinall([gevent.spawn(work) for _ in range(10)])
                flamelet.snapshot()
            gevent.joinall(long)
        flamelet.start(task_trees={task_trees!r})
        main()
        flamelet.stop()
        snapshot = flamelet.snapshot()
        groups = {{g.entry: [g.started, g.ended] for g in snapshot.groups}}
        walls = [[t.wall, sum(x.cpu + x.blocked + x.idle for x in snapshot.tasks if x.thread == t.id)]
                 for t in snapshot.threads]
        own = sum(f.own_cpu + f.own_blocked + f.own_idle for f in snapshot.functions)
        say([calls(), groups, sum(turned), walls, own, sum(t.wall for t in snapshot.threads)])
        """,
    )
    calls, groups, turned, _, own, wall = result
    # THEN calls are exact, and the functions' own times are the threads' wall time
    assert calls["work"] == 2000
    assert calls["inner"] == 4000 + turned
    assert groups["work"] == [2000, 2000]
    assert abs(own - wall) <= 0.01 * wall


def test_a_wrong_setting(write: Write, tmp_path: Path) -> None:
    write("program.py", "import flamelet\nflamelet.start(task_trees='some')\n")
    finished = run(PYTHON, "program.py", cwd=tmp_path)
    assert finished.code == 1
    assert "task_trees is 'some'; it can be long, watched or all" in finished.errors
