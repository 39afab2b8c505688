"""Profiling starts and stops in the middle of things: in deep stacks, in greenlets, with others parked, in threads.

The programs run in processes of their own, and print what they see of themselves as one line of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from running import PYTHON, run

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

Write = Callable[..., Path]
Told = Callable[[str], Any]

TOOLS = """
import gc, json, sys, threading, time
import gevent, greenlet
from gevent.event import Event
import flamelet
from flamelet.recording import read_lines
from flamelet.session import recording_lines

STATES = ["current", "parked", "ended"]

class Seen:
    "What a snapshot says about tasks: their state, path, wait, name, thread's name, seconds since, switches."
    def __init__(self):
        self.picture = picture = read_lines(recording_lines("test")).picture
        self.tasks = []
        for task in picture.tasks.values():
            thread = picture.threads[task.thread]
            node = thread.node if task.state == 0 else task.node
            self.tasks.append(dict(state=STATES[task.state], path=self.path(node), wait=picture.string(task.wait),
                                   name=picture.string(task.name), thread=picture.string(thread.name),
                                   since=(picture.now - task.since) / 1e9, switches=task.switches))
    def path(self, node):
        names = []
        while node:
            row = self.picture.nodes[node]
            if row.function: names.append(self.picture.function(row.function).name)
            node = row.parent
        return "/".join(reversed(names))
    def calls(self, name):
        return sum(node.calls for node in self.picture.nodes.values()
                   if self.picture.function(node.function).name == name)
    def lost(self):
        return {name: count for name, count in self.picture.status.lost.items() if count}

def tell(what):
    print(json.dumps(what))
"""


@pytest.fixture
def told(tmp_path: Path, write: Write) -> Told:
    """Runs a program; gives what it told."""
    write("tools.py", TOOLS)

    def run_it(program: str) -> Any:
        finished = run(PYTHON, write("program.py", "from tools import *\n" + program), cwd=tmp_path)
        assert finished.code == 0, finished.errors
        assert finished.errors == ""
        return json.loads(finished.text)

    return run_it


def one(tasks: list[dict[str, Any]], path: str) -> dict[str, Any]:
    (task,) = [task for task in tasks if task["path"] == path]
    return task


PARKED = """
event = Event()
def inner(): event.wait()
def worker(): inner()
greenlets = [gevent.spawn(worker) for _ in range(3)]
greenlets[0].name = "first"
gevent.sleep(0.01)
"""


def test_a_parked_greenlet_is_there_with_its_stack_from_the_start(told: Told) -> None:
    # GIVEN greenlets that are parked, and a hub
    # WHEN profiling starts, and none of them runs
    seen = told(
        PARKED
        + """
flamelet.start()
time.sleep(0.05)
seen = Seen()
tell([seen.tasks, seen.calls("worker")])
"""
    )
    tasks, calls = seen
    # THEN each is a parked task at its place, with its wait, its name, waiting since the start, and no call is counted
    workers = [task for task in tasks if task["path"] == "worker/inner"]
    assert [task["state"] for task in workers] == ["parked"] * 3
    assert {task["wait"] for task in workers} == {"event.wait"}
    assert sorted(task["name"] for task in workers) == ["", "", "first"]
    assert all(0.05 <= task["since"] < 5 for task in workers)
    assert calls == 0
    # AND so is the hub
    assert one(tasks, "run")["state"] == "parked"


def test_parked_greenlets_of_a_thread_that_sleeps(told: Told) -> None:
    # GIVEN a thread whose hub sleeps, with parked greenlets, and one without greenlets that sleeps deep in a stack
    tasks, again, lost = told(
        PARKED
        + """
ready = threading.Event()
def other():
    end = Event()
    def parked(): end.wait()
    def sleeping(): gevent.sleep(1); end.set()
    them = [gevent.spawn(parked), gevent.spawn(parked), gevent.spawn(sleeping)]
    gevent.sleep(0.01)
    ready.set()
    gevent.joinall(them)
def deep(n):
    if n: deep(n - 1)
    else: time.sleep(1)
threads = [threading.Thread(target=other, name="other"), threading.Thread(target=deep, args=(5,), name="deep")]
for thread in threads: thread.start()
ready.wait(); time.sleep(0.1)
# WHEN profiling starts, and they go on sleeping
flamelet.start()
first = Seen().tasks
for thread in threads: thread.join()
last = Seen()
tell([first, last.tasks, last.lost()])
"""
    )
    bootstrap = "_bootstrap/_bootstrap_inner/run/"
    # THEN the greenlets are there, at their place, on their thread, with its own stack, which is parked too
    parked = [task for task in tasks if task["thread"] == "other"]
    assert sorted((task["path"], task["state"], task["wait"]) for task in parked) == [
        (bootstrap + "other", "parked", "gevent.joinall"),
        ("parked", "parked", "end.wait"),
        ("parked", "parked", "end.wait"),
        ("run", "current", ""),
        ("sleeping/sleep", "parked", "hub.wait"),
    ]
    # AND the thread without greenlets with all of its stack
    assert one(tasks, bootstrap + "/".join(["deep"] * 6))["state"] == "current"
    # AND all of this thread
    assert len([task for task in tasks if task["path"] == "worker/inner" and task["thread"] == "MainThread"]) == 3
    # AND when they have ended, so have their tasks, and no return was without its call
    assert {task["state"] for task in again if task["thread"] in ("other", "deep")} == {"ended"}
    assert lost == {}


def test_start_inside_a_greenlet(told: Told) -> None:
    # GIVEN a greenlet in the middle of its stack that starts profiling, while main and hub are parked
    inside, after, lost, calls = told(
        """
def deeper():
    flamelet.start()
    seen = Seen().tasks
    gevent.sleep(0.01)
    return seen
def starter(): return deeper()
greenlet_ = gevent.spawn(starter)
def waiting(): greenlet_.join()
waiting()
seen = Seen()
tell([greenlet_.value, seen.tasks, seen.lost(), seen.calls("starter") + seen.calls("deeper") + seen.calls("waiting")])
"""
    )
    # THEN it is current, with its stack, and main is parked at its place
    assert one(inside, "starter/deeper/__init__")["state"] == "current"
    assert one(inside, "<module>/waiting")["state"] == "parked"
    assert one(inside, "run")["state"] == "parked"
    # AND when it has ended main goes on as if it had been known from the beginning
    assert one(after, "<module>/__init__")["state"] == "current"
    assert lost == {}
    assert calls == 0


def test_frozen_greenlets_are_found(told: Told) -> None:
    # GIVEN parked greenlets, frozen by gc.freeze(), and some that are not
    tasks = told(
        PARKED
        + """
gc.collect(); gc.freeze()
greenlets += [gevent.spawn(worker) for _ in range(2)]
gevent.sleep(0.01)
flamelet.start()
tell(Seen().tasks)
"""
    )
    # THEN all are found, each once
    assert len([task for task in tasks if task["path"] == "worker/inner"]) == 5
    assert len(tasks) == 7


def test_frames_that_were_parked_deliver_their_events(told: Told) -> None:
    # GIVEN greenlets that are parked in calls, one in a loop that never ends, one that is thrown into
    tasks, calls, lost = told(
        """
event, again = Event(), Event()
def pause(): again.wait()
def loop():
    while True:
        pause()
        again.clear()
def leaf(): event.wait()
def middle(): leaf()
def top(): middle(); end()
def end(): pass
def victim(): middle()
them = [gevent.spawn(f) for f in (loop, top, victim)]
gevent.sleep(0.01)
flamelet.start()
for _ in range(3):
    again.set(); gevent.sleep(0.001)
them[2].kill()
event.set(); gevent.sleep(0.01)
seen = Seen()
tell([seen.tasks, {name: seen.calls(name) for name in ("pause", "loop", "top", "middle", "leaf", "end")}, seen.lost()])
"""
    )
    # THEN what returns was left, what is called is counted, and an exception leaves no frame behind
    assert calls == {"pause": 3, "loop": 0, "top": 0, "middle": 0, "leaf": 0, "end": 1}
    assert one(tasks, "loop/pause")["state"] == "parked"
    assert [task["state"] for task in tasks if task["path"] == ""] == ["ended"] * 2
    assert lost == {}


def test_greenlets_that_die_while_profiling_is_off(told: Told) -> None:
    # GIVEN greenlets that are known, of which all but one die while profiling is off, and new ones at their addresses
    before, after = told(
        """
def old(): main.switch()
def new(): main.switch()
main = greenlet.getcurrent()
flamelet.start()
them = [greenlet.greenlet(old) for _ in range(50)]
for g in them: g.switch()
before = Seen().tasks
flamelet.stop()
addresses = {id(g) for g in them}
keep = them.pop()
them.clear(); g = None; gc.collect()
them = [greenlet.greenlet(new) for _ in range(500)]
for g in them: g.switch()
assert addresses & {id(g) for g in them if g is not keep}
flamelet.start()
tell([before, Seen().tasks])
"""
    )
    # THEN the dead ones have ended, the new ones are tasks of their own, and the one that lives is the one it was
    assert len([task for task in before if task["path"] == "old"]) == 50
    states = [(task["path"], task["state"]) for task in after if task["path"] in ("old", "new")]
    assert states.count(("old", "parked")) == 1
    assert states.count(("old", "ended")) == 49
    assert states.count(("new", "parked")) == 500


def test_a_thousand_starts_and_stops(told: Told) -> None:
    # GIVEN parked greenlets here and in another thread, and a greenlet that works
    tasks, lost, counts = told(
        PARKED
        + """
stop = threading.Event()
def other():
    def tick():
        while not stop.is_set(): gevent.sleep(0.001)
    them = [gevent.spawn(tick), gevent.spawn(Event().wait)]
    them[0].join(); them[1].kill()
thread = threading.Thread(target=other, name="other"); thread.start()
def step(): gevent.sleep(0)
def work(n):
    for _ in range(n): step()
begin = sys.getrefcount(greenlets[1]), sys.getrefcount(worker.__code__)
for i in range(1000):
    flamelet.start()
    if i % 100 == 0: work(3)
    flamelet.stop()
gc.collect()
after = sys.getrefcount(greenlets[1]), sys.getrefcount(worker.__code__)
flamelet.start()
seen = Seen()
stop.set(); thread.join()
flamelet.stop()
tell([seen.tasks, seen.lost(), [begin, after, greenlet.gettrace() is None, seen.calls("step")]])
"""
    )
    # THEN nothing is left behind: as many tasks as there are, no reference to them, no tracer, no call lost
    assert len([task for task in tasks if task["path"] == "worker/inner"]) == 3
    assert len([task for task in tasks if task["thread"] == "other" and task["state"] != "ended"]) == 4
    before, after, no_tracer, steps = counts
    assert before == after
    assert no_tracer
    assert steps == 30
    assert lost == {}


def test_started_and_stopped_by_another_thread(told: Told) -> None:
    # GIVEN a thread that switches profiling on and off, while this one switches between greenlets and computes
    lost, tasks = told(
        """
def leaf(n): return n
def work(n):
    for i in range(n):
        for k in range(20): leaf(k)
        gevent.sleep(0)
end = False
def control():
    while not end:
        flamelet.start(); time.sleep(0.002); flamelet.stop(); time.sleep(0.001)
thread = threading.Thread(target=control); thread.start()
gevent.joinall([gevent.spawn(work, 1500) for _ in range(5)])
end = True; thread.join()
flamelet.start()
seen = Seen()
tell([seen.lost(), [task for task in seen.tasks if task["path"].startswith("work")]])
"""
    )
    # THEN every stack was told rightly each time: no return came without its frame, nobody is left over
    assert lost == {}
    assert [task for task in tasks if task["state"] != "ended"] == []


FULL_SPEED = """
def leaf(): pass
def call(n):
    for _ in range(n): leaf()
event, again = Event(), Event()
def in_a_loop():
    while True:
        event.wait(); event.clear()
        begin = time.thread_time()
        for _ in range(200_000): leaf()
        took.append(time.thread_time() - begin)
took = []
worker = gevent.spawn(in_a_loop)
gevent.sleep(0.01)
def measure():
    best = []
    for _ in range(20):
        took.clear(); event.set(); gevent.sleep(0.001)
        while not took: gevent.sleep(0.001)
        best.append(took[0])
    return min(best)
measure()
before = measure()
"""


def test_after_a_stop_parked_code_runs_at_full_speed(told: Told) -> None:
    # GIVEN a loop in a greenlet that is parked when profiling starts, and parked again when it stops
    before, on, after = told(
        FULL_SPEED
        + """
flamelet.start()
on = measure()
flamelet.stop()
tell([before, on, measure()])
"""
    )
    # THEN its frame, which is never entered anew, costs what it did before; while profiling was on it cost more
    # (it costs three times as much then; the best of many rounds, but the machine may be busy)
    assert on > 1.5 * before
    assert after < before + 0.4 * (on - before)


def test_tracers_are_as_before_after_a_stop(told: Told) -> None:
    # GIVEN a tracer of the program's own, here and in another thread
    here, there, calls = told(
        """
calls = []
def mine(*_): calls.append(1)
ready, go, result = threading.Event(), threading.Event(), []
def other():
    greenlet.settrace(mine)
    greenlet.greenlet(lambda: None).switch()
    ready.set(); go.wait()
    greenlet.greenlet(lambda: None).switch()
    greenlet.greenlet(lambda: None).switch()
    result.append(greenlet.gettrace() is mine)
greenlet.settrace(mine)
thread = threading.Thread(target=other); thread.start(); ready.wait()
flamelet.start()
gevent.sleep(0)
flamelet.stop()
go.set(); thread.join()
count = len(calls)
gevent.sleep(0)
tell([greenlet.gettrace() is mine, result, len(calls) > count])
"""
    )
    # THEN after a stop, and a switch there, each thread has it back, and it is called
    assert here
    assert there == [True]
    assert calls


def test_a_name_that_is_given_late_is_seen(told: Told) -> None:
    # GIVEN a greenlet that gets its name after some switches
    tasks = told(
        """
def work():
    gevent.sleep(0); gevent.sleep(0)
    gevent.getcurrent().name = "late"
    for _ in range(10): gevent.sleep(0)
    gevent.sleep(1)
flamelet.start()
gevent.spawn(work)
for _ in range(20): gevent.sleep(0)
tell(Seen().tasks)
"""
    )
    # THEN it is known by it
    assert one(tasks, "work/sleep")["name"] == "late"


def test_stacks_a_thousand_deep(told: Told) -> None:
    # GIVEN a greenlet that is parked a thousand frames deep
    tasks, lost = told(
        """
event = Event()
def down(n):
    if n: down(n - 1)
    else: event.wait()
worker = gevent.spawn(down, 900)
gevent.sleep(0.01)
flamelet.start()
first = Seen().tasks
event.set(); worker.join()
tell([first, Seen().lost()])
"""
    )
    # THEN all of it is there, and all of it returns
    assert one(tasks, "/".join(["down"] * 901))["state"] == "parked"
    assert lost == {}


def test_a_greenlet_object_that_is_dropped_while_off_is_not_held(told: Told) -> None:
    # GIVEN a greenlet that is known and parked, whose last reference goes while profiling is off
    events = told(
        """
events = []
class Thing:
    def __del__(self): events.append("deleted")
def work():
    thing = Thing()
    try: greenlet.getcurrent().parent.switch()
    finally: events.append("finally")
flamelet.start()
worker = greenlet.greenlet(work); worker.switch()
flamelet.stop()
del worker
events.append("dropped")
flamelet.start(); flamelet.stop()
tell(events)
"""
    )
    # THEN it ends right there, as without flamelet
    assert events == ["finally", "deleted", "dropped"]


def test_ten_thousand_parked_greenlets(told: Told) -> None:
    # GIVEN 10,000 parked greenlets
    count, start, stop = told(
        """
event = Event()
def d(): event.wait()
def c(): d()
def b(): c()
def a(): b()
them = [gevent.spawn(a) for _ in range(10_000)]
while not all(g.gr_frame for g in them): gevent.sleep(0)
gevent.sleep(0.01)
flamelet.start(); flamelet.stop()
begin = time.thread_time(); flamelet.start(); start = time.thread_time() - begin
seen = Seen()
begin = time.thread_time(); flamelet.stop(); stop = time.thread_time() - begin
tell([len([task for task in seen.tasks if task["path"] == "a/b/c/d"]), start, stop])
"""
    )
    # THEN all are told, in CPU time that only a real fault could make so long (it takes about 15 ms)
    assert count == 10_000
    assert start < 0.1
    assert stop < 0.1


def test_a_label_is_known_again_after_a_start(told: Told) -> None:
    # GIVEN a greenlet that has set a label, and is parked when profiling starts anew
    groups = told(
        """
def work():
    with flamelet.label("blue"):
        event.wait()
        inner()
def inner(): pass
event = Event()
worker = gevent.spawn(work)
flamelet.start(); gevent.sleep(0.01); flamelet.stop()
flamelet.start()
event.set(); worker.join()
tell([[group.entry, group.label, group.ended] for group in flamelet.snapshot().groups])
"""
    )
    # THEN what it does is in the group of that label
    assert ["work", "blue", 1] in groups
