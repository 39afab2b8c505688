"""Greenlets that end in unusual ways, and addresses that are used again."""

from __future__ import annotations

import pytest

from both import Both, near

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

trap = pytest.mark.trap


@trap(7)
def test_a_hundred_thousand_short_greenlets_at_the_same_few_addresses(both: Both) -> None:
    # GIVEN greenlets of two kinds, one after the other, each at an address that another one just had
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def first(): leaf()
        def second(): main.switch(); leaf(); leaf()
        def leaf(): pass
        addresses = set()
        start()
        for _ in range(50_000):
            task = greenlet(first); addresses.add(id(task)); task.switch()
            task = greenlet(second); addresses.add(id(task)); task.switch(); task.switch()
        stop()
        say(len(addresses) < 10_000)
        """
    )
    # THEN each of them is a task of its kind
    assert seen.paths() == {
        ("<module>",): 0,
        ("first",): 50_000,
        ("first", "leaf"): 50_000,
        ("second",): 50_000,
        ("second", "leaf"): 100_000,
    }
    # A task's first switch comes before its first call, so it is not the group's yet.
    for name, switches in (("first", 0), ("second", 50_000)):
        group = seen.group(name)
        assert (group.started, group.ended, group.switches) == (50_000, 50_000, switches)
    # AND no switch was missed: to them and back, and the thread's beginning
    assert seen.snapshot.totals.switches == 50_000 * 2 + 50_000 * 4 + 1
    # AND of those that ended only some are kept
    assert len(seen.snapshot.tasks) <= 1024 + 2
    assert seen.snapshot.totals.tasks == 100_001


@trap(8)
def test_a_thread_ends_with_parked_greenlets(both: Both) -> None:
    # GIVEN threads that end while greenlets of theirs are parked, dropped with the thread or held by another one
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        held = []
        def thread_main(hold):
            own = getcurrent()
            for _ in range(5):
                task = greenlet(worker); task.switch(own)
                if hold: held.append(task)
                else: mine.append(task)
        def worker(own):
            try: parked(own)
            finally: leaf()
        def parked(own): own.switch()
        def leaf(): pass
        mine = []
        start()
        for hold in (True, False, True):
            thread = threading.Thread(target=thread_main, args=(hold,), name=f"hold {hold}")
            thread.start(); thread.join()
            mine.clear()
        time.sleep(0.02)
        stop()
        """
    )
    # THEN with their threads they have ended, too
    paths = seen.paths()
    assert (paths["worker",], paths["worker", "parked"]) == (15, 15)
    threads = {row.id: row for row in seen.snapshot.threads}
    tasks = seen.tasks("worker")
    assert len(tasks) == 15
    for task in tasks:
        assert threads[task.thread].name.startswith("hold")
        assert threads[task.thread].state == "ended"
        assert task.state == "ended"
    assert seen.group("worker").ended == 15


@trap(9)
def test_the_last_reference_is_dropped_in_its_own_thread(both: Both) -> None:
    # GIVEN parked greenlets whose last reference goes away: GreenletExit is thrown into them, and `finally` runs
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        import weakref
        main = getcurrent()
        log = []
        def worker(n):
            try: parked()
            finally: cleanup(n)
        def parked():
            try: main.switch()
            except BaseException as error: log.append(type(error).__name__); leaf(); raise
        def cleanup(n): log.append(n); spent.append(burn(0.01))
        def leaf(): pass
        def gone(reference): after_death(); log.append("gone")
        def after_death(): pass
        def drop(tasks): tasks.clear(); leaf()
        spent = []
        start()
        for n in range(3):
            tasks = [greenlet(worker)]
            reference = weakref.ref(tasks[0], gone)
            tasks[0].switch(n)
            drop(tasks)
        stop()
        say(log)
        note("spent", sum(spent))
        """
    )
    # THEN what ran at the end ran in the greenlet, and its thread went on where the reference was dropped
    assert seen.said == [[["GreenletExit", 0, "gone", "GreenletExit", 1, "gone", "GreenletExit", 2, "gone"]]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "drop"): 3,
        ("<module>", "drop", "leaf"): 3,
        ("<module>", "drop", "gone"): 3,
        ("<module>", "drop", "gone", "after_death"): 3,
        ("worker",): 3,
        ("worker", "parked"): 3,
        ("worker", "parked", "leaf"): 3,
        ("worker", "cleanup"): 3,
    }
    assert near(seen.total("cleanup", "cpu"), seen.notes["spent"])
    assert seen.states()["worker"] == ["ended"] * 3


@trap(10)
def test_the_last_reference_is_dropped_by_another_thread(both: Both) -> None:
    # GIVEN a greenlet whose last reference is dropped by another thread: it is ended by its own thread, later
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        tasks, log = [], []
        def worker():
            try: main.switch()
            finally: cleanup()
        def cleanup(): log.append(threading.current_thread().name)
        def dropper(): drop(); leaf()
        def drop(): tasks.clear()
        def leaf(): pass
        def next_call(): greenlet(leaf).switch()
        start()
        tasks.append(greenlet(worker)); tasks[0].switch()
        thread = threading.Thread(target=dropper, name="dropper"); thread.start(); thread.join()
        say(log)
        next_call()
        say(log)
        leaf()
        stop()
        """
    )
    # THEN `finally` ran in the greenlet, on its own thread
    assert seen.said == [[[]], [["MainThread"]]]
    paths = seen.paths()
    assert paths["worker", "cleanup"] == 1
    assert paths["dropper", "drop"] == paths["dropper", "leaf"] == paths["<module>", "leaf"] == 1
    assert paths["<module>", "next_call"] == 1
    task = seen.task("worker")
    names = {row.id: row.name for row in seen.snapshot.threads}
    assert (task.state, names[task.thread]) == ("ended", "MainThread")


@trap(11)
def test_a_greenlet_that_refuses_to_die(both: Both) -> None:
    # GIVEN greenlets that keep themselves alive when their last reference is dropped, and go on later
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet, GreenletExit
        main = getcurrent()
        kept, log = [], []
        def worker():
            try: park()
            except GreenletExit: refuse()
            log.append(later())
        def park(): main.switch()
        def refuse(): kept.append(getcurrent()); main.switch()
        def later(): leaf(); return "later"
        def leaf(): pass
        start()
        for _ in range(3):
            task = greenlet(worker); task.switch()
            del task
            leaf()
            say(len(kept), log)
            kept.pop().switch()
            leaf()
        stop()
        say(log)
        """
    )
    # THEN each is one task from its beginning to its end
    paths = seen.paths()
    assert paths == {
        ("<module>",): 0,
        ("<module>", "leaf"): 6,
        ("worker",): 3,
        ("worker", "park"): 3,
        ("worker", "refuse"): 3,
        ("worker", "later"): 3,
        ("worker", "later", "leaf"): 3,
    }
    assert seen.group("worker").started == seen.group("worker").ended == 3


@trap(12)
def test_an_exception_is_thrown_into_a_greenlet_that_has_not_begun(both: Both) -> None:
    # GIVEN greenlets that get an exception before they have run
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet, GreenletExit
        def never(): leaf()
        def leaf(): pass
        def thrower(error):
            try: return repr(greenlet(never).throw(error))
            except ValueError as caught: leaf(); return f"caught {caught!r}"
        start()
        say(thrower(ValueError("x")), thrower(GreenletExit), thrower(ValueError("y")))
        leaf()
        stop()
        """
    )
    # THEN they have run nothing, and the thread goes on where it was
    assert seen.said == [["caught ValueError('x')", "GreenletExit()", "caught ValueError('y')"]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "thrower"): 3,
        ("<module>", "thrower", "leaf"): 2,
        ("<module>", "leaf"): 1,
    }
    # AND they are tasks without a function, that have ended
    assert seen.states() == {"<module>": ["current"], "": ["ended"] * 3}


@trap(13)
def test_switches_to_itself_and_to_the_dead(both: Both) -> None:
    # GIVEN switches that lead back to where they began
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        def worker(): itself(); leaf()
        def itself(): return getcurrent().switch("me")
        def leaf(): pass
        def to_the_dead(): return task.switch("again")
        def throw_into_the_dead():
            try: task.throw(ValueError)
            except ValueError: leaf()
        start()
        say(itself())
        task = greenlet(worker); task.switch()
        say(task.dead, to_the_dead())
        throw_into_the_dead()
        leaf()
        stop()
        """
    )
    # THEN nothing has moved
    assert seen.said == [["me"], [True, "again"]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "itself"): 1,
        ("<module>", "to_the_dead"): 1,
        ("<module>", "throw_into_the_dead"): 1,
        ("<module>", "throw_into_the_dead", "leaf"): 1,
        ("<module>", "leaf"): 1,
        ("worker",): 1,
        ("worker", "itself"): 1,
        ("worker", "leaf"): 1,
    }
    assert [(task.entry, task.state, task.switches) for task in seen.snapshot.tasks] == [
        ("<module>", "current", 2),
        ("worker", "ended", 1),
    ]


@trap(14)
def test_exceptions_escape_to_the_parent_and_past_a_dead_one(both: Both) -> None:
    # GIVEN a greenlet whose exception goes to its parent, and one whose parent is dead already
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def child(): child_inner()
        def child_inner(): leaf(); raise ValueError("from the child")
        def parent():
            try: call_child()
            except ValueError as error: return caught(error)
        def call_child(): greenlet(child).switch(); leaf()
        def caught(error): leaf(); return str(error)
        def dies_early(): orphans.append(greenlet(child))
        def leaf(): pass
        def with_dead_parent():
            try: orphans[0].switch()
            except ValueError as error: return caught(error)
        orphans = []
        start()
        say(greenlet(parent).switch())
        greenlet(dies_early).switch()
        say(with_dead_parent())
        leaf()
        stop()
        """
    )
    # THEN it is caught where the stack says so
    assert seen.said == [["from the child"], ["from the child"]]
    assert seen.paths() == {
        ("<module>",): 0,
        ("<module>", "with_dead_parent"): 1,
        ("<module>", "with_dead_parent", "caught"): 1,
        ("<module>", "with_dead_parent", "caught", "leaf"): 1,
        ("<module>", "leaf"): 1,
        ("parent",): 1,
        ("parent", "call_child"): 1,
        ("parent", "caught"): 1,
        ("parent", "caught", "leaf"): 1,
        ("child",): 2,
        ("child", "child_inner"): 2,
        ("child", "child_inner", "leaf"): 2,
        ("dies_early",): 1,
    }
    assert seen.states() == {
        "<module>": ["current"],
        "parent": ["ended"],
        "child": ["ended"] * 2,
        "dies_early": ["ended"],
    }


@trap(28)
def test_code_that_is_made_by_exec_and_freed(both: Both) -> None:
    # GIVEN code objects that are made, called and freed, so that each address is used for another function
    seen = both(
        """
        from tools import *
        def run_one(i):
            scope = {}
            exec(compile(f"def made_{i % 100}():\\n    return {i}", "<made>", "exec"), scope)
            made = scope[f"made_{i % 100}"]
            addresses.append(id(made.__code__))
            return made()
        addresses = []
        start()
        for i in range(10_000): assert run_one(i) == i
        stop()
        say(len(set(addresses)) < 5_000)
        """
    )
    # THEN each name has its calls
    calls = seen.calls
    assert {name: calls[name] for name in calls if name.startswith("made")} == {f"made_{i}": 100 for i in range(100)}
    assert seen.paths()["<module>", "run_one", "made_7"] == 100


@trap(28)
def test_code_that_is_freed_while_greenlets_wait_in_it(both: Both) -> None:
    # GIVEN greenlets that wait in code made by exec, of which only the greenlet knows, at the same addresses over again
    seen = both(
        """
        from tools import *
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def make(i):
            scope = {"main": main}
            text = f"def made_{i}():\\n    park_{i}()\\ndef park_{i}():\\n    main.switch({i})"
            exec(compile(text, "<made>", "exec"), scope)
            return greenlet(scope[f"made_{i}"])
        start()
        for i in range(200):
            task = make(i); assert task.switch() == i; task.switch()
        stop()
        """
    )
    # THEN each is a task of its own group
    paths = seen.paths()
    assert all(paths[f"made_{i}",] == paths[f"made_{i}", f"park_{i}"] == 1 for i in range(200))
    assert {entry: states for entry, states in seen.states().items() if entry.startswith("made")} == {
        f"made_{i}": ["ended"] for i in range(200)
    }
