"""A hub is idle in its poll and nowhere else: what callbacks do that the hub runs itself is cpu and blocked."""

from __future__ import annotations

import pytest

from both import Both, Seen, near

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

# What a program measures of its hub. call_back() is what the hub runs; nothing but a poll happens meanwhile.
MEASURED = """
from tools import *
def call_back():
    begin = monotonic()
    spent.append(works()); holds()
    took.append(monotonic() - begin)
def works(): return burn(0.05)
def holds(): time.sleep(0.03)
spent, took = [], []
def measure(wait):
    begin, cpu = monotonic(), thread_time()
    wait()
    whole = monotonic() - begin
    # Whatever else stole this thread's processor in the callback was "blocked", too.
    note("times", dict(cpu=sum(spent), blocked=sum(took) - sum(spent), idle=whole - sum(took), whole=whole))
    say(len(spent))
"""


def check(seen: Seen) -> None:
    """The one hub, with asyncio's task that it runs, has the callbacks' cpu and blocked, and was idle else; no callback
    was."""
    truth = seen.notes["times"]
    assert seen.said == [[2]]
    (hub,) = [task for task in seen.snapshot.tasks if task.hub]
    loop = [hub, *(task for task in seen.snapshot.tasks if "async_run" in task.entry)]
    assert near(sum(task.cpu for task in loop), truth["cpu"])
    assert near(sum(task.blocked for task in loop), truth["blocked"])
    assert near(hub.idle, truth["idle"])
    for kind in ("cpu", "blocked"):
        assert near(seen.total("call_back", kind), truth[kind])
    assert seen.total("call_back", "idle") == 0
    assert near(seen.total("works", "cpu"), truth["cpu"])
    # Others than the hub are not idle.
    assert seen.snapshot.totals.idle == pytest.approx(hub.idle, abs=1e-6)


@pytest.mark.parametrize("kind", ["timer", "callback", "io"])
def test_callbacks_of_gevents_loop(kind: str, both: Both) -> None:
    # GIVEN a gevent program whose loop calls functions in the hub: at a time, at once, or when a file can be read
    begin = {
        "timer": "watcher = hub.loop.timer(0.05, 0.05); watcher.start(call_back_twice)",
        "callback": "gevent.spawn_later(0.05, hub.loop.run_callback, call_back);"
        " gevent.spawn_later(0.2, hub.loop.run_callback, call_back)",
        "io": "ours, theirs = socket.socketpair(); watcher = hub.loop.io(ours.fileno(), 1);"
        " watcher.start(read); gevent.spawn_later(0.05, theirs.send, b'x'); gevent.spawn_later(0.2, theirs.send, b'x')",
    }[kind]
    seen = both(
        MEASURED
        + f"""
import gevent, socket
hub = gevent.get_hub()
def call_back_twice():
    call_back()
    if len(spent) == 2: watcher.stop()
def read(): ours.recv(1); call_back()
def wait(): gevent.sleep(0.4)
gevent.sleep(0)
start()
{begin}
measure(wait)
stop()
"""
    )
    # THEN what they do is no idle time
    check(seen)


@pytest.mark.parametrize(
    ("kind", "file", "builtins"),
    [
        ("epolls", False, False),
        ("epolls", True, False),
        ("epolls", True, True),
        ("poll", True, False),
        ("selects", False, True),
        ("selects", True, False),
        ("asyncio", True, False),
    ],
)
def test_callbacks_of_eventlets_hubs(kind: str, file: bool, builtins: bool, both: Both) -> None:
    # GIVEN an eventlet program with each kind of hub, which calls functions at a time; it polls for a file, or sleeps
    pytest.importorskip("eventlet", reason="eventlet does not work on this Python")
    seen = both(
        MEASURED
        + f"""
import warnings; warnings.simplefilter("ignore")
import eventlet, eventlet.hubs
eventlet.hubs.use_hub("{kind}")
from eventlet.green import socket
hub = eventlet.hubs.get_hub()
ours, theirs = socket.socketpair()
def reads(): ours.recv(1)
def wait(): eventlet.sleep(0.4)
eventlet.sleep(0)
if {file}: eventlet.spawn(reads); eventlet.sleep(0)
start(builtins={builtins})
hub.schedule_call_global(0.05, call_back)
hub.schedule_call_global(0.2, call_back)
measure(wait)
stop()
"""
    )
    # THEN what they do is no idle time
    check(seen)


def test_eventlets_hub_where_the_library_is_hidden(both: Both) -> None:
    # GIVEN an eventlet program of which eventlet itself is not shown
    pytest.importorskip("eventlet", reason="eventlet does not work on this Python")
    seen = both(
        MEASURED
        + """
import warnings; warnings.simplefilter("ignore")
import eventlet, eventlet.hubs
eventlet.hubs.use_hub("epolls")
hub = eventlet.hubs.get_hub()
def wait(): eventlet.sleep(0.4)
eventlet.sleep(0)
start(exclude="eventlet")
hub.schedule_call_global(0.05, call_back)
hub.schedule_call_global(0.2, call_back)
measure(wait)
stop()
"""
    )
    # THEN where the hub polls is known as ever
    check(seen)


@pytest.mark.parametrize("library", ["gevent", "eventlet", "asyncio"])
def test_started_by_another_thread_while_the_hub_polls(library: str, both: Both) -> None:
    # GIVEN a hub that polls for long, and profiling that another thread starts and stops meanwhile
    if library == "eventlet":
        pytest.importorskip("eventlet", reason="eventlet does not work on this Python")
    wait = {
        "gevent": "import gevent\ndef wait(): gevent.sleep(0.3)\ngevent.sleep(0)",
        "eventlet": "import eventlet\ndef wait(): eventlet.sleep(0.3)\neventlet.sleep(0)",
        "asyncio": "import asyncio\ndef wait(): asyncio.run(asyncio.sleep(0.3))",
    }[library]
    seen = both(
        f"""
from tools import *
import warnings; warnings.simplefilter("ignore")
{wait}
def other():
    time.sleep(0.1)
    start()
    begin = monotonic(); time.sleep(0.1); note("idle", monotonic() - begin)
    stop()
thread = threading.Thread(target=other)
thread.start()
wait()
thread.join()
"""
    )
    # THEN all of that time it was idle
    (hub,) = [task for task in seen.snapshot.tasks if task.hub]
    assert near(hub.idle, seen.notes["idle"])
    assert hub.blocked < 0.003
