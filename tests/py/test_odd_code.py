"""Code that is unlike other code: made by exec, by the thousand, with strange names, very deep."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from flamelet.recording import read_recording
from flamelet.snapshots import Snapshot, make_snapshot
from running import PYTHON, recorded, run

Write = Callable[..., Path]


def profiled(write: Write, folder: Path, program: str) -> tuple[Any, Snapshot]:
    """What a program prints as JSON, and its recording at its end. It says nothing else, and ends well."""
    write("program.py", program)
    finished = run(PYTHON, "program.py", cwd=folder, env=recorded(folder))
    assert (finished.errors, finished.code) == ("", 0)
    (file,) = folder.glob("*.flamelet")
    return json.loads(finished.text or "null"), make_snapshot(read_recording(str(file)))


def test_lambdas_on_one_line_are_told_apart(write: Write, tmp_path: Path) -> None:
    # GIVEN lambdas, generator expressions and functions that share name and line, and are called so often
    _, snapshot = profiled(
        write,
        tmp_path,
        """
        import flamelet
        def burn(): pass
        once, thrice = (lambda: burn()), (lambda: [burn(), burn()])
        def f(): burn()
        sums = lambda n: (sum(1 for _ in range(n)), sum(2 for _ in range(n)))
        flamelet.start()
        once()
        for _ in range(3): thrice()
        sums(5)
        flamelet.stop()
        """,
    )
    # THEN each has its own row
    calls: dict[str, list[int]] = defaultdict(list)
    for row in snapshot.functions:
        if row.file.endswith("program.py"):
            calls[row.name].append(row.calls)
    assert sorted(calls["<lambda>"]) == [1, 1, 3]
    assert sorted(calls["<genexpr>"]) == [1, 1]
    # AND the edges say which one called
    names = [row.name for row in snapshot.functions]
    edges = [
        (edge.calls) for edge in snapshot.edges if (names[edge.caller], names[edge.callee]) == ("<lambda>", "burn")
    ]
    assert sorted(edges) == [1, 6]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="C code cannot fire events before 3.13")
def test_events_in_the_name_of_what_is_no_code(write: Write, tmp_path: Path) -> None:
    # GIVEN an extension that fires monitoring events of its own, as C code can since 3.13, for an object of its own
    pytest.importorskip("_testcapi", reason="this Python has no _testcapi, which fires such events")
    _, snapshot = profiled(
        write,
        tmp_path,
        """
        import _testcapi, sys
        import flamelet
        def f(): pass
        def fire(*fired):
            for name, function, *args in fired:
                code, event = _testcapi.CodeLike(1), getattr(sys.monitoring.events, name)
                _testcapi.monitoring_enter_scope(code, event.bit_length() - 1)
                function(code, 0, *args)
                _testcapi.monitoring_exit_scope()
        flamelet.start(builtins=True)
        fire(
            ("PY_START", _testcapi.fire_event_py_start), ("PY_RESUME", _testcapi.fire_event_py_resume),
            ("CALL", _testcapi.fire_event_call, len, 1), ("PY_YIELD", _testcapi.fire_event_py_yield, 1),
            ("PY_RETURN", _testcapi.fire_event_py_return, 1),
        )
        for name in ("py_throw", "py_unwind"):
            try:
                fire((name.upper(), getattr(_testcapi, f"fire_event_{name}"), ValueError()))
            except ValueError:
                pass
        f()
        flamelet.stop()
        """,
    )
    # THEN the program goes on, and its own calls are where they belong
    names = [row.name for row in snapshot.functions]
    calls = {(names[edge.caller], names[edge.callee]): edge.calls for edge in snapshot.edges}
    assert calls["<module>", "f"] == 1
    assert calls["<module>", "fire"] == 3
    # AND the events were no calls
    assert ("fire", "len") not in calls


def test_code_of_each_request_is_kept_once(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that makes the same code anew by exec, for each of its requests, and imports a module twice
    answer, snapshot = profiled(
        write,
        tmp_path,
        """
        import flamelet, json
        source = "def view(): return helper(), (lambda: 1)(), (lambda: 2)()\\ndef helper(): return 1"
        flamelet.start()
        for _ in range(1000):
            scope = {}
            exec(compile(source, "<request>", "exec"), scope)
            scope["view"]()
        flamelet.stop()
        print(json.dumps(len([row for row in flamelet.snapshot().functions if row.file == "<request>"])))
        """,
    )
    # THEN each function is there once: the module, view, helper and the two lambdas
    assert answer == 5
    calls = sorted((row.name, row.calls) for row in snapshot.functions if row.file == "<request>")
    assert calls == [("<lambda>", 1000), ("<lambda>", 1000), ("<module>", 1000), ("helper", 1000), ("view", 1000)]


def test_two_versions_of_a_function_at_one_place(write: Write, tmp_path: Path) -> None:
    # GIVEN a function that is defined again and again at the same line with other code, as in a notebook
    _, snapshot = profiled(
        write,
        tmp_path,
        """
        import flamelet
        def make(body):
            scope = {}
            exec(compile("def cell(): " + body, "<cell>", "exec"), scope)
            return scope["cell"]
        flamelet.start()
        first, second = make("return 1"), make("return 2 + len(str(3))")
        for _ in range(2): first()
        for _ in range(3): second()
        flamelet.stop()
        """,
    )
    # THEN that is one function: it has one name and one place, in the source
    (row,) = [row for row in snapshot.functions if row.name == "cell"]
    assert row.calls == 5


NAMES = {
    "a lone surrogate": "'a\\ud800b'",
    "not ASCII": "'größe_\\U0001d518'",
    "with a NUL": "'a\\0b'",
    "very long": "'x' * 100_000",
    "very long, in four bytes each": "'\\U0001d518' * 5000",
    "quotes and line ends": "'a\"b\\n\\\\c'",
    "empty": "''",
}


@pytest.mark.parametrize("what", NAMES)
def test_names_that_are_unlike_names(what: str, write: Write, tmp_path: Path) -> None:
    # GIVEN code whose name, qualified name and file are strange
    _, snapshot = profiled(
        write,
        tmp_path,
        f"""
        import flamelet
        def function(): return inner()
        def inner(): pass
        strange = {NAMES[what]}
        function.__code__ = function.__code__.replace(co_name=strange, co_qualname="q." + strange, co_filename=strange)
        with flamelet.profile(): [function() for _ in range(3)]
        """,
    )
    # THEN it is a function like any other; what has no UTF-8 is escaped, what is too long is cut
    name: str = eval(NAMES[what])
    escaped = name.encode("utf-8", "backslashreplace").decode()
    (row,) = [row for row in snapshot.functions if row.qualname.startswith("q.")]
    assert row.calls == 3
    assert len(row.name.encode()) <= 4096
    assert row.name == escaped if len(escaped) < 1000 else escaped.startswith(row.name)
    assert row.file == row.name
    (inner,) = [row for row in snapshot.functions if row.name == "inner"]
    assert inner.calls == 3


def test_a_function_at_many_depths(write: Write, tmp_path: Path) -> None:
    # GIVEN a recursion 20,000 deep, and one of two functions that ends by an exception
    answer, snapshot = profiled(
        write,
        tmp_path,
        """
        import flamelet, gc, json, sys, time
        gc.disable()  # a collection would be below one of them
        sys.setrecursionlimit(100_000)
        def down(n): return 1 + down(n - 1) if n else bottom()
        def bottom():
            end = time.thread_time() + 0.02
            while time.thread_time() < end: pass
            return 0
        def ping(n): pong(n - 1)
        def pong(n):
            if n <= 0: raise ValueError
            ping(n - 1)
        flamelet.start()
        depth = down(20_000)
        try: ping(5001)
        except ValueError: pass
        flamelet.stop()
        print(json.dumps(depth))
        """,
    )
    # THEN every call is counted, and its time counts once
    assert answer == 20_000
    rows = {row.name: row for row in snapshot.functions}
    assert rows["down"].calls == 20_001
    assert rows["ping"].calls + rows["pong"].calls == 5002
    assert rows["bottom"].own_cpu == pytest.approx(0.02, rel=0.1, abs=0.002)
    assert rows["down"].total_cpu == pytest.approx(rows["down"].own_cpu + rows["bottom"].own_cpu, rel=0.01)
    assert snapshot.lost["unmatched"] == snapshot.lost["events"] == 0


@pytest.mark.no_invariants
def test_a_hundred_thousand_functions(write: Write, tmp_path: Path) -> None:
    # GIVEN 10^5 functions that are different, all of them alive, each called twice
    answer, snapshot = profiled(
        write,
        tmp_path,
        """
        import flamelet, json
        functions = []
        for part in range(100):
            scope = {}
            exec(compile("\\n".join(f"def f_{part}_{i}(): pass" for i in range(1000)), f"<part {part}>", "exec"), scope)
            functions += [scope[f"f_{part}_{i}"] for i in range(1000)]
        rss = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
        before = rss()
        flamelet.start()
        for _ in range(2):
            for function in functions: function()
        flamelet.stop()
        print(json.dumps(rss() - before))
        """,
    )
    # THEN each has its row and its calls
    rows = [row for row in snapshot.functions if row.file.startswith("<part")]
    assert len(rows) == 100_000
    assert {row.calls for row in rows} == {2}
    assert set(snapshot.lost.values()) == {0}
    # AND it takes a bounded amount of memory for each: name, function, node
    assert answer < 100_000 * 600


@pytest.mark.parametrize("names", ["one name", "30,000 names"])
def test_fresh_code_300_000_times(names: str, write: Write, tmp_path: Path) -> None:
    # GIVEN code made 300,000 times, with the same name over again, or with ten of each name
    name = "same" if names == "one name" else "f_{i // 10}"
    answer, snapshot = profiled(
        write,
        tmp_path,
        f"""
        import flamelet, json
        rss = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
        blank = compile("def same(): pass", "<fresh>", "exec")
        scope = {{}}
        exec(blank, scope)
        code = scope["same"].__code__
        sizes = []
        def one(i):
            # A code object of its own, as exec would make it, in a tenth of the time.
            scope["same"].__code__ = code.replace(co_name=f"{name}", co_qualname=f"{name}")
            scope["same"]()
        flamelet.start()
        for i in range(300_000):
            if i % 100_000 == 0: sizes.append(rss())
            one(i)
        sizes.append(rss())
        flamelet.stop()
        print(json.dumps(sizes))
        """,
    )
    # THEN every call is counted somewhere, at a bounded cost
    calls = {row.name: row.calls for row in snapshot.functions if row.file == "<fresh>"}
    assert sum(calls.values()) + snapshot.lost["events"] == 300_000
    grown = [after - before for before, after in pairwise(answer)]
    if names == "one name":
        assert calls == {"same": 300_000}
        assert grown[1] + grown[2] < 2 << 20
    else:
        # Names are kept once, some 300 bytes each with function and node, up to the tables' bounds.
        assert max(grown) < 10_000 * 600 + (2 << 20)


@pytest.mark.no_invariants
@pytest.mark.skipif(
    sys.version_info < (3, 13), reason="names are bounded in the core, whatever the version: once is enough"
)
def test_more_names_than_there_is_room_for(write: Write, tmp_path: Path) -> None:
    # GIVEN code made 1,500,000 times, each time with a name of its own: more than there is room for
    write(
        "program.py",
        """
        import flamelet, flamelet.session, json, re
        rss = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
        scope = {}
        exec(compile("def same(): pass", "<fresh>", "exec"), scope)
        code = scope["same"].__code__
        def one(i):
            scope["same"].__code__ = code.replace(co_name=f"f_{i}", co_qualname=f"f_{i}")
            scope["same"]()
        sizes = []
        flamelet.start()
        for i in range(1_500_000):
            if i % 300_000 == 0: sizes.append(rss())
            one(i)
        flamelet.stop()
        sizes.append(rss())
        lost = re.findall(rb'"lost":(\\{[^}]*\\})', flamelet.session.recording_lines("program.py"))[-1]
        print(json.dumps([sizes, json.loads(lost)]))
        """,
    )
    # WHEN it runs
    finished = run(PYTHON, "program.py", cwd=tmp_path)
    assert (finished.errors, finished.code) == ("", 0)
    sizes, lost = json.loads(finished.out)
    grown = [after - before for before, after in pairwise(sizes)]
    # THEN each name costs some 200 bytes with its function and node, until the tables are full: from then on nothing
    assert grown[0] < 300_000 * 600
    assert grown[-1] < 2 << 20
    assert sum(grown) < 300 << 20
    # AND what found no room is counted
    assert lost["strings"] > 300_000
    assert lost["events"] > 300_000


def test_threads_of_one_call(write: Write, tmp_path: Path) -> None:
    # GIVEN threads that are over at once, and one that makes them and calls nothing until they are
    answer, snapshot = profiled(
        write,
        tmp_path,
        """
        import _thread, flamelet, json, sys
        ended = []
        def once(): ended.append(1)
        sys.setswitchinterval(1e-5)
        flamelet.start()
        for n in range(100):
            _thread.start_new_thread(once, ())
            while not ended[n:]: pass
        flamelet.stop()
        print(json.dumps("done"))
        """,
    )
    # THEN none of their calls is missing
    assert answer == "done"
    assert {row.name: row.calls for row in snapshot.functions}["once"] == 100
