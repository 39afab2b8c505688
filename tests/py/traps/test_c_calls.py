"""Functions written in C, on request: each is entered once and left once."""

from __future__ import annotations

import sys

import pytest

from both import Both

trap = pytest.mark.trap


@trap(26)
def test_everything_that_can_be_called(both: Both) -> None:
    # GIVEN calls of everything that is callable, in many forms, by a function that calls a Python function after each
    seen = both(
        """
        from tools import *
        import functools, operator, itertools
        class Plain: pass
        class Init:
            def __init__(self, x=0): inside()
        class Callable:
            def __call__(self): inside()
        class Meta(type):
            def __call__(cls): inside(); return 1
        class WithMeta(metaclass=Meta): pass
        class Slots(list):
            def append(self, value): list.append(self, value); inside()
        class Property:
            @property
            def value(self): inside(); return 1
            def __add__(self, other): inside(); return 1
            def __len__(self): inside(); return 1
            def __iter__(self): inside(); return iter([1, 2])
        def inside(): pass
        def after(): pass
        def key(value): return value
        def program():
            append = [].append
            append(1); after()
            len([]); after()
            Plain(); after()
            Init(); after()
            int("3"); after()
            functools.partial(inside)(); after()
            functools.partial(len, "ab")(); after()
            Callable()(); after()
            WithMeta(); after()
            Slots().append(1); after()
            args = ([3, 1],)
            sorted(*args); after()
            sorted(*args, **{"key": key}); after()
            list(map(key, [1, 2])); after()
            operator.itemgetter(0)([1]); after()
            Property().value; after()
            Property() + 1; after()
            len(Property()); after()
            sum(Property()); after()
            str.upper("x"); after()
            "x".join(y for y in "ab"); after()
            dict(a=1); after()
            max([1, 2], key=key); after()
            functools.reduce(operator.add, [1, 2, 3]); after()
            getattr(Property(), "value"); after()
            isinstance(1, int); after()
            super(Slots, Slots()).append(1); after()
            print(end=""); after()
        start(builtins=True)
        program(); after()
        stop()
        """
    )
    # THEN each Python function is where it is called: below nothing but its caller
    paths = seen.paths()
    assert paths["<module>", "after"] == 1
    assert paths["<module>", "program", "after"] == 27
    assert paths["<module>", "program"] == 1
    inside = {path: count for path, count in paths.items() if path[-1] == "inside"}
    assert inside == {
        ("<module>", "program", "inside"): 1,  # of the partial
        ("<module>", "program", "__init__", "inside"): 1,
        ("<module>", "program", "__call__", "inside"): 2,
        ("<module>", "program", "append", "inside"): 1,
        ("<module>", "program", "value", "inside"): 2,
        ("<module>", "program", "__add__", "inside"): 1,
        ("<module>", "program", "__len__", "inside"): 1,
        ("<module>", "program", "__iter__", "inside"): 1,
    }
    assert seen.calls["key"] == 2 + 2 + 2
    # AND functions written in C are counted, those that are called from C left out
    calls = seen.c_calls()
    assert calls["len"] == 2
    assert calls["str.upper"] == 1
    assert calls["sum"] == calls["isinstance"] == calls["getattr"] == calls["print"] == 1
    assert calls["sorted"] in (1, 2)  # 3.12.1 tells nothing of f(*args)
    assert calls["list.append"] >= 2
    # AND no C function is left open: nothing hangs below one that it does not call
    for row in seen.picture.nodes.values():
        function = seen.picture.function(row.function)
        parent = seen.picture.nodes.get(row.parent)
        if parent is not None and seen.picture.function(parent.function).kind == 1:
            assert function.name != "after"


@trap(26)
@pytest.mark.parametrize("fails", [False, True])
def test_context_managers_written_in_c(both: Both, fails: bool) -> None:
    # GIVEN `with` over objects written in C and in Python, left with and without an exception
    seen = both(
        f"""
        from tools import *
        lock = threading.Lock()
        class Guard:
            def __enter__(self): leaf()
            def __exit__(self, *error): leaf(); return False
        def use(manager):
            with manager: leaf(); maybe_fail()
            leaf()
        def maybe_fail():
            if {fails}: raise ValueError
        def program(manager):
            try: use(manager)
            except ValueError: pass
            after()
        def leaf(): pass
        def after(): pass
        start(builtins=True)
        for manager in (lock, Guard(), open(__file__), lock): program(manager)
        after()
        stop()
        """
    )
    # THEN the stack is right inside and after each
    paths = seen.paths()
    assert paths["<module>", "after"] == 1
    assert paths["<module>", "program", "after"] == 4
    assert paths["<module>", "program", "use", "leaf"] == (4 if fails else 8)
    assert paths["<module>", "program", "use", "maybe_fail"] == 4
    assert paths["<module>", "program", "use", "__enter__", "leaf"] == 1
    assert paths["<module>", "program", "use", "__exit__", "leaf"] == 1


@trap(27)
def test_functions_written_in_c_that_raise(both: Both) -> None:
    # GIVEN C functions that raise, caught at once, one frame up, and through C that calls Python
    seen = both(
        """
        from tools import *
        def at_once():
            try: int("x")
            except ValueError: after()
            after()
        def one_up():
            try: raises()
            except KeyError: after()
        def raises(): {}.pop("x")
        def through_c():
            try: sorted([2, 1], key=bad_key)
            except ValueError: after()
            try: list(map(bad_key, [1]))
            except ValueError: after()
        def bad_key(value): int("x")
        def exhausted():
            iterator = iter([])
            try: next(iterator)
            except StopIteration: after()
            for _ in iter([1]): after()
        def after(): pass
        start(builtins=True)
        for _ in range(2): at_once(); one_up(); through_c(); exhausted()
        after()
        stop()
        """
    )
    # THEN each was left once
    paths = seen.paths()
    assert {path[1:]: count for path, count in paths.items() if path[-1] == "after"} == {
        ("after",): 1,
        ("at_once", "after"): 4,
        ("one_up", "after"): 2,
        ("through_c", "after"): 4,
        ("exhausted", "after"): 4,
    }
    assert paths["<module>", "through_c", "bad_key"] == 4
    calls = seen.c_calls()
    assert (calls["dict.pop"], calls["next"], calls["sorted"]) == (2, 2, 2)
    if sys.version_info >= (3, 12):  # before it a call of a class told nothing
        assert calls["int"] == 2 + 4


@trap(27)
@pytest.mark.parametrize("builtins", [False, True])
def test_recursion_of_one_code_object(both: Both, builtins: bool) -> None:
    # GIVEN a function that calls itself in every way: straight, through C, through another one, and out by exceptions
    seen = both(
        f"""
        from tools import *
        def straight(n): return straight(n - 1) if n else leaf()
        def through_c(n): return list(map(through_c, [n - 1])) if n else leaf()
        def ping(n): return pong(n - 1) if n else leaf()
        def pong(n): return ping(n - 1) if n else leaf()
        def fails(n):
            if not n: raise ValueError
            try: fails(n - 1)
            finally: leaf()
        def generate(n):
            if n: yield from generate(n - 1)
            yield n
        def leaf(): pass
        start(builtins={builtins})
        straight(50); through_c(10); ping(9)
        try: fails(20)
        except ValueError: pass
        say(list(generate(10)))
        leaf()
        stop()
        """
    )
    # THEN every depth is a place of its own, and all came back
    paths = seen.paths()
    assert paths["<module>", *["straight"] * 51, "leaf"] == 1
    assert paths["<module>", *["through_c"] * 11, "leaf"] == 1
    assert paths["<module>", *["ping", "pong"] * 5, "leaf"] == 1
    assert all(paths["<module>", *["fails"] * n, "leaf"] == 1 for n in range(1, 21))
    assert paths["<module>", *["generate"] * 11] == 1
    assert seen.calls["generate"] == 11
    assert paths["<module>", "leaf"] == 1
