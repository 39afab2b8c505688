"""asyncio tasks are tasks: each has its times, name, coroutine and what it waits for. On every version alike."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import PYTHON, run

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

Write = Callable[..., Path]

# What the programs share. `rows` is what is known at that moment: the tasks by name, or by their coroutine; `edges` the
# calls between functions of the program, as {"caller > callee": calls}.
TOOLS = """
import asyncio, gc, json, sys, threading, time
from time import monotonic, thread_time
import flamelet

def burn(seconds):
    begin = thread_time()
    while (spent := thread_time() - begin) < seconds: pass
    return spent

def rows():
    tasks = flamelet.snapshot().tasks
    return {task.name or task.entry.rpartition(".")[2]: task._asdict() for task in tasks}

def result(**more):
    s = flamelet.snapshot()
    ours = {i: f.name for i, f in enumerate(s.functions) if f.file == __file__ or f.name in ("<module>", "burn")}
    calls = {name: s.functions[i].calls for i, name in ours.items()}
    edges = {f"{ours[e.caller]} > {ours[e.callee]}": e.calls for e in s.edges if e.caller in ours and e.callee in ours}
    groups = {g.entry.rpartition(".")[2]: [g.started, g.ended] for g in s.groups}
    threads = [t._asdict() for t in s.threads]
    print(json.dumps(dict(calls=calls, edges=edges, groups=groups, threads=threads, tasks=rows(),
                          lost=dict(s.lost), **more)))
"""


def run_program(write: Write, tmp_path: Path, text: str) -> Any:
    write("tools.py", TOOLS.replace("__file__", repr(str(tmp_path / "program.py"))))
    program = write("program.py", text)
    finished = run(PYTHON, program, cwd=tmp_path)
    assert finished.code == 0, finished.errors
    assert finished.errors == ""
    found = json.loads(finished.text)
    # Whatever happened, no stack came out of step, and the times are those of a life.
    assert found["lost"] == dict.fromkeys(found["lost"], 0)
    for task in found["tasks"].values():
        parts = [task[part] for part in ("cpu", "blocked", "idle", "waited")]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(task["lifetime"], abs=1e-6)
    return found


def test_tasks_have_names_coroutines_and_times(tmp_path: Path, write: Write) -> None:
    # GIVEN two workers that measure what they burn and how long they are suspended, and a task that is renamed
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        truth = {}
        async def step(seconds):
            begin = monotonic()
            await asyncio.sleep(seconds)
            return monotonic() - begin
        async def worker(name, rounds):
            times = truth[name] = dict(cpu=0.0, waited=0.0)
            for _ in range(rounds):
                times["cpu"] += burn(0.01)
                times["waited"] += await step(0.02)
        async def renamed():
            await asyncio.sleep(0)
            asyncio.current_task().set_name("other")
            await asyncio.sleep(0)
        async def main():
            await asyncio.gather(asyncio.create_task(worker("a", 5), name="a"),
                                 asyncio.create_task(worker("b", 10), name="b"),
                                 asyncio.create_task(renamed(), name="one"))
        flamelet.start()
        asyncio.run(main())
        flamelet.stop()
        result(truth=truth)
        """,
    )
    # THEN each is a task with its own times, named as asyncio names it, grouped by its coroutine
    tasks = found["tasks"]
    for name, truth in found["truth"].items():
        assert tasks[name]["entry"] == "worker"
        assert tasks[name]["state"] == "ended"
        assert tasks[name]["idle"] == 0
        assert tasks[name]["cpu"] == pytest.approx(truth["cpu"], rel=0.1, abs=0.005)
        assert tasks[name]["waited"] == pytest.approx(truth["waited"], rel=0.1, abs=0.01)
    assert (tasks["a"]["switches"], tasks["b"]["switches"]) == (6, 11)
    assert tasks["Task-1"]["entry"] == "main"
    assert tasks["other"]["entry"] == "renamed"
    assert found["groups"]["worker"] == [2, 2]
    # AND a suspension is no call
    assert found["calls"]["worker"] == 2
    assert found["calls"]["step"] == 15
    assert found["edges"] == {"worker > burn": 15, "worker > step": 15}
    # AND they live on the loop's thread, whose hub is what runs the loop
    (thread,) = found["threads"]
    hub = tasks["<module>"]
    assert (thread["hub"], hub["hub"]) == (hub["id"], True)
    assert {task["thread"] for task in tasks.values()} == {thread["id"]}


def test_the_loop_is_idle_in_its_poll_only(tmp_path: Path, write: Write) -> None:
    # GIVEN a loop that has nothing to do for a while, a callback that blocks it, and a program that sleeps without it
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        times = dict(idle=0.0, blocked=0.0, outside=0.0)
        def callback():
            begin = monotonic(); time.sleep(0.1); times["blocked"] += monotonic() - begin
        async def main():
            begin = monotonic()
            await asyncio.sleep(0.2)
            times["idle"] += monotonic() - begin
            asyncio.get_running_loop().call_soon(callback)
            await asyncio.sleep(0)
        flamelet.start()
        asyncio.run(main())
        begin = monotonic(); time.sleep(0.15); times["outside"] = monotonic() - begin
        flamelet.stop()
        result(truth=times)
        """,
    )
    # THEN the poll is idle, and the rest is blocked
    hub, truth = found["tasks"]["<module>"], found["truth"]
    assert hub["idle"] == pytest.approx(truth["idle"], rel=0.05, abs=0.02)
    assert hub["blocked"] == pytest.approx(truth["blocked"] + truth["outside"], rel=0.1, abs=0.05)


def test_waits_are_named_by_what_is_awaited(tmp_path: Path, write: Write) -> None:
    # GIVEN tasks that are suspended in everything one can write
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        class Box:
            def __init__(self): self.queue, self.lock = asyncio.Queue(), asyncio.Lock()
            async def attribute(self): await self.queue.get()
            async def with_lock(self):
                async with self.lock: pass
        async def sleeps(): await asyncio.sleep(60)
        async def of_a_name(future): await future
        async def event_wait(event): return await event.wait()
        async def values(event):
            await event.wait()
            yield 1
        async def iterates(items):
            async for _ in items: pass
        async def comprehends(items): return [x async for x in items]
        async def leaves(group):
            async with group: group.create_task(asyncio.sleep(60))
        async def gathers(): await asyncio.gather(asyncio.sleep(60), asyncio.sleep(60))
        async def deep(event): await event_wait(event)
        async def times_out(queue): await asyncio.wait_for(queue.get(), 60)
        async def main():
            box, event = Box(), asyncio.Event()
            await box.lock.acquire()
            future = asyncio.get_running_loop().create_future()
            for coroutine in (box.attribute(), box.with_lock(), sleeps(), of_a_name(future), iterates(values(event)),
                              comprehends(values(event)), leaves(asyncio.TaskGroup()), gathers(), deep(event),
                              times_out(box.queue)):
                kept.append(asyncio.create_task(coroutine, name=coroutine.__name__))
            for _ in range(5): await asyncio.sleep(0)
            result(states={name: task["state"] for name, task in rows().items()})
        kept = []
        flamelet.start()
        asyncio.run(main())
        """,
    )
    # THEN each says in the words of the source what it waits for
    expected = {
        "attribute": "queue.get",
        "with_lock": "with lock",
        "sleeps": "asyncio.sleep",
        "of_a_name": "future",
        "iterates": "event.wait",
        "comprehends": "event.wait",
        "leaves": "with group",
        "gathers": "asyncio.gather",
        "deep": "event.wait",
        "times_out": "asyncio.wait_for",
    }
    assert {name: found["tasks"][name]["wait"] for name in expected} == expected
    assert {found["states"][name] for name in expected} == {"parked"}


def test_tasks_that_end_in_every_way(tmp_path: Path, write: Write) -> None:
    # GIVEN tasks that return, raise, are cancelled before their first step, while they wait, shielded, in a group, and
    # collected while they wait
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def leaf(): pass
        async def returns(): await asyncio.sleep(0); leaf()
        async def raises(): await asyncio.sleep(0); raise ValueError
        async def inner():
            try: await asyncio.sleep(60)
            finally: leaf()
        async def waits(): await inner()
        async def stubborn():
            try: await inner()
            except asyncio.CancelledError: leaf()
            await asyncio.sleep(0)
            leaf()
        async def unstarted(): leaf()
        async def collected(): await asyncio.get_running_loop().create_future()
        async def group():
            async with asyncio.TaskGroup() as group:
                group.create_task(waits()); group.create_task(raises())
        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            tasks = [asyncio.create_task(c()) for c in (returns, raises, waits, stubborn, group)]
            for _ in range(3): await asyncio.sleep(0)
            never = asyncio.create_task(unstarted()); never.cancel()
            for task in tasks[2:4]: task.cancel()
            await asyncio.gather(*tasks, never, return_exceptions=True)
            kept = asyncio.create_task(collected()); await asyncio.sleep(0); del kept, tasks
            gc.collect()
        flamelet.start()
        asyncio.run(main())
        flamelet.stop(); flamelet.start()
        leaf()
        flamelet.stop()
        result()
        """,
    )
    # THEN every one that began has ended
    groups = {name: tuple(counts) for name, counts in found["groups"].items()}
    assert groups["returns"] == groups["stubborn"] == groups["group"] == (1, 1)
    assert groups["raises"] == groups["waits"] == (2, 2)
    assert groups["unstarted"] == groups["collected"] == (1, 1)
    assert groups["main"] == (1, 1)
    # AND what it called then was called in it
    calls = {
        "returns": 1,
        "raises": 2,
        "inner": 3,
        "waits": 2,
        "stubborn": 1,
        "unstarted": 0,
        "collected": 1,
        "main": 1,
    }
    assert {name: found["calls"][name] for name in calls} == calls
    edges = {
        "returns > leaf": 1,
        "waits > inner": 2,
        "stubborn > inner": 1,
        "inner > leaf": 3,
        "stubborn > leaf": 2,
        "<module> > leaf": 1,
    }
    assert {name: found["edges"].get(name) for name in edges} == edges
    assert not [name for name in found["edges"] if name.endswith("> leaf") and name not in edges]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks came with 3.12")
def test_eager_tasks_nest(tmp_path: Path, write: Write) -> None:
    # GIVEN tasks that run at once inside of those that make them, three deep, the innermost being suspended
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        def leaf(): burn(0.01)
        async def third(): leaf(); await asyncio.sleep(0); leaf()
        async def second():
            leaf(); task = asyncio.create_task(third(), name="third"); leaf(); await task
        async def first():
            leaf(); task = asyncio.create_task(second(), name="second"); leaf(); await task
        async def done(): leaf()
        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            await asyncio.create_task(first(), name="first")
            await asyncio.create_task(done(), name="done")
        flamelet.start()
        asyncio.run(main())
        flamelet.stop()
        result()
        """,
    )
    # THEN each has its own time and calls, and no other's
    edges = {"first > leaf": 2, "second > leaf": 2, "third > leaf": 2, "done > leaf": 1, "leaf > burn": 7}
    assert {name: count for name, count in found["edges"].items() if "burn" in name or "leaf" in name} == edges
    tasks = {task["entry"]: task for task in found["tasks"].values()}
    for name, bursts in {"first": 2, "second": 2, "third": 2, "done": 1}.items():
        assert tasks[name]["cpu"] == pytest.approx(0.01 * bursts, abs=0.004)
        assert tasks[name]["state"] == "ended"
        # Up to 3.13 an eager task gets its name after its first step.
        assert tasks[name]["name"] == name or name == "done"
    # first, and second in it: begins, goes on when the one that it made is suspended, and when that has ended.
    assert [tasks[name]["switches"] for name in ("first", "second", "third", "done")] == [3, 3, 2, 1]


def test_loops_in_threads_and_one_after_the_other(tmp_path: Path, write: Write) -> None:
    # GIVEN three threads with loops at the same time, then two loops in the first thread, which call back and forth
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        async def job(name):
            for _ in range(20): burn(0.0005); await asyncio.sleep(0)
        async def all_of_them(name):
            await asyncio.gather(*(asyncio.create_task(job(name), name=f"{name}-{i}") for i in range(3)))
        flamelet.start()
        threads = [threading.Thread(target=lambda n=n: asyncio.run(all_of_them(n)), name=n) for n in "abc"]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        one, two = asyncio.new_event_loop(), asyncio.new_event_loop()
        async def half(): await asyncio.sleep(0); burn(0.001); await asyncio.sleep(0)
        long = one.create_task(all_of_them("one"), name="long")
        for _ in range(3):
            one.run_until_complete(asyncio.wait_for(half(), 60)); two.run_until_complete(half())
        one.run_until_complete(long)
        one.close(); two.close()
        flamelet.stop()
        result()
        """,
    )
    # THEN each thread's tasks are its own, and ended
    names = {thread["id"]: thread["name"] for thread in found["threads"]}
    for name in ("a", "b", "c", "one"):
        for i in range(3):
            task = found["tasks"][f"{name}-{i}"]
            assert names[task["thread"]] == (name if name in "abc" else "MainThread")
            assert (task["state"], task["switches"], task["entry"]) == ("ended", 21, "job")
    assert found["calls"]["job"] == 12
    assert found["groups"]["half"][0] == found["groups"]["half"][1] >= 3
    assert found["calls"]["half"] == 6


@pytest.mark.parametrize("again", [False, True])
def test_a_start_in_the_middle_of_a_step(tmp_path: Path, write: Write, again: bool) -> None:
    # GIVEN a loop that has run for a while, with tasks that wait, when one of them starts (stops, and starts) profiling
    found = run_program(
        write,
        tmp_path,
        f"""
        from tools import *
        def leaf(): pass
        async def starts():
            await asyncio.sleep(0)
            begin()
            if {again}:
                leaf(); flamelet.stop(); await asyncio.sleep(0.01); begin()
            leaf()
            await asyncio.sleep(0)
            leaf()
        def begin(): flamelet.start()
        async def waiter(event): await inner(event); leaf()
        async def inner(event): await event.wait(); leaf()
        async def main():
            event = asyncio.Event()
            waiting = asyncio.create_task(waiter(event), name="waiter")
            await asyncio.create_task(starts(), name="starter")
            event.set()
            await waiting
        asyncio.run(main())
        flamelet.stop()
        result()
        """,
    )
    # THEN what was there goes on in its own tasks, without having been called
    assert found["tasks"]["starter"]["entry"] == "starts"
    assert found["tasks"]["waiter"]["entry"] == "waiter"
    assert found["edges"]["starts > leaf"] == (3 if again else 2)
    assert found["edges"]["waiter > leaf"] == found["edges"]["inner > leaf"] == 1
    assert found["edges"]["waiter > inner"] == 0
    assert [found["calls"][name] for name in ("starts", "waiter", "inner", "main")] == [0, 0, 0, 0]
    assert found["groups"]["starts"] == found["groups"]["waiter"] == found["groups"]["main"] == [1, 1]


def test_tasks_that_wait_since_before_the_start(tmp_path: Path, write: Write) -> None:
    # GIVEN tasks that wait when profiling starts and are never resumed; one that has not begun; and one that ended
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        async def inner(event): await event.wait()
        async def waiter(event): await inner(event)
        async def items(event):
            await event.wait()
            yield 1
        async def comprehends(event): return [x async for x in items(event)]
        async def late(): await asyncio.sleep(0)
        async def soon(): pass
        async def main():
            event = asyncio.Event()
            kept = [asyncio.create_task(c(event), name=c.__name__) for c in (waiter, comprehends)]
            kept.append(asyncio.create_task(soon(), name="soon"))
            await asyncio.sleep(0)
            kept.append(asyncio.create_task(late(), name="late"))
            flamelet.start()
            first = rows()
            await kept[-1]
            await asyncio.sleep(0.01)
            flamelet.stop(); flamelet.start()
            result(first=first)
        asyncio.run(main())
        """,
    )
    # THEN those that wait are there from the start, with their names and what they wait for
    for tasks in (found["first"], found["tasks"]):
        for name in ("waiter", "comprehends"):
            assert (tasks[name]["entry"], tasks[name]["state"]) == (name, "parked")
        assert tasks["waiter"]["wait"] == "event.wait"
    assert {"late", "soon"} & set(found["first"]) == set()
    assert found["tasks"]["late"]["state"] == "ended"
    assert found["tasks"]["waiter"]["waited"] >= 0.01
    # AND at their place, not called
    assert found["edges"]["waiter > inner"] == 0
    assert (found["calls"]["late"], found["calls"]["waiter"]) == (1, 0)
    assert found["groups"]["waiter"] == found["groups"]["comprehends"] == [1, 0]


def test_greenlets_inside_tasks(tmp_path: Path, write: Write) -> None:
    # GIVEN SQLAlchemy's way to call async code from plain code: a greenlet per call, which switches to the coroutine
    # for each thing to be awaited
    pytest.importorskip("greenlet")
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        from greenlet import greenlet, getcurrent
        def await_only(awaitable): return getcurrent().parent.switch(awaitable)
        async def spawn(function, *args):
            child = greenlet(function)
            value = child.switch(*args)
            while child: value = child.switch(await value)
            return value
        def query(name):
            burn(0.01)
            row = await_only(fetch(name))
            burn(0.01)
            return row + await_only(fetch(name))
        async def fetch(name):
            await asyncio.sleep(0.02)
            leaf()
            return [name]
        def leaf(): pass
        async def request(name):
            burn(0.01)
            assert await spawn(query, name) == [name, name]
            burn(0.01)
        async def main():
            await asyncio.gather(*(asyncio.create_task(request(n), name=n) for n in "abc"))
        flamelet.start()
        asyncio.run(main())
        flamelet.stop()
        result()
        """,
    )
    # THEN a task has what its coroutines did, its greenlets have what they did
    for name in "abc":
        assert found["tasks"][name]["cpu"] == pytest.approx(0.02, abs=0.005)
        assert found["tasks"][name]["state"] == "ended"
    assert found["groups"]["query"] == found["groups"]["request"] == [3, 3]
    edges = {
        "request > burn": 6,
        "request > spawn": 3,
        "spawn > fetch": 6,
        "fetch > leaf": 6,
        "query > burn": 6,
        "query > await_only": 6,
    }
    assert {name: count for name, count in found["edges"].items() if name in edges} == edges
    assert "query > fetch" not in found["edges"]


def test_many_tasks_at_reused_addresses(tmp_path: Path, write: Write) -> None:
    # GIVEN 20,000 short tasks, a hundred at a time, one in ten of them dropped while it waits
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        async def short(): await asyncio.sleep(0)
        async def dropped(): await asyncio.get_running_loop().create_future()
        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            for _ in range(200):
                kept = [asyncio.create_task(short() if i % 10 else dropped()) for i in range(100)]
                await asyncio.gather(*(task for i, task in enumerate(kept) if i % 10))
                del kept
                gc.collect(0)
        gc.disable()
        flamelet.start()
        asyncio.run(main())
        flamelet.stop(); flamelet.start(); burn(0); flamelet.stop()
        numbers = [int(t.name[5:]) for t in flamelet.snapshot().tasks if t.name.startswith("Task-")]
        result(numbers=numbers)
        """,
    )
    # THEN each was a task of its own, and all have ended
    assert found["groups"]["short"] == [18000, 18000]
    assert found["groups"]["dropped"] == [2000, 2000]
    assert found["calls"]["short"] == 18000
    # AND the made-up names of the later ones are not kept. (One is that of the first task, which lived all the time.)
    assert max(found["numbers"], default=0) <= 4096 + 100


def test_coroutines_without_asyncio_belong_to_who_drives_them(tmp_path: Path, write: Write) -> None:
    # GIVEN coroutines that are driven by hand: outside of any loop, and inside of a task
    found = run_program(
        write,
        tmp_path,
        """
        from tools import *
        import types
        @types.coroutine
        def suspend(): yield
        async def by_hand(): await suspend(); await suspend()
        def drive(coroutine):
            try:
                while True: coroutine.send(None)
            except StopIteration: pass
        async def main():
            drive(by_hand())
            await asyncio.sleep(0)
            drive(by_hand())
        flamelet.start()
        drive(by_hand())
        asyncio.run(main())
        flamelet.stop()
        result()
        """,
    )
    # THEN they show below who drives them, and are no tasks
    assert found["edges"]["drive > by_hand"] == 3
    assert found["edges"]["main > drive"] == 2
    assert found["edges"]["<module> > drive"] == 1
    assert found["edges"]["by_hand > suspend"] == 6
    assert set(found["groups"]) >= {"main"}
    assert "by_hand" not in found["groups"]
    assert found["tasks"]["Task-1"]["switches"] == 2
