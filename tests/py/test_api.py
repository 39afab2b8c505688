"""flamelet in a program: start, stop, profile, snapshot. Each test runs a process, since a process has one session."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import PYTHON, Finished, run

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

Write = Callable[..., Path]


def answer(write: Write, tmp_path: Path, program: str, env: dict[str, str] | None = None) -> Any:
    """What a program prints as JSON. It says nothing else, and ends well."""
    finished = execute(write, tmp_path, program, env)
    assert (finished.err, finished.code) == (b"", 0), finished.errors
    return json.loads(finished.out)


def execute(write: Write, tmp_path: Path, program: str, env: dict[str, str] | None = None) -> Finished:
    tools = """
import flamelet, json, os, sys, time
def calls():
    return {row.name: row.calls for row in flamelet.snapshot().functions if row.file == __file__}
def say(value): json.dump(value, sys.stdout)
"""
    lines = program.splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    write("program.py", tools + "\n".join(line[indent:] for line in lines) + "\n")
    return run(PYTHON, "program.py", cwd=tmp_path, env=env)


def test_start_stop_start(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that profiles two stretches of its work
    result = answer(
        write,
        tmp_path,
        """
        def work(): inner()
        def inner(): pass
        work()
        flamelet.start(); work(); work(); flamelet.stop()
        work()
        first = calls()
        flamelet.start(); work(); flamelet.stop()
        say([first, calls(), flamelet.is_running(), flamelet.snapshot().about.state])
        """,
    )
    # THEN what was seen before stays, and what came in between was not seen
    first, second, running, state = result
    assert (first["work"], first["inner"]) == (2, 2)
    assert (second["work"], second["inner"]) == (3, 3)
    assert (running, state) == (False, "stopped")


def test_profile_as_a_block(write: Write, tmp_path: Path) -> None:
    # GIVEN blocks that are profiled, one inside the other, and one that raises
    result = answer(
        write,
        tmp_path,
        """
        def work(): pass
        with flamelet.profile() as session:
            work()
            with flamelet.profile():
                work()
            inside = flamelet.is_running()
            work()
        outside = flamelet.is_running()
        try:
            with flamelet.profile(): work(); 1 / 0
        except ZeroDivisionError: pass
        work()
        say([calls()["work"], inside, outside, flamelet.is_running(), session.url])
        """,
    )
    # THEN the inner one does not end the outer one, and an exception ends its own
    assert result == [4, True, False, False, None]


def test_snapshot_while_running(write: Write, tmp_path: Path) -> None:
    # GIVEN a function that is looked at while it runs
    result = answer(
        write,
        tmp_path,
        """
        def burn():
            end = time.thread_time() + 0.05
            while time.thread_time() < end: pass
        def work():
            burn()
            first = {row.name: row for row in flamelet.snapshot().functions}
            burn()
            second = {row.name: row for row in flamelet.snapshot().functions}
            return [[rows["work"].calls, rows["burn"].calls, rows["burn"].own_cpu, rows["work"].total_cpu]
                    for rows in (first, second)]
        flamelet.start()
        say([work(), flamelet.is_running(), flamelet.snapshot().tasks[0].state])
        """,
    )
    # THEN its time is there already, counts stay right, and profiling goes on
    (first, second), running, state = result
    assert (first[:2], second[:2]) == ([1, 1], [1, 2])
    assert first[2] == pytest.approx(0.05, rel=0.05, abs=0.002)
    assert second[2] == pytest.approx(0.1, rel=0.05, abs=0.002)
    assert second[3] > second[2]
    assert (running, state) == (True, "current")


def test_start_in_the_middle_of_functions(write: Write, tmp_path: Path) -> None:
    # GIVEN a start deep inside functions that return afterwards
    result = answer(
        write,
        tmp_path,
        """
        def outer(): middle(); after()
        def middle(): flamelet.start(); helper()
        def helper(): pass
        def after(): pass
        outer()
        flamelet.stop()
        snapshot = flamelet.snapshot()
        names = [row.name for row in snapshot.functions]
        say([calls(), snapshot.lost["unmatched"], [(names[e.caller], names[e.callee]) for e in snapshot.edges]])
        """,
    )
    # THEN each has its place, those that were running with no call
    counts, unmatched, edges = result
    assert counts == {"<module>": 0, "outer": 0, "middle": 0, "helper": 1, "after": 1}
    assert unmatched == 0
    assert ["middle", "helper"] in edges
    assert ["outer", "after"] in edges
    assert ["outer", "middle"] in edges


def test_own_frames_are_not_shown(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that uses all of the API
    result = answer(
        write,
        tmp_path,
        """
        flamelet.start(); flamelet.is_running(); flamelet.snapshot()
        with flamelet.profile(): pass
        flamelet.stop()
        package = os.path.dirname(flamelet.__file__)
        say([row.qualname for row in flamelet.snapshot().functions if row.file.startswith(package)])
        """,
    )
    # THEN nothing of flamelet is among the functions
    assert result == []


def test_many_starts_and_stops(write: Write, tmp_path: Path) -> None:
    # GIVEN a thousand of them
    result = answer(
        write,
        tmp_path,
        """
        def work(): pass
        for _ in range(1000):
            flamelet.start(); work(); flamelet.stop()
        say([calls()["work"], dict(flamelet.snapshot().lost)])
        """,
    )
    # THEN each was seen
    assert result[0] == 1000
    assert set(result[1].values()) == {0}


def test_builtins(write: Write, tmp_path: Path) -> None:
    # GIVEN a stretch with functions written in C, and one without
    result = answer(
        write,
        tmp_path,
        """
        with flamelet.profile(builtins=True): sorted([1]); len("x")
        with flamelet.profile(): sorted([1])
        say({row.qualname: row.calls for row in flamelet.snapshot().functions if row.line == 0})
        """,
    )
    # THEN only the first one shows them
    assert result["sorted"] == 1
    assert result["len"] == 1


def test_threshold(write: Write, tmp_path: Path) -> None:
    # GIVEN a hub that is held for about 50 ms
    program = """
        import gevent
        def hold(): time.sleep(0.05)
        with flamelet.profile(threshold={threshold}):
            gevent.sleep(0.001)
            gevent.spawn(hold).join()
        snapshot = flamelet.snapshot()
        say([snapshot.about.threshold, len([row for row in snapshot.slices if row.entry == "hold"])])
        """
    # THEN that is long or not, as one likes
    assert answer(write, tmp_path, program.format(threshold=0.02)) == [0.02, 1]
    assert answer(write, tmp_path, program.format(threshold=20)) == [20.0, 0]


def test_serve_and_port(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that serves its session
    result = answer(
        write,
        tmp_path,
        """
        import socket
        session = flamelet.start(serve=True)
        port = int(session.url.split(":")[2].split("/")[0])
        socket.create_connection(("127.0.0.1", port)).close()
        again = flamelet.start(serve=True, port=port)
        flamelet.stop()
        socket.create_connection(("127.0.0.1", port)).close()
        later = flamelet.start()
        say([session.url == again.url == later.url, repr(session) == f"Session(url={session.url!r})"])
        """,
    )
    # THEN there is one server, up to the end of the program
    assert result == [True, True]


ERRORS = {
    "snapshot before start": ("flamelet.snapshot()", "FlameletError", "call flamelet.start() first"),
    "port in use": (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); port = s.getsockname()[1];"
        "flamelet.start(serve=True, port=port)",
        "UsageError",
        "is in use: give another one, or none to take any that is free",
    ),
    "port out of range": (
        "flamelet.start(serve=True, port=70000)",
        "UsageError",
        "port is 70000; it is a number from 0",
    ),
    "no threshold": ("flamelet.start(threshold=0)", "UsageError", "threshold is 0; it is a number of seconds above 0"),
    "endless threshold": ("flamelet.start(threshold=float('inf'))", "UsageError", "threshold is inf"),
    "no number": ("flamelet.start(threshold=float('nan'))", "UsageError", "threshold is nan"),
    "wrong clock": ("os.environ['FLAMELET_CLOCK'] = 'x'; flamelet.start()", "UsageError", "FLAMELET_CLOCK is 'x'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str, write: Write, tmp_path: Path) -> None:
    # WHEN something is asked for that cannot be done
    code, kind, message = ERRORS[name]
    result = answer(
        write,
        tmp_path,
        f"""
        try: exec({code!r})
        except flamelet.FlameletError as error: say([type(error).__name__, str(error)])
        """,
    )
    # THEN it is an error of flamelet, with a message of one line
    assert result[0] == kind
    assert message in result[1]
    assert "\n" not in result[1]


def test_other_tools_that_left_no_room(write: Write, tmp_path: Path) -> None:
    # GIVEN tools that use all monitoring ids that there are for us
    result = answer(
        write,
        tmp_path,
        """
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None: say("not on this Python")
        else:
            for number in (3, 4, 5): monitoring.use_tool_id(number, "other")
            try: flamelet.start()
            except flamelet.FlameletError as error: say([str(error), flamelet.is_running()])
        """,
    )
    # THEN that is said, and nothing is on
    if result != "not on this Python":
        assert "stop one of them first" in result[0]
        assert result[1] is False


def test_child_of_a_fork_has_a_session_of_its_own(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that forks while it is profiled and served
    result = answer(
        write,
        tmp_path,
        """
        import warnings; warnings.simplefilter("ignore")
        def work(): pass
        parent = flamelet.start(serve=True)
        work()
        read, write_end = os.pipe()
        if os.fork() == 0:
            before = flamelet.is_running()
            with flamelet.profile(): work(); work()
            os.write(write_end, json.dumps([before, calls()["work"]]).encode())
            sys.exit()
        child = json.loads(os.read(read, 1000)); os.wait()
        work()
        say([child, calls()["work"], flamelet.is_running()])
        """,
    )
    # THEN the child starts anew, and the parent goes on
    assert result == [[False, 2], 2, True]


def test_import_is_fast_and_brings_little(write: Write, tmp_path: Path) -> None:
    # WHEN flamelet is imported, ten times
    result = answer(
        write,
        tmp_path,
        """
        import subprocess
        code = "import sys, time; a = time.process_time(); import flamelet; b = time.process_time()"
        code += "; print(b - a, *[m for m in sys.modules if m in ('typing', 're', 'json', 'threading', 'argparse')])"
        command = [sys.executable, "-c", code]
        runs = [subprocess.run(command, capture_output=True, text=True).stdout.split() for _ in range(10)]
        say([min(float(run[0]) for run in runs), sorted({name for run in runs for name in run[1:]})])
        """,
    )
    # THEN it takes a few milliseconds, and leaves what is heavy for later
    assert result[0] < 0.015
    assert result[1] == []


def test_end_of_a_program_that_is_still_profiled(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that never stops, with a daemon thread that calls functions up to the last moment
    finished = execute(
        write,
        tmp_path,
        """
        import threading
        def spin():
            while True: work()
        def work(): pass
        flamelet.start(serve=True)
        threading.Thread(target=spin, daemon=True).start()
        time.sleep(0.1)
        print("done")
        """,
    )
    # THEN it ends as ever
    assert finished == (b"done\n", b"", 0)
