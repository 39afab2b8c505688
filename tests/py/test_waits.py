"""A parked greenlet says in which call it waits, as its source has it, on every version."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from running import PYTHON, run

Write = Callable[..., Path]

PROGRAM = """
import json
import gevent
from gevent.event import Event
from gevent.lock import Semaphore
from gevent.queue import Queue
from greenlet import greenlet
import flamelet

class Worker:
    def __init__(self):
        self.queue, self.done = Queue(), Event()
    def attribute_of_self(self):
        self.queue.get(timeout=3)
    def over_two_lines(self):
        return self.done.wait(
            3)

event, lock, items = Event(), Semaphore(0), Queue()

def of_a_global(): event.wait()
def a_with_statement():
    with lock: pass
def an_iteration():
    for item in items: pass
def of_a_call(): return Worker().done.wait()
def of_a_module(): gevent.wait([event])
def twice():
    event.wait(0.001)
    items.get()
def of_many_names():
    {names}
    items.get()
def gate(of): return lock
class Door:
    __exit__ = greenlet.switch.__get__(gevent.get_hub())
    def __enter__(self): return self
class House:
    door = Door()
def leaving_a_with_statement():
    with House.door: pass
def leaving_by_an_error():
    with House.door: raise ValueError
def in_a_with_statement():
    with House.door:
        event.wait()
def a_with_statement_of_a_call():
    with gate(items): pass
def an_iteration_over_a_call():
    for item in iter(items): pass
def a_loop_on_one_line():
    for queue in [items]: queue.get()
def a_call_after_a_local():
    first, second = 1, items
    print(first, second.get())
def with_constants(): event.wait(None)
def by_keywords(): items.get(block=True, timeout=3)
def by_unpacking(): items.get(*(), **{{"timeout": 3}})

worker = Worker()
functions = [worker.attribute_of_self, worker.over_two_lines, of_a_global, a_with_statement, an_iteration, of_a_call,
             of_a_module, twice, of_many_names, by_keywords, by_unpacking, a_with_statement_of_a_call,
             an_iteration_over_a_call, a_loop_on_one_line, a_call_after_a_local, with_constants,
             leaving_a_with_statement, leaving_by_an_error, in_a_with_statement]
flamelet.start()
greenlets = [gevent.spawn(function) for function in functions]
gevent.sleep(0.05)
tasks = flamelet.snapshot().tasks
print(json.dumps({{task.entry.rpartition(".")[2]: task.wait for task in tasks}}))
"""

# Names enough that the index of the one that matters needs an EXTENDED_ARG.
NAMES = "if not items: " + "; ".join(f"event.name_{i}" for i in range(300))


def test_waits_are_named_as_in_the_source(tmp_path: Path, write: Write) -> None:
    # GIVEN greenlets that are parked in calls written in many ways
    program = write("program.py", PROGRAM.format(names=NAMES))

    # WHEN the program asks for a snapshot
    finished = run(PYTHON, program, cwd=tmp_path)
    assert finished.code == 0, finished.errors

    # THEN each greenlet says what it waits in, the first ones too
    waits = json.loads(finished.text)
    expected = {
        "attribute_of_self": "queue.get",
        "over_two_lines": "done.wait",
        "of_a_global": "event.wait",
        "a_with_statement": "with lock",
        "an_iteration": "for items",
        "of_a_call": "done.wait",
        "of_a_module": "gevent.wait",
        "twice": "items.get",
        "of_many_names": "items.get",
        "by_keywords": "items.get",
        "by_unpacking": "items.get",
        "a_with_statement_of_a_call": "with gate",
        "an_iteration_over_a_call": "for iter",
        "a_loop_on_one_line": "queue.get",
        "a_call_after_a_local": "second.get",
        "with_constants": "event.wait",
        "leaving_a_with_statement": "with House.door",
        "leaving_by_an_error": "with House.door",
        "in_a_with_statement": "event.wait",
    }
    assert {name: waits.get(name) for name in expected} == expected


def test_a_wait_is_gone_when_the_greenlet_goes_on(tmp_path: Path, write: Write) -> None:
    # GIVEN a greenlet that waited for an event, and now waits for nothing but runs
    program = write(
        "program.py",
        """
        import json
        import gevent
        from gevent.event import Event
        import flamelet

        event = Event()
        def wait_then_look():
            event.wait()
            row = next(task for task in flamelet.snapshot().tasks if task.entry == "wait_then_look")
            print(json.dumps([row.state, row.wait]))

        flamelet.start()
        greenlet = gevent.spawn(wait_then_look)
        gevent.sleep(0.01)
        event.set()
        greenlet.join()
        """,
    )

    # WHEN it looks at itself
    finished = run(PYTHON, program, cwd=tmp_path)

    # THEN it is current and waits in no call
    assert finished.code == 0, finished.errors
    assert json.loads(finished.text) == ["current", ""]
