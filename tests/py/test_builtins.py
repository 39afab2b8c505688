"""C functions (`builtins=True`): which are counted, how often, and that no stack comes out of step by them.

What the interpreter tells of differs a little between versions (README.md, "What counts as a call"); the numbers are
exact on each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import PYTHON, run

Write = Callable[..., Path]

PROFILE = sys.version_info < (3, 12)  # by the profile function, which tells of fewer kinds of callables
BEFORE_314 = sys.version_info < (3, 14)

TOOLS = """
import json
import flamelet

def profiled(function):
    with flamelet.profile(builtins=True):
        function()
    s = flamelet.snapshot()
    name = [f.qualname.rpartition("<locals>.")[2] for f in s.functions]
    print(json.dumps(dict(
        calls={name[i]: f.calls for i, f in enumerate(s.functions)},
        edges={f"{name[e.caller]} > {name[e.callee]}": e.calls for e in s.edges},
        files={name[i]: f.file for i, f in enumerate(s.functions)},
        tasks=[task._asdict() for task in s.tasks],
        lost=dict(s.lost),
    )))
"""


def run_program(write: Write, tmp_path: Path, text: str) -> Any:
    write("tools.py", TOOLS)
    program = write("program.py", text)
    finished = run(PYTHON, program, cwd=tmp_path)
    assert finished.code == 0, finished.errors
    assert finished.errors == ""
    found = json.loads(finished.text)
    assert found["lost"] == dict.fromkeys(found["lost"], 0)
    return found


def subset(found: dict[str, int], expected: dict[str, int]) -> dict[str, int | None]:
    return {name: found.get(name) for name in expected}


def test_ways_to_call(tmp_path: Path, write: Write) -> None:
    # GIVEN C functions called in every way: plainly, by keyword, unpacked, bound, from a variable, by a method object
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        import types
        def leaf(): pass
        def plain():
            for _ in range(3): len([1])
            leaf()
        def keyword(): sorted([2, 1], reverse=True); leaf()
        def unpacked():
            args = ([1],)
            len(*args); sorted(*args, **{"reverse": True}); leaf()
        def bound():
            items = []
            items.append(1); append = items.append; append(2); list.append(items, 3); leaf()
        def method_object(): types.MethodType(len, [])(); leaf()
        def python(*args): return args
        def unpacked_python(): python(*[1], **{}); leaf()
        def work():
            plain(); keyword(); unpacked(); bound(); method_object(); unpacked_python()
        profiled(work)
        """,
    )
    # THEN each counts, below its caller
    expected = {
        "plain > len": 3,
        "keyword > sorted": 1,
        "unpacked > len": 1,
        "unpacked > sorted": 1,
        "bound > list.append": 3,
        "method_object > len": 1,
        "unpacked_python > python": 1,
    }
    assert subset(found["edges"], expected) == expected
    # AND none is still on the stack when something else is called
    for name in ("plain", "keyword", "unpacked", "bound", "method_object", "unpacked_python"):
        assert found["edges"][f"{name} > leaf"] == 1
        assert found["edges"][f"work > {name}"] == 1
    assert not [edge for edge in found["edges"] if edge.endswith(" > leaf") and edge.split()[0] in ("len", "sorted")]


def test_c_functions_that_raise(tmp_path: Path, write: Write) -> None:
    # GIVEN C functions that raise: by themselves, by what they call back, through several frames, in a class's __init__
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def leaf(): pass
        def key(item): raise ValueError
        def itself():
            try: len(1)
            except TypeError: leaf()
        def by_key():
            try: sorted([1], key=key)
            except ValueError: leaf()
        def deep():
            try: sorted([1], key=deeper)
            except ValueError: leaf()
        def deeper(item): sorted([1], key=key)
        class Raises:
            def __init__(self): raise ValueError
        def by_class():
            try: Raises()
            except ValueError: leaf()
        def stops():
            for _ in range(3):
                try: next(iter(()))
                except StopIteration: leaf()
        def work(): itself(); by_key(); deep(); by_class(); stops(); leaf()
        profiled(work)
        """,
    )
    # THEN what is called afterwards is called by who catches
    expected = {
        "itself > len": 1,
        "itself > leaf": 1,
        "by_key > sorted": 1,
        "deep > sorted": 1,
        "deeper > sorted": 1,
        "sorted > key": 2,
        "sorted > deeper": 1,
        "by_key > leaf": 1,
        "deep > leaf": 1,
        "by_class > leaf": 1,
        "stops > next": 3,
        "stops > leaf": 3,
        "work > leaf": 1,
    }
    assert subset(found["edges"], expected) == expected
    assert found["calls"]["leaf"] == 8


def test_classes_partials_and_instances(tmp_path: Path, write: Write) -> None:
    # GIVEN callables that are neither Python functions nor built-in ones
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        import functools, operator
        def leaf(): pass
        class Plain: pass
        class Inits:
            def __init__(self): leaf()
        class Calls:
            def __call__(self): leaf()
        class Meta(type):
            def __call__(cls): leaf()
        class Made(metaclass=Meta): pass
        cached = functools.lru_cache(maxsize=None)(leaf)
        partial, partial_c, getter, instance = (
            functools.partial(leaf), functools.partial(len, []), operator.itemgetter(0), Calls())
        def work():
            Plain(); Inits(); Inits(); instance(); Made(); cached(); cached(); partial(); partial_c(); getter([1])
            str(1); dict(a=1); property(leaf)
            leaf()
        profiled(work)
        """,
    )
    # THEN Python code that they run is called, whatever stands between
    assert found["calls"]["leaf"] == 2 + 1 + 1 + 1 + 1 + 1
    assert found["edges"]["work > leaf"] == (1 if not PROFILE else 3)
    if PROFILE:
        return  # the profile function tells of built-in functions and methods only
    # AND they count by their types; a class by its own name and module
    expected = {
        "work > Plain": 1,
        "work > Inits": 2,
        "Inits > Inits.__init__": 2,
        "work > Calls": 1,
        "Calls > Calls.__call__": 1,
        "work > Made": 1,
        "Made > Meta.__call__": 1,
        "work > str": 1,
        "work > dict": 1,
        "work > property": 1,
    }
    assert subset(found["edges"], expected) == expected
    assert found["files"]["Plain"] == "__main__"


def test_with_statements(tmp_path: Path, write: Write) -> None:
    # GIVEN `with` on a lock and on a Python class, left in order and by an exception
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        import threading
        def leaf(): pass
        class Manager:
            def __enter__(self): leaf()
            def __exit__(self, *_): leaf()
        lock, manager = threading.Lock(), Manager()
        def of_c():
            for _ in range(3):
                with lock: leaf()
            leaf()
        def of_python():
            with manager: leaf()
            leaf()
        def raising():
            try:
                with lock: raise ValueError
            except ValueError: leaf()
            try:
                with manager: raise ValueError
            except ValueError: leaf()
        def work(): of_c(); of_python(); raising(); leaf()
        profiled(work)
        """,
    )
    # THEN the stack is right inside and afterwards
    edges = {
        "of_c > leaf": 4,
        "of_python > leaf": 2,
        "raising > leaf": 2,
        "of_python > Manager.__enter__": 1,
        "Manager.__enter__ > leaf": 2,
        "Manager.__exit__ > leaf": 2,
        "work > leaf": 1,
    }
    assert subset(found["edges"], edges) == edges
    # AND the lock's own functions are those that the version tells of
    leaves = [name for name in found["edges"] if name.startswith("of_c > ") and name.endswith("lock.__exit__")]
    assert [found["edges"][name] for name in leaves] == [3]
    assert found["edges"].get("of_c > _thread.lock.__enter__") == (None if BEFORE_314 else 3)


def test_generator_expressions_that_are_inlined(tmp_path: Path, write: Write) -> None:
    # GIVEN generator expressions given to the functions that newer versions inline
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def leaf(): return True
        def work():
            all(leaf() for _ in range(3)); any(leaf() for _ in range(3)); tuple(leaf() for _ in range(3))
            list(leaf() for _ in range(3)); set(leaf() for _ in range(3)); leaf()
        profiled(work)
        """,
    )
    # THEN those that are still calls count; classes are none that the profile function tells of
    expected = {
        "all": 1 if BEFORE_314 else None,
        "any": 1 if BEFORE_314 else None,
        "tuple": 1 if BEFORE_314 and not PROFILE else None,
        "list": 1 if sys.version_info < (3, 15) and not PROFILE else None,
        "set": 1 if sys.version_info < (3, 15) and not PROFILE else None,
    }
    assert {name: found["edges"].get(f"work > {name}") for name in expected} == expected
    # AND what they run is the same in any case
    assert found["calls"]["leaf"] == 3 + 1 + 3 + 3 + 3 + 1
    assert found["calls"]["work"] == found["edges"]["work > leaf"] == 1


def test_c_functions_that_call_back(tmp_path: Path, write: Write) -> None:
    # GIVEN C functions that call Python, which calls C functions, and so on; recursion of one function; generators
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def leaf(): pass
        def key(item): return len([item])
        def nested(depth):
            leaf()
            if depth: list(map(nested, [depth - 1]))
            leaf()
        def numbers():
            for i in range(4): len([i]); yield i
        def generators():
            it = numbers()
            next(it); max(it); leaf()
        def work():
            sorted([3, 1, 2], key=key); min([1, 2], key=key)
            nested(3); generators(); leaf()
        profiled(work)
        """,
    )
    # THEN they show below each other
    expected = {
        "work > sorted": 1,
        "sorted > key": 3,
        "work > min": 1,
        "min > key": 2,
        "key > len": 5,
        "numbers > len": 4,
        "generators > leaf": 1,
        "nested > leaf": 8,
        "work > leaf": 1,
        "next > numbers": 1,
        "max > numbers": 0,
    }
    assert subset(found["edges"], expected) == expected
    assert found["calls"]["nested"] == 4
    assert "len > leaf" not in found["edges"]


def test_addresses_that_are_used_again(tmp_path: Path, write: Write) -> None:
    # GIVEN classes that are made and dropped by the thousand, some of the same name
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        import gc
        def work():
            for i in range(3000):
                type(f"Class{i % 7}", (), {"__module__": "made"})()
                if i % 100 == 0: gc.collect()
        profiled(work)
        """,
    )
    # THEN each call has the name that its class had
    if PROFILE:
        assert not [name for name in found["calls"] if name.startswith("Class")]
        return
    counts = {name: count for name, count in found["calls"].items() if name.startswith("Class")}
    assert counts == {f"Class{i}": 3000 // 7 + (i < 3000 % 7) for i in range(7)}
    assert {found["files"][name] for name in counts} == {"made"}


def test_waits_of_greenlets(tmp_path: Path, write: Write) -> None:
    # GIVEN greenlets that wait in gevent's compiled functions, one of which is killed there
    pytest.importorskip("gevent")
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        import gevent, gevent.event, gevent.queue
        def leaf(): pass
        def reader(queue):
            for _ in range(3): queue.get(); leaf()
        def waiter(event): event.wait(); leaf()
        def killed(event):
            try: event.wait()
            finally: leaf()
        def work():
            queue, event, never = gevent.queue.Queue(), gevent.event.Event(), gevent.event.Event()
            tasks = [gevent.spawn(reader, queue), gevent.spawn(waiter, event), gevent.spawn(killed, never)]
            gevent.sleep(0.05)
            for i in range(3): queue.put(i); gevent.sleep(0.01)
            event.set(); tasks[2].kill()
            gevent.joinall(tasks)
        profiled(work)
        """,
    )
    # THEN each waits there, goes on there, and what it calls then is called by itself
    expected = {"reader > leaf": 3, "waiter > leaf": 1, "killed > leaf": 1}
    assert subset(found["edges"], expected) == expected
    # AND the hub, whose poll is a C function too, is idle in it
    (hub,) = [task for task in found["tasks"] if task["hub"]]
    assert hub["idle"] >= 0.05
    assert hub["blocked"] < 0.05
    if not PROFILE:
        assert [edge for edge in found["edges"] if edge.startswith("waiter > ") and edge.endswith("wait")]
        assert [edge for edge in found["edges"] if edge.startswith("reader > ") and edge.endswith("get")]
