"""Switches at places where one would not expect them."""

from __future__ import annotations

import pytest

from both import Both, near

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

trap = pytest.mark.trap


@trap(15)
def test_nested_parents_that_are_reassigned(both: Both) -> None:
    # GIVEN greenlets in greenlets, whose parents are changed before they end
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def level(n):
            leaf()
            if n: log.append(greenlet(level).switch(n - 1)); leaf()
            return n
        def middle():
            inner = greenlet(ends_elsewhere)
            inner.parent = main
            inner.switch()
            log.append("middle again"); leaf()
        def ends_elsewhere(): leaf(); return "to main"
        def leaf(): pass
        log = []
        start()
        log.append(greenlet(level).switch(3))
        task = greenlet(middle)
        log.append(task.switch()); leaf()
        task.switch()
        stop()
        say(log)
        """
    )
    # THEN each death leads to the parent of that moment
    assert seen.said == [[[0, 1, 2, 3, "to main", "middle again"]]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "leaf"): 1,
        ("level",): 4,
        ("level", "leaf"): 7,
        ("middle",): 1,
        ("middle", "leaf"): 1,
        ("ends_elsewhere",): 1,
        ("ends_elsewhere", "leaf"): 1,
    }
    assert seen.group("level").started == seen.group("level").ended == 4


@trap(16)
def test_a_greenlet_that_runs_a_function_written_in_c(both: Both) -> None:
    # GIVEN greenlets without any Python frame: one sleeps, one goes back and forth
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def leaf(): pass
        def sleeps():
            begin = monotonic(); greenlet(time.sleep).switch(0.05); notes["slept"] = monotonic() - begin; leaf()
        def back_and_forth():
            task = greenlet(main.switch)
            got = [task.switch("there"), task.switch("back")]
            leaf()
            return got
        def with_key(): return greenlet(sorted).switch([3, 1, 2])
        start()
        sleeps()
        say(back_and_forth(), with_key())
        leaf()
        stop()
        note("slept", notes["slept"])
        """
    )
    # THEN the stack of their creator stays right
    assert seen.said == [[["there", "back"], [1, 2, 3]]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "leaf"): 1,
        ("<module>", "sleeps"): 1,
        ("<module>", "sleeps", "leaf"): 1,
        ("<module>", "back_and_forth"): 1,
        ("<module>", "back_and_forth", "leaf"): 1,
        ("<module>", "with_key"): 1,
    }
    # AND the time is the greenlet's, whose creator waited for it
    tasks = [task for task in seen.snapshot.tasks if task.entry != "<module>"]
    assert [task.state for task in tasks] == ["ended"] * 3
    assert near(max(task.blocked for task in tasks), seen.notes["slept"])
    assert near(seen.total("sleeps", "waited"), seen.notes["slept"])
    assert seen.total("sleeps", "blocked") < 0.01


@trap(17)
def test_a_switch_inside_a_generator(both: Both) -> None:
    # GIVEN a generator that parks its greenlet between two values, and a second greenlet that does the same
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def values():
            for i in range(3): main.switch(); leaf(); yield i
        def consumer(): got = use(values()); leaf(); return got
        def use(generator):
            total = 0
            for value in generator: total += value; leaf()
            return total
        def leaf(): pass
        start()
        tasks = [greenlet(consumer) for _ in range(2)]
        for _ in range(4): got = [task.switch() for task in tasks]
        say(got)
        leaf()
        stop()
        """
    )
    # THEN each has its own stack, and the generator is one call
    assert seen.said == [[[3, 3]]]
    paths = seen.paths()
    paths.pop(("<module>", "<listcomp>"), None)  # a function of its own up to 3.11
    assert paths == {
        ("<module>",): 0,
        ("<module>", "leaf"): 1,
        ("consumer",): 2,
        ("consumer", "leaf"): 2,
        ("consumer", "use"): 2,
        ("consumer", "use", "leaf"): 6,
        ("consumer", "use", "values"): 2,
        ("consumer", "use", "values", "leaf"): 6,
    }


@trap(17)
def test_a_generator_that_is_driven_by_two_greenlets(both: Both) -> None:
    # GIVEN one generator that two greenlets take values from in turn
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def values():
            for i in range(6): leaf(); yield i
        def first(): take()
        def second(): take()
        def take():
            for _ in range(3): got.append(next(shared)); main.switch()
        def leaf(): pass
        got, shared = [], values()
        start()
        tasks = greenlet(first), greenlet(second)
        for _ in range(4):
            for task in tasks: task.switch()
        stop()
        say(got)
        """
    )
    # THEN each has the part that ran in it
    paths = seen.paths()
    assert (paths["first", "take", "values"], paths["second", "take", "values"]) == (1, 0)
    assert paths["first", "take", "values", "leaf"] == paths["second", "take", "values", "leaf"] == 3


@trap(17)
@pytest.mark.parametrize("builtins", [False, True])
def test_a_switch_inside_a_sort_key(both: Both, builtins: bool) -> None:
    # GIVEN a sort whose key function parks its greenlet, with another greenlet in the middle of its own sort
    seen = both(
        f"""
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def sorts(): got = sorted([3, 1, 2], key=key); leaf(); return got
        def key(value): leaf(); main.switch(); leaf(); return value
        def leaf(): pass
        start(builtins={builtins})
        tasks = greenlet(sorts), greenlet(sorts)
        for _ in range(4):
            got = []
            for task in tasks: got.append(task.switch())
        say(got)
        leaf()
        stop()
        """
    )
    # THEN both come to their end with their stacks right
    assert seen.said == [[[[1, 2, 3]] * 2]]
    calls = seen.calls
    assert calls == {"<module>": 0, "sorts": 2, "key": 6, "leaf": 12 + 2 + 1}
    assert seen.paths()["sorts", "leaf"] == 2
    if builtins:
        assert seen.c_calls()["sorted"] == 2


@trap(17)
def test_a_switch_inside_a_finaliser(both: Both) -> None:
    # GIVEN objects whose __del__ parks the greenlet that dropped them
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        class Thing:
            def __del__(self): leaf(); main.switch("in __del__"); leaf()
        def worker(): use(); leaf(); return "done"
        def use(): thing = Thing(); leaf(); del thing; leaf()
        def leaf(): pass
        start()
        tasks = greenlet(worker), greenlet(worker)
        for _ in range(2):
            for task in tasks: say(task.switch())
        stop()
        """
    )
    # THEN the stack of the one that waits in it is right
    assert seen.said == [["in __del__"]] * 2 + [["done"]] * 2
    assert seen.paths() == {
        ("<module>",): 0,
        ("worker",): 2,
        ("worker", "leaf"): 2,
        ("worker", "use"): 2,
        ("worker", "use", "leaf"): 4,
        ("worker", "use", "__del__"): 2,
        ("worker", "use", "__del__", "leaf"): 4,
    }


@trap(17)
@pytest.mark.parametrize("builtins", [False, True])
def test_a_switch_inside_a_context_manager(both: Both, builtins: bool) -> None:
    # GIVEN context managers that park their greenlet as they are entered and left, one of them by an exception
    seen = both(
        f"""
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        class Guard:
            def __enter__(self): main.switch(); leaf()
            def __exit__(self, *error): main.switch(); leaf(); return True
        def worker(fails):
            with Guard():
                leaf()
                if fails: fail()
            leaf()
        def fail(): raise ValueError
        def leaf(): pass
        start(builtins={builtins})
        tasks = greenlet(worker), greenlet(worker)
        for i in range(2): tasks[i].switch(i == 0)
        for _ in range(2):
            for task in tasks: task.switch()
        say(tasks[0].dead, tasks[1].dead)
        stop()
        """
    )
    # THEN all returned where they should
    assert seen.said == [[True, True]]
    paths = seen.paths()
    assert {path: count for path, count in paths.items() if path[0] == "worker"} == {
        ("worker",): 2,
        ("worker", "leaf"): 4,
        ("worker", "fail"): 1,
        ("worker", "__enter__"): 2,
        ("worker", "__enter__", "leaf"): 2,
        ("worker", "__exit__"): 2,
        ("worker", "__exit__", "leaf"): 2,
    }


@trap(19)
def test_an_exception_unwinds_frames_on_both_sides_of_a_switch(both: Both) -> None:
    # GIVEN an exception through three frames of a greenlet and on through two of its parent
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def a(): b()
        def b(): c()
        def c(): main.switch(); leaf(); raise KeyError("deep")
        def top():
            try: x()
            except KeyError: leaf(); return "caught"
        def x(): y()
        def y(): task.switch()
        def leaf(): pass
        start()
        for _ in range(3):
            task = greenlet(a); task.switch()
            say(top())
            leaf()
        stop()
        """
    )
    # THEN both stacks are left as far as they are left
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "leaf"): 3,
        ("<module>", "top"): 3,
        ("<module>", "top", "leaf"): 3,
        ("<module>", "top", "x"): 3,
        ("<module>", "top", "x", "y"): 3,
        ("a",): 3,
        ("a", "b"): 3,
        ("a", "b", "c"): 3,
        ("a", "b", "c", "leaf"): 3,
    }


@trap(19)
def test_an_exception_thrown_into_a_deep_greenlet(both: Both) -> None:
    # GIVEN exceptions thrown into greenlets that are parked deep in functions; some frames catch, some clean up
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def outer():
            try: down(5)
            except KeyError: after()
            return main.switch("goes on")
        def down(n):
            try: down(n - 1) if n else main.switch()
            finally: cleanup()
        def cleanup(): pass
        def after(): pass
        start()
        tasks = [greenlet(outer) for _ in range(3)]
        for task in tasks: task.switch()
        for task in tasks: say(task.throw(KeyError("thrown")))
        for task in tasks: say(task.switch("end"))
        stop()
        """
    )
    # THEN every frame was unwound once
    assert seen.said == [["goes on"]] * 3 + [["end"]] * 3
    calls = {name: count for name, count in seen.calls.items() if name != "<listcomp>"}
    assert calls == {"<module>": 0, "outer": 3, "down": 18, "cleanup": 18, "after": 3}
    assert seen.paths()["outer", "after"] == 3


@trap(39)
def test_stacks_a_thousand_frames_deep(both: Both) -> None:
    # GIVEN greenlets that are parked 1,000 frames deep, some of them before the start
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        sys.setrecursionlimit(5000)
        main = getcurrent()
        def entry(): down(998); leaf()
        def down(n):
            if n: down(n - 1)
            else: bottom()
        def bottom(): main.switch("at the bottom"); leaf()
        def leaf(): pass
        tasks = [greenlet(entry) for _ in range(20)]
        for task in tasks[:10]: task.switch()
        start()
        for task in tasks[10:]: say(task.switch())
        for task in tasks: task.switch()
        stop()
        """
    )
    # THEN all of it is there, each frame at its depth
    paths = seen.paths()
    deepest = ("entry", *["down"] * 999, "bottom")
    assert paths[deepest] == 10
    assert paths[*deepest, "leaf"] == 20
    assert paths["entry", "leaf"] == 20
    assert seen.calls["down"] == 9990
    assert seen.states()["entry"] == ["ended"] * 20
