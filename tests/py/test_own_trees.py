"""Own trees: with each setting a program's numbers are the same, and memory is bounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from running import LIMIT, PYTHON, run, running
from test_api import answer
from test_live import client_when_ready

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

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
        own = sum(g.cpu + g.blocked + g.idle for g in snapshot.groups)
        say([calls(), groups, sum(turned), walls, own, sum(t.wall for t in snapshot.threads)])
        """,
    )
    calls, groups, turned, _, own, wall = result
    # THEN calls are exact, and the groups' times are the threads' wall time
    assert calls["work"] == 2000
    assert calls["inner"] == 4000 + turned
    assert groups["work"] == [2000, 2000]
    assert abs(own - wall) <= 0.01 * wall


def test_a_wrong_setting(write: Write, tmp_path: Path) -> None:
    write("program.py", "import flamelet\nflamelet.start(task_trees='some')\n")
    finished = run(PYTHON, "program.py", cwd=tmp_path)
    assert finished.code == 1
    assert "task_trees is 'some'; it can be long, watched or all" in finished.errors


def test_the_tree_of_one_task_live(write: Write, tmp_path: Path) -> None:
    # GIVEN two greenlets with one entry function, of which a client follows the one that is named "followed"
    write(
        "program.py",
        """
        import gevent, os
        def one(): return sum(range(2000))
        def other(): return sum(range(2000))
        def serve(work):
            while not os.path.exists("stop"):
                work()
                gevent.sleep(0.005)
        greenlets = [gevent.spawn(serve, one), gevent.spawn(serve, other)]
        greenlets[0].name = "followed"
        open("ready", "w").close()
        gevent.joinall(greenlets)
        """,
    )
    with running(tmp_path, "program.py") as live, client_when_ready(live, tmp_path) as client:
        client.subscribe(live.token, rate=20)
        followed = 0
        for picture in client.updates(LIMIT):
            named = [number for number, task in picture.tasks.items() if picture.string(task.name) == "followed"]
            if named:
                (followed,) = named
                break
        assert client.answer_to(client.send("flamelet/subscribe", tree={"of": "task", "task": followed}, rate=20))[
            "success"
        ]
        calls: dict[str, int] = {}
        for picture in client.updates(LIMIT):
            calls = {picture.function(node.function).name: node.calls for node in picture.nodes.values()}
            if calls.get("one", 0) > 20:
                break
        (tmp_path / "stop").touch()
    # THEN it is told the tree of that one alone: its stack, entered before, and what it calls since
    assert calls["one"] > 20
    assert calls["serve"] == 0
    assert "other" not in calls
