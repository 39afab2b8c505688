"""Generators: a suspension is no call, and however one ends the stack is true. The same numbers on every version.

What the numbers must be follows from one definition (README.md, "What counts as a call"), so they stand here as
constants: whoever runs this on another version compares the versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import PYTHON, run

Write = Callable[..., Path]

# Each of the program's functions by name: how often it was called, and by whom.
TOOLS = """
import gc, json, sys, time
from time import monotonic, thread_time
import flamelet

def burn(seconds):
    begin = thread_time()
    while (spent := thread_time() - begin) < seconds: pass
    return spent

def leaf(): pass

def profiled(function, **options):
    with flamelet.profile(**options):
        function()
    s = flamelet.snapshot()
    ours = {i: f for i, f in enumerate(s.functions) if f.file.endswith(("program.py", "tools.py"))}
    print(json.dumps(dict(
        calls={f.name: f.calls for f in ours.values()},
        totals={f.name: f.total_cpu + f.total_blocked for f in ours.values()},
        edges={f"{ours[e.caller].name} > {ours[e.callee].name}": e.calls
               for e in s.edges if e.caller in ours and e.callee in ours},
        lost=dict(s.lost),
    )))
"""


def run_program(write: Write, tmp_path: Path, text: str) -> Any:
    write("tools.py", TOOLS)
    program = write("program.py", text)
    finished = run(PYTHON, program, cwd=tmp_path)
    assert finished.code == 0, finished.errors
    assert finished.errors == ""
    found = json.loads(finished.text.splitlines()[-1])
    assert found["lost"] == dict.fromkeys(found["lost"], 0)
    return found


@pytest.mark.parametrize("builtins", [False, True])
def test_a_suspension_is_no_call(tmp_path: Path, write: Write, builtins: bool) -> None:
    # GIVEN generators of every kind: expressions, functions, delegating, sent to, asynchronous, comprehended
    found = run_program(
        write,
        tmp_path,
        f"""
        from tools import *
        def numbers(n):
            for i in range(n): leaf(); yield i
        def both():
            yield from numbers(3)
            yield from numbers(4)
        def echo():
            got = None
            while True: got = yield got
        async def later(n):
            for i in range(n): leaf(); yield i
        async def collect(): return [i async for i in later(5)] + [i async for i in later(2) if i]
        def drive(coroutine):
            try: coroutine.send(None)
            except StopIteration as end: return end.value
        def work():
            assert sum(numbers(10)) == 45
            assert sum(x for x in range(100)) == 4950
            assert list(both()) == [0, 1, 2, 0, 1, 2, 3]
            e = echo(); next(e)
            assert [e.send(i) for i in range(5)] == [0, 1, 2, 3, 4]
            assert drive(collect()) == [0, 1, 2, 3, 4, 1]
            numbers(5)  # never entered
        profiled(work, builtins={builtins})
        """,
    )
    # THEN each counts where it was entered first, and its body ran in it each time
    assert {name: found["calls"][name] for name in ("numbers", "<genexpr>", "both", "echo", "later", "collect")} == {
        "numbers": 3,
        "<genexpr>": 1,
        "both": 1,
        "echo": 1,
        "later": 2,
        "collect": 1,
    }
    assert found["calls"]["leaf"] == 10 + 7 + 7
    expected = {"both > numbers": 2, "numbers > leaf": 17, "later > leaf": 7}
    if not builtins:  # else sum(), list() and send() stand in between
        expected |= {"work > numbers": 1, "work > both": 1, "drive > collect": 1}
    assert {name: found["edges"].get(name) for name in expected} == expected


def test_totals_go_from_the_first_entry_to_the_last_exit(tmp_path: Path, write: Write) -> None:
    # GIVEN a generator that is resumed by two functions and measures itself, and a long time in between
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        spent = 0.0
        def produce():
            global spent
            for _ in range(5):
                begin = monotonic(); burn(0.01); spent += monotonic() - begin
                yield
        def first(g): next(g); next(g)
        def second(g):
            for _ in g: burn(0.02)
        def work():
            g = produce()
            first(g); burn(0.05); second(g)
            print(spent)
        profiled(work)
        """,
    )
    # THEN its total is what it spent when it ran, and it shows below both
    finished_total = found["totals"]["produce"]
    assert found["calls"]["produce"] == 1
    assert found["edges"]["first > produce"] == 1
    assert found["edges"]["second > produce"] == 0
    assert finished_total >= 0.05
    # 0.05 in work(), and 0.06 in second() while it was suspended, are not its own.
    assert found["totals"]["work"] - finished_total >= 0.11
    assert found["edges"]["produce > burn"] == 5


def test_generators_that_end_in_every_way(tmp_path: Path, write: Write) -> None:
    # GIVEN generators closed, thrown into, collected, in a cycle, raising by themselves, before their first entry
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def cleans():
            try: yield 1; yield 2
            finally: leaf()
        def plain(): yield 1; yield 2
        def wraps(): yield from cleans()
        def raises(): yield 1; raise KeyError
        def closes():
            for make, steps in ((cleans, 1), (plain, 1), (wraps, 1), (plain, 0), (cleans, 2)):
                g = make()
                for _ in range(steps): next(g)
                g.close(); leaf()
        def collects():
            for make in (cleans, plain, wraps):
                g = make(); next(g); del g; leaf()
            g = cleans(); next(g); loop = [g]; loop.append(loop); del g, loop
            gc.collect(); leaf()
        def throws():
            for make, steps in ((cleans, 1), (plain, 1), (wraps, 1), (plain, 0), (raises, 1)):
                g = make()
                for _ in range(steps): next(g)
                try: g.throw(ValueError)
                except ValueError: leaf()
        def ends():
            try: list(raises())
            except KeyError: leaf()
        def work(): closes(); collects(); throws(); ends(); leaf()
        gc.disable()
        profiled(work)
        """,
    )
    # THEN each was called once if it was entered at all, and what ran afterwards ran where it ran
    calls = {name: found["calls"][name] for name in ("cleans", "plain", "wraps", "raises", "leaf")}
    assert calls == {"cleans": 8, "plain": 3, "wraps": 3, "raises": 2, "leaf": 5 + 4 + 5 + 1 + 1 + 8}
    expected = {
        "cleans > leaf": 8,
        "closes > leaf": 5,
        "collects > leaf": 4,
        "throws > leaf": 5,
        "ends > leaf": 1,
        "work > leaf": 1,
        "wraps > cleans": 3,
        "closes > cleans": 2,
        "collects > cleans": 2,
        "throws > cleans": 1,
    }
    assert {name: found["edges"].get(name) for name in expected} == expected


@pytest.mark.parametrize("builtins", [False, True])
def test_a_throw_through_a_chain(tmp_path: Path, write: Write, builtins: bool) -> None:
    # GIVEN chains of `yield from`, of one function with itself too, whose innermost one catches, returns, lets through
    found = run_program(
        write,
        tmp_path,
        f"""
        from tools import *
        def returns():
            try: yield 1
            except ValueError: inside()
        def goes_on():
            try: yield 1
            except ValueError: inside()
            yield 2
        def lets():
            try: yield 1
            finally: inside()
        def inside(): pass
        def chain(depth, make):
            if depth: yield from chain(depth - 1, make)
            else: yield from make()
            between()
        def between(): pass
        def throw(make):
            g = chain(2, make); next(g)
            try: g.throw(ValueError); after(); next(g)
            except (StopIteration, ValueError): after()
        def after(): pass
        def work():
            for make in (returns, goes_on, lets): throw(make)
            leaf()
        profiled(work, builtins={builtins})
        """,
    )
    # THEN all of them are on the stack meanwhile, and none afterwards
    assert found["calls"]["chain"] == 9
    if not builtins:  # else next() and throw() stand in between
        assert found["edges"]["throw > chain"] == 3
    assert found["edges"]["chain > chain"] == 6
    assert found["edges"]["chain > between"] == 6
    assert found["edges"]["throw > after"] == 4
    assert found["edges"]["work > leaf"] == 1
    for make in ("returns", "goes_on", "lets"):
        assert found["edges"][f"chain > {make}"] == 1
        assert f"throw > {make}" not in found["edges"]
        assert found["edges"][f"{make} > inside"] == 1
    assert "throw > between" not in found["edges"]


def test_a_start_in_the_middle_of_generators(tmp_path: Path, write: Write) -> None:
    # GIVEN generators that are suspended when profiling starts, one that runs then, and one that ends while it is off
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def numbers():
            while True:
                leaf(); yield 1
        def wraps(): yield from numbers()
        def starts():
            yield 1
            flamelet.start(); leaf()
            yield 2
            flamelet.stop(); flamelet.start(); leaf()
            yield 3
        before, running = wraps(), starts()
        next(before); next(running); next(running); next(before)
        next(running); next(before); next(before)
        flamelet.stop()
        before.close()
        profiled(leaf)
        """,
    )
    # THEN they show where they are resumed, and count no call
    assert {name: found["calls"][name] for name in ("numbers", "wraps", "starts")} == dict.fromkeys(
        ("numbers", "wraps", "starts"), 0
    )
    assert found["edges"]["wraps > numbers"] == 0
    assert found["edges"]["numbers > leaf"] == 3
    assert found["edges"]["starts > leaf"] == 2
