"""Profiling starts, or stops, while greenlets are parked, in this thread or another."""

from __future__ import annotations

import pytest

from both import Both, near

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

trap = pytest.mark.trap


@trap(1)
def test_greenlets_parked_before_the_start_return_after_it(both: Both) -> None:
    # GIVEN greenlets that are parked two functions deep when profiling starts, and a later one
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def outer(): return middle()
        def middle():
            leaf(); got = main.switch("parked"); leaf(); spent.append(burn(0.02)); return got
        def leaf(): pass
        spent = []
        tasks = []
        for _ in range(3): tasks.append(greenlet(outer))
        parked = [task.switch() for task in tasks]
        start()
        back = []
        for i in range(3): back.append(tasks[i].switch(i))
        later = greenlet(outer); later.switch(); back.append(later.switch(9))
        stop()
        say(parked, back)
        note("burnt", sum(spent))
        """
    )
    # THEN what was there shows at its place without a call, and what was called afterwards is counted
    assert seen.said == [[["parked"] * 3, [0, 1, 2, 9]]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("outer",): 1,
        ("outer", "middle"): 1,
        ("outer", "middle", "leaf"): 3 + 2,
    }
    assert near(seen.total("middle", "cpu"), seen.notes["burnt"])
    assert near(seen.total("outer", "cpu"), seen.notes["burnt"])
    # AND all have ended, each with the switches that were seen
    assert [(task.state, task.switches) for task in seen.tasks("outer")] == [("ended", 1)] * 3 + [("ended", 2)]


@trap(1)
def test_after_a_stop_parked_frames_cost_nothing_any_more(both: Both) -> None:
    # GIVEN a greenlet that was entered while profiled, parked, and goes on after the stop
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def worker():
            main.switch()
            for _ in range(100): leaf()
            main.switch()
            leaf()
        def leaf(): pass
        start(); task = greenlet(worker); task.switch(); stop()
        task.switch()
        monitoring = getattr(sys, "monitoring", None)
        # No tool of ours, no events in its code, no profile function.
        say([monitoring.get_tool(i) for i in range(6)] if monitoring else [None] * 6, sys.getprofile())
        start(); task.switch(); stop()
        """
    )
    # THEN nothing of ours is left while it is off, and the second stretch is exact too
    assert seen.said == [[[None] * 6, None]]
    assert seen.paths() == {("<module>",): 0, ("worker",): 1, ("worker", "leaf"): 1}


@trap(2)
def test_a_start_inside_a_greenlet(both: Both) -> None:
    # GIVEN a start in a greenlet of a greenlet, main and another one being parked deep in functions
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def program(): inside_main(); leaf()
        def inside_main(): child.switch(); leaf()
        def child_entry(): grand = greenlet(grandchild); in_child(grand); leaf(); return "child"
        def in_child(grand): grand.switch(); leaf()
        def grandchild(): deep(); leaf()
        def deep(): start(); leaf(); notes["spent"] = burn(0.02)
        def leaf(): pass
        child = greenlet(child_entry)
        program()
        note("spent", notes["spent"])
        stop()
        """
    )
    # THEN each of the three stacks goes on from where it was
    assert seen.paths() == {
        ("grandchild",): 0,
        ("grandchild", "deep"): 0,
        ("grandchild", "deep", "leaf"): 1,
        ("grandchild", "leaf"): 1,
        ("child_entry",): 0,
        ("child_entry", "in_child"): 0,
        ("child_entry", "in_child", "leaf"): 1,
        ("child_entry", "leaf"): 1,
        ("<module>",): 0,
        ("<module>", "program"): 0,
        ("<module>", "program", "inside_main"): 0,
        ("<module>", "program", "inside_main", "leaf"): 1,
        ("<module>", "program", "leaf"): 1,
    }
    assert near(seen.total("deep", "cpu"), seen.notes["spent"])
    assert seen.states() == {"grandchild": ["ended"], "child_entry": ["ended"], "<module>": ["current"]}


@trap(3)
def test_a_start_while_another_thread_has_parked_greenlets(both: Both) -> None:
    # GIVEN a second thread with a greenlet parked in functions, and a start on the first thread
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        ready, go = threading.Event(), threading.Event()
        def second():
            own = getcurrent()
            task = greenlet(outer); task.switch(own)
            wait_here(task)
        def wait_here(task):
            ready.set(); go.wait()
            say(task.switch("x")); leaf()
        def outer(own): return inner(own)
        def inner(own):
            got = own.switch(); leaf(); notes["spent"] = burn(0.02); return got
        def leaf(): pass
        thread = threading.Thread(target=second, name="second"); thread.start(); ready.wait()
        start()
        go.set(); thread.join()
        stop()
        note("spent", notes["spent"])
        """
    )
    # THEN its stacks are right: that of the greenlet and that of the thread itself
    paths = seen.paths()
    assert paths["outer",] == paths["outer", "inner"] == 0
    assert paths["outer", "inner", "leaf"] == 1
    assert paths["second",] == paths["second", "wait_here"] == 0
    assert paths["second", "wait_here", "leaf"] == 1
    assert paths["<module>",] == 0
    assert near(seen.total("outer", "cpu"), seen.notes["spent"])
    assert {row.name for row in seen.snapshot.threads} == {"MainThread", "second"}


@trap(3)
def test_a_start_while_many_threads_have_parked_greenlets(both: Both) -> None:
    # GIVEN forty threads with a parked greenlet each, and a start on the first thread
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        ready, go = threading.Barrier(41), threading.Event()
        def other():
            own = getcurrent()
            task = greenlet(outer); task.switch(own)
            ready.wait(); go.wait()
            task.switch()
        def outer(own): own.switch(); leaf()
        def leaf(): pass
        threads = [threading.Thread(target=other) for _ in range(40)]
        for thread in threads: thread.start()
        ready.wait()
        start()
        go.set()
        for thread in threads: thread.join()
        stop()
        """
    )
    # THEN each greenlet is known, is parked where it was, and goes on there
    assert seen.paths()["outer", "leaf"] == 40
    assert [(task.state, task.switches) for task in seen.tasks("outer")] == [("ended", 1)] * 40


@trap(4)
def test_a_parked_endless_loop_that_is_never_entered_again(both: Both) -> None:
    # GIVEN workers whose one call began before the start, and goes on for ever
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def worker():
            while True:
                main.switch()
                step()
        def step(): spent.append(burn(0.002))
        spent = []
        tasks = [greenlet(worker) for _ in range(2)]
        for task in tasks: task.switch()
        start()
        for _ in range(10):
            for task in tasks: task.switch()
        stop()
        note("spent", sum(spent))
        """
    )
    # THEN the loop is at its place, with its steps and their time below it
    assert seen.paths() == {("<module>",): 0, ("worker",): 0, ("worker", "step"): 20}
    assert near(seen.total("worker", "cpu"), seen.notes["spent"])
    assert seen.states()["worker"] == ["parked", "parked"]


@trap(4)
def test_a_greenlet_that_never_runs_again_is_listed_where_it_is_parked(both: Both) -> None:
    # GIVEN a greenlet that was parked before the start and is not resumed while profiled
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def worker(): wait_for_ever()
        def wait_for_ever(): main.switch()
        task = greenlet(worker); task.switch()
        start()
        begin = monotonic(); time.sleep(0.05); note("waited", monotonic() - begin)
        stop()
        """
    )
    # THEN it is a parked task at its place, and its wait is that of the session
    assert seen.paths() == {("<module>",): 0, ("worker",): 0, ("worker", "wait_for_ever"): 0}
    task = seen.task("worker")
    assert (task.state, task.switches) == ("parked", 0)
    assert task.wait == "main.switch"
    assert near(task.waited, seen.notes["waited"])


@trap(5)
def test_a_stop_while_parked_and_a_start_while_parked_elsewhere(both: Both) -> None:
    # GIVEN a greenlet that is parked in `first` at the stop, goes on unseen, and is in `second` at the next start
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def worker():
            first()
            second()
            leaf()
        def first(): leaf(); main.switch(); leaf()
        def second(): leaf(); main.switch(); leaf()
        def third(): main.switch(); leaf()
        def leaf(): pass
        task, other = greenlet(worker), greenlet(third)
        start(); task.switch(); other.switch(); stop()
        task.switch()
        start(); task.switch(); other.switch(); stop()
        say(task.dead, other.dead)
        """
    )
    # THEN both stretches have their place, and nothing is left over from the first one
    assert seen.said == [[True, True]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("worker",): 1,
        ("worker", "first"): 1,
        ("worker", "first", "leaf"): 1,
        ("worker", "second"): 0,
        ("worker", "second", "leaf"): 1,
        ("worker", "leaf"): 1,
        ("third",): 1,
        ("third", "leaf"): 1,
    }


@trap(5)
def test_a_greenlet_that_dies_while_profiling_is_off(both: Both) -> None:
    # GIVEN greenlets that end between a stop and the next start, whose addresses are then used again by others
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def early(): main.switch(); leaf()
        def late(): main.switch(); leaf()
        def leaf(): pass
        start()
        tasks = [greenlet(early) for _ in range(50)]
        for task in tasks: task.switch()
        stop()
        for task in tasks: task.switch()
        del task, tasks; gc.collect()
        start()
        tasks = [greenlet(late) for _ in range(50)]
        for _ in range(2):
            for task in tasks: task.switch()
        stop()
        """
    )
    # THEN the others are tasks of their own
    assert seen.group("late").started == 50
    assert seen.group("late").ended == 50
    paths = seen.paths()
    assert (paths["late",], paths["late", "leaf"]) == (50, 50)
    assert (paths["early",], ("early", "leaf") in paths) == (50, False)
    # AND the early ones are not held to be alive
    assert seen.states()["early"] == ["ended"] * 50


@trap(6)
@pytest.mark.parametrize("builtins", [False, True])
def test_a_thousand_starts_and_stops(both: Both, builtins: bool) -> None:
    # GIVEN a thousand stretches, with greenlets parked over each border
    seen = both(
        f"""
        from tools import *
        from greenlet import getcurrent, greenlet
        import resource
        main = getcurrent()
        def endless():
            while True: main.switch(); step()
        def short(): main.switch(); step()
        def step(): pass
        task = greenlet(endless); task.switch()
        rss = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
        for i in range(1000):
            if i == 100: before = rss()
            start(builtins={builtins}); task.switch(); one = greenlet(short); one.switch(); stop()
            one.switch()
        note("grown", rss() - before)
        say(i)
        """
    )
    # THEN each of them was seen, and nothing has piled up
    calls = seen.calls
    assert (calls["endless"], calls["short"], calls["step"]) == (0, 1000, 1000)
    assert seen.group("short").started == 1000
    assert seen.notes["grown"] < 4 << 20


@trap(36)
def test_greenlet_is_imported_after_the_start(both: Both) -> None:
    # GIVEN a start in a program that knows nothing of greenlets yet, on two threads
    seen = both(
        """
        from tools import *
        assert "greenlet" not in sys.modules
        def second():
            ready.set(); go.wait()
            use_them()
        def use_them():
            from greenlet import getcurrent, greenlet
            own = getcurrent()
            tasks = [greenlet(worker) for _ in range(2)]
            for task in tasks: task.switch(own)
            leaf()
            for task in tasks: task.switch()
        def worker(own): leaf(); own.switch(); leaf()
        def leaf(): pass
        ready, go = threading.Event(), threading.Event()
        start()
        thread = threading.Thread(target=second); thread.start(); ready.wait()
        use_them()
        go.set(); thread.join()
        stop()
        """
    )
    # THEN from then on switches are seen, on both
    paths = seen.paths()
    assert (paths["worker",], paths["worker", "leaf"]) == (4, 8)
    assert paths["<module>", "use_them", "leaf"] == paths["second", "use_them", "leaf"] == 1
    assert paths["second", "use_them"] == 1
    assert seen.snapshot.about.greenlets
    assert seen.states()["worker"] == ["ended"] * 4


@trap(43)
@pytest.mark.parametrize("where", ["main", "greenlet"])
@pytest.mark.parametrize("error", ["GreenletExit", "ValueError"])
def test_an_exception_leaves_frames_that_were_parked_before_the_start(both: Both, where: str, error: str) -> None:
    # GIVEN an exception through two frames that were parked when profiling started, in a greenlet or in main
    start_in_greenlet = "start(); " if where == "main" else ""
    start_in_main = "" if where == "main" else "start(); "
    seen = both(
        f"""
        from tools import *
        from greenlet import getcurrent, greenlet, GreenletExit
        main = getcurrent()
        def in_main():
            try: below()
            except {error}: leaf(); return "caught in main"
        def below(): task.switch(); leaf(); {start_in_main}{"raise " + error if where == "main" else "finish()"}
        def finish():
            try: task.throw({error}); task.switch()
            except {error}: pass
        def outer():
            try: inner()
            finally: leaf()
        def inner(): {start_in_greenlet}main.switch(); leaf()
        def leaf(): pass
        task = greenlet(outer)
        say(in_main())
        leaf()
        stop()
        """
    )
    # THEN nothing crashes, and the stacks are as they are
    paths = seen.paths()
    assert paths["<module>", "leaf"] == 1
    if where == "main":
        assert seen.said == [["caught in main"]]
        assert paths["<module>", "in_main", "leaf"] == 1
        assert paths["<module>", "in_main", "below", "leaf"] == 1
    else:
        assert paths["outer", "leaf"] == 1
        assert paths["outer",] == paths["outer", "inner"] == 0
        assert ("outer", "inner", "leaf") not in paths
        assert seen.states()["outer"] == ["ended"]


@trap(44)
def test_parked_greenlets_that_gc_freeze_has_hidden(both: Both) -> None:
    # GIVEN greenlets that were parked before gc.freeze(), as pre-fork servers call it, and then a start
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def outer(): inner(); leaf()
        def inner(): main.switch(); leaf()
        def leaf(): pass
        resumed, left = greenlet(outer), greenlet(outer)
        resumed.switch(); left.switch()
        gc.collect(); gc.freeze()
        start()
        resumed.switch()
        stop()
        say(resumed.dead, left.dead)
        """
    )
    # THEN what is resumed is at its place
    assert seen.paths() == {
        ("<module>",): 0,
        ("outer",): 0,
        ("outer", "inner"): 0,
        ("outer", "inner", "leaf"): 1,
        ("outer", "leaf"): 1,
    }
    # AND so is the one that is not
    assert seen.states()["outer"] == ["ended", "parked"]
