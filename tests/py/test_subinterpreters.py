"""Subinterpreters: flamelet refuses to work in one, and leaves a program with some of them alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from test_api import answer

Write = Callable[..., Path]

# The module changes its name and its functions with the versions. inside(code) runs it in a new one.
INSIDE = """
        try: import _interpreters as interpreters
        except ImportError: import _xxsubinterpreters as interpreters
        def inside(code):
            one = interpreters.create()
            try:
                failure = getattr(interpreters, "exec", interpreters.run_string)(one, code)
                return str(failure.formatted) if failure else ""
            except interpreters.RunFailedError if hasattr(interpreters, "RunFailedError") else () as error:
                return str(error)
            finally:
                interpreters.destroy(one)
"""


def test_flamelet_does_not_load_in_one(write: Write, tmp_path: Path) -> None:
    # GIVEN a subinterpreter, in a program that is profiled, and in one that is not
    for start in ("", "flamelet.start()"):
        said = answer(
            write,
            tmp_path,
            f"""{INSIDE}
        {start or "pass"}
        say(inside("import flamelet"))
        """,
        )
        # WHEN it imports flamelet THEN it is told where to
        assert "flamelet works in the main interpreter only: import it there, not in a subinterpreter" in said


def test_a_program_with_some_of_them(write: Write, tmp_path: Path) -> None:
    # GIVEN calls, generators and threads in subinterpreters, on the main thread and on another one, between counted
    # calls, with starts and stops in between
    write(
        "inside.py",
        """
        import gc
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        def numbers():
            try: yield from range(50)
            finally: fib(5)
        class Loop: pass
        for _ in range(20):
            loop = Loop()
            loop.itself = loop
        assert fib(12) == 144 and sum(numbers()) == 1225
        gc.collect()
        """,
    )
    result = answer(
        write,
        tmp_path,
        INSIDE
        + """
        import threading
        CODE = open("inside.py").read()
        failures = []
        def counted(): return 1
        def round():
            counted()
            failures.append(inside(CODE))
            counted()
        for _ in range(3):
            flamelet.start()
            round()
            other = threading.Thread(target=round)
            other.start()
            other.join()
            flamelet.stop()
            failures.append(inside(CODE))
        snapshot = flamelet.snapshot()
        say([failures, {f.qualname: f.calls for f in snapshot.functions}, dict(snapshot.lost)])
        """,
    )
    failures, calls, lost = result
    # THEN they work as ever, ours are counted exactly, and theirs are nobody's but the caller's
    assert failures == [""] * 9
    assert (calls["round"], calls["counted"]) == (6, 12)
    assert "fib" not in calls
    assert not any(lost.values())


@pytest.mark.skipif(sys.version_info < (3, 14), reason="since 3.14 functions can be given to a subinterpreter")
@pytest.mark.parametrize(
    "start", ["", "flamelet.start()", "flamelet.start(builtins=True)", "flamelet.start(stdlib=False)"]
)
def test_functions_are_given_to_one(write: Write, tmp_path: Path, start: str) -> None:
    # GIVEN functions that have run, and one that is running, in a program that is profiled, and in one that is not
    result = answer(
        write,
        tmp_path,
        f"""
        {start or "pass"}
        from concurrent import interpreters
        def runs(): x = 1
        def adds(a, b): return a + b
        def applies(function, more): return function(1, 2) + more[0](2, 3)
        def outer():
            one.exec(runs)
            return one.call(adds, 40, b=2)
        def is_given(one):
            if one is not None:
                import concurrent.interpreters
                return one
            return 7
        one = interpreters.create()
        is_given(None)
        for _ in range(3):
            runs()
            adds(1, 2)
            applies(adds, (adds,))
        # WHEN they are given to a subinterpreter: to be called, to run there, as arguments, in a queue
        got = [outer(), outer(), one.call(is_given, None), one.call(applies, adds, (adds,))]
        queue = interpreters.create_queue()
        queue.put(adds)
        got.append(queue.get()(1, 2))
        one.exec(runs.__code__)
        one.call_in_thread(runs).join()
        one.close()
        say([got, calls() if {bool(start)} else None])
        """,
    )
    # THEN they do there what they do without flamelet, and their calls here are counted exactly
    got, calls = result
    assert got == [42, 42, 7, 8, 3]
    if start:
        assert (calls["runs"], calls["adds"], calls["applies"], calls["outer"]) == (3, 3 + 6 + 1, 3, 2)
