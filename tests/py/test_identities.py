"""Do the sums hold, whatever the program? A thread's cpu + blocked + idle is its wall time, its cpu is the kernel's,
and a task's cpu + blocked + idle + waited is its lifetime: within 1 %, or 2 ms, of clocks that it reads itself.

Each program runs on both CPU clocks, on a quiet machine and beside as many busy processes as there are processors.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flamelet.recording import read_recording
from flamelet.snapshots import Snapshot, Task, make_snapshot
from running import PYTHON, recorded, run

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

Write = Callable[..., Path]

TOOLS = '''
import json, sys, time, warnings
from time import monotonic, thread_time
warnings.simplefilter("ignore")
import flamelet

def clocks():
    "Wall and CPU time of one moment: read again where the thread lost its processor in between."
    while True:
        before = monotonic(); cpu = thread_time(); after = monotonic()
        if after - before < 50e-6: return before, cpu

def scheduler():
    "What the scheduler says of this thread: on the processor, behind by up to a tick, and ready to run without one."
    with open("/proc/thread-self/schedstat") as file: return [int(word) / 1e9 for word in file.read().split()[:2]]

truth = {"functions": {}, "threads": {}, "labels": {}}

class Meter:
    "What a task takes by clocks of its own: out() before it is switched away from, back() after, end() at its end."
    blocked = 0.0  # of all of them
    def __init__(self):
        self.cpu = self.held = 0.0
        self.delay = scheduler()[1]
        self.begin, _ = self.since = clocks()
    def out(self):
        wall, cpu = clocks()
        self.held += wall - self.since[0]; self.cpu += cpu - self.since[1]
    def back(self): self.since = clocks()
    def end(self, kind, name):
        self.out()
        sums = truth[kind].setdefault(name, dict(cpu=0.0, held=0.0, wall=0.0, delay=0.0))
        wall = clocks()[0] - self.begin
        Meter.blocked += self.held - self.cpu
        sums["cpu"] += self.cpu; sums["held"] += self.held; sums["wall"] += wall
        sums["delay"] += scheduler()[1] - self.delay

def burn(seconds):
    begin = thread_time()
    for i in range(1, 11): step(begin + seconds * i / 10)
def step(until):
    while thread_time() < until: pass

def measured(program, hub=False, **options):
    """Profiles program(), and prints what the clocks said: of what is profiled at least, and at most.

    hub: the main thread has one, and all that blocks it is metered.
    """
    flamelet.start(**options); flamelet.stop()
    (before,) = [row for row in flamelet.snapshot().threads if row.name == "MainThread"]
    (kernel, delay), outer = scheduler(), clocks()
    flamelet.start(**options)
    inner = clocks()
    program()
    inner_end = clocks()
    flamelet.stop()
    outer_end, (kernel_end, delay_end) = clocks(), scheduler()
    truth["main"] = dict(
        before=[before.cpu, before.blocked, before.cpu + before.blocked + before.idle],
        wall=[inner_end[0] - inner[0], outer_end[0] - outer[0]],
        cpu=[inner_end[1] - inner[1], outer_end[1] - outer[1]],
        kernel=kernel_end - kernel,
        delay=delay_end - delay,
    )
    if hub: truth["main"]["blocked"] = Meter.blocked
    json.dump(truth, sys.stdout)
'''

HUB = """
from tools import *
{imports}
def task(name, turn):
    meter = Meter()
    for i in range(5):
        turn(i)
        meter.out(); {sleep}(0.005 + 0.002 * (i % 3)); meter.back()
    meter.end("functions", name)
def burns(): task("burns", lambda i: burn(0.02))
def blocks(): task("blocks", lambda i: time.sleep(0.015))
def mixes(): task("mixes", lambda i: (burn(0.004), time.sleep(0.004)))
def puts():
    begin = monotonic()
    for i in range(400): queue.put(i)
    truth["functions"]["puts"] = dict(wall=monotonic() - begin)
def takes():
    begin = monotonic()
    for i in range(400): queue.get(); sum(range(500))
    truth["functions"]["takes"] = dict(wall=monotonic() - begin)
def program():
    meter = Meter()
    tasks = [{spawn}(function) for function in (burns, blocks, mixes, puts, takes)]
    meter.out()
    {join}
    meter.back(); meter.end("functions", "program")
queue = {queue}
{sleep}(0)
measured(program, hub=True)
"""

GEVENT = HUB.format(
    imports="import gevent, gevent.queue",
    sleep="gevent.sleep",
    spawn="gevent.spawn",
    join="gevent.joinall(tasks)",
    queue="gevent.queue.Queue(3)",
)

EVENTLET = HUB.format(
    imports="import eventlet, eventlet.queue",
    sleep="eventlet.sleep",
    spawn="eventlet.spawn",
    join="for task in tasks: task.wait()",
    queue="eventlet.queue.LightQueue(3)",
)

THREADS = """
from tools import *
import threading
from greenlet import getcurrent, greenlet
def switching(seconds):
    # Greenlets of this thread take turns, and compete with the other threads for the interpreter's lock.
    main = getcurrent()
    def turn():
        for _ in range(10):
            burn(seconds / 20); time.sleep(0.002); main.switch()
    tasks = [greenlet(turn), greenlet(turn)]
    while any(not task.dead for task in tasks):
        for task in tasks: task.switch()
def counted(name, seconds):
    meter = Meter(); switching(seconds); meter.end("threads", name)
def one(): counted("one", 0.06)
def two(): counted("two", 0.10)
def lazy():
    # What the meter itself takes, with the interpreter's lock lost in it, is not part of it.
    meter = Meter(); naps(); meter.end("functions", "naps")
def naps():
    for _ in range(10): time.sleep(0.01)
def program():
    threads = [threading.Thread(target=function, name=function.__name__) for function in (one, two, lazy)]
    begin = monotonic()
    for thread in threads: thread.start()
    burn(0.05)
    for thread in threads: thread.join()
    for name in ("one", "two"): truth["threads"][name]["longest"] = monotonic() - begin
measured(program)
"""

ASYNCIO = """
from tools import *
import asyncio
async def task(name, turn):
    meter = Meter()
    for i in range(6):
        turn(i)
        meter.out(); await asyncio.sleep(0.004 + 0.003 * (i % 2)); meter.back()
    meter.end("functions", name)
async def burns(): await task("burns", lambda i: burn(0.02))
async def blocks(): await task("blocks", lambda i: time.sleep(0.015))
async def mixes(): await task("mixes", lambda i: (burn(0.004), time.sleep(0.004)))
async def asks():
    meter = Meter()
    for i in range(200):
        answer = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(answer.set_result, i)
        meter.out(); await answer; meter.back()
        sum(range(1000))
    meter.end("functions", "asks")
async def main(): await asyncio.gather(burns(), blocks(), mixes(), asks())
measured(lambda: asyncio.run(main()), hub=True)
"""

GENERATORS = """
from tools import *
def stage(work, name, seconds=0.05):
    meter = Meter(); begin = thread_time()
    while thread_time() - begin < seconds: work()
    meter.end("functions", name)
def numbers(n):
    for i in range(n): yield i
def squares(n):
    for i in numbers(n): yield i * i
def tree(depth):
    if depth:
        yield from tree(depth - 1)
        yield depth
        yield from tree(depth - 1)
def key(n): return -n
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def nested(): stage(lambda: sum(x for x in squares(50) if x % 3), "nested")
def delegates(): stage(lambda: sum(tree(6)), "delegates")
def sorts(): stage(lambda: sorted(numbers(60), key=key), "sorts")
def recurses(): stage(lambda: fib(8), "recurses")
def program(): nested(); delegates(); sorts(); recurses()
measured(program)
"""

SWITCHES = """
from tools import *
from greenlet import getcurrent, greenlet
main = getcurrent()
def pings():
    while True: pong.switch()
def pongs():
    global turns
    while thread_time() < until: ping.switch(); turns += 1
ping, pong, turns = greenlet(pings), greenlet(pongs), 0
ping.parent = pong.parent = main
def program():
    global until
    until = thread_time() + 0.25
    pong.switch()
    truth["turns"] = turns
measured(program)
"""

LABELS = """
from tools import *
import gevent
def request(n):
    with flamelet.label("even" if n % 2 == 0 else "odd"): handle(n)
def handle(n):
    meter = Meter()
    for i in range(2):
        burn(0.015 + 0.01 * (n % 2)); time.sleep(0.005)
        meter.out(); gevent.sleep(0.001); meter.back()
    meter.end("labels", "even" if n % 2 == 0 else "odd")
def program(): gevent.joinall([gevent.spawn(request, n) for n in range(6)])
gevent.sleep(0)
measured(program, task_trees={trees!r})
"""

PROGRAMS = {
    "gevent": GEVENT,
    "eventlet": EVENTLET,
    "threads": THREADS,
    "asyncio": ASYNCIO,
    "generators": GENERATORS,
    "switches": SWITCHES,
    "labels": LABELS.format(trees="watched"),
    "labels-own-trees": LABELS.format(trees="all"),
}

NEEDS = {"eventlet": "eventlet"}

# Seconds by which the scheduler's count may differ: at each end of what is measured it is behind by up to a tick.
SCHEDULER = 0.010

BUSY = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """So many busy processes. They end with the block, and by themselves after half a minute."""
    processes = [subprocess.Popen([*PYTHON, "-S", "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def complaints(snapshot: Snapshot, truth: Mapping[str, Any]) -> list[str]:
    """Where the recording and the program's own clocks differ.

    A task loses its processor also between its switches and its own readings: that only the recording has. So what is
    blocked may differ by as much as the scheduler says that the thread had to wait for a processor.
    """
    wrong: list[str] = []

    def compare(what: str, value: float, low: float, high: float | None = None, slack: float = 0.002) -> None:
        high = low if high is None else high
        if not low - max(0.01 * low, slack) <= value <= high + max(0.01 * high, slack):
            wrong.append(f"{what}: found {value:.6f}, truth {low:.6f} to {high:.6f}")

    def of_main(times: Mapping[str, Any]) -> None:
        (row,) = [row for row in snapshot.threads if row.name == "MainThread"]
        tasks = [task for task in snapshot.tasks if task.thread == row.id]
        cpu, blocked, whole = times["before"]
        compare("main thread: cpu + blocked + idle", row.cpu + row.blocked + row.idle - whole, *times["wall"])
        of_tasks = sum(task.cpu + task.blocked + task.idle for task in tasks)
        compare("main thread's tasks: cpu + blocked + idle", of_tasks - whole, *times["wall"])
        compare("main thread: cpu", row.cpu - cpu, *times["cpu"])
        compare("main thread's tasks: cpu", sum(task.cpu for task in tasks) - cpu, *times["cpu"])
        compare("main thread: cpu by the scheduler", row.cpu - cpu, times["kernel"], slack=SCHEDULER)
        if "blocked" in times:
            compare("main thread: blocked", row.blocked - blocked, times["blocked"], slack=0.002 + times["delay"])

    def of_thread(name: str, times: Mapping[str, float]) -> None:
        (row,) = [row for row in snapshot.threads if row.name == name]
        compare(f"thread {name}: cpu", row.cpu, times["cpu"])
        whole = row.cpu + row.blocked + row.idle
        compare(f"thread {name}: cpu + blocked + idle", whole, times["wall"], times["longest"])

    def of_function(name: str, times: Mapping[str, float]) -> None:
        (row,) = [row for row in snapshot.functions if row.name == name]
        held = row.total_cpu + row.total_blocked + row.total_idle
        compare(f"{name}: cpu + blocked + idle + waited", held + row.total_waited, times["wall"])
        if "cpu" in times:
            compare(f"{name}: cpu", row.total_cpu, times["cpu"])
            compare(f"{name}: cpu + blocked + idle", held, times["held"], slack=0.002 + times["delay"])

    def of_task(task: Task, times: Mapping[str, float]) -> None:
        held = task.cpu + task.blocked + task.idle
        compare(f"task {task.entry}: cpu + blocked + idle + waited", held + task.waited, times["wall"])
        compare(f"task {task.entry}: lifetime", task.lifetime, times["wall"])
        if "cpu" in times:
            compare(f"task {task.entry}: cpu", task.cpu, times["cpu"])
            compare(f"task {task.entry}: cpu + blocked + idle", held, times["held"], slack=0.002 + times["delay"])

    def of_label(label: str, times: Mapping[str, float]) -> None:
        groups = [group for group in snapshot.groups if group.label == label]
        held = sum(group.cpu + group.blocked + group.idle for group in groups)
        compare(f"label {label}: cpu", sum(group.cpu for group in groups), times["cpu"])
        compare(f"label {label}: cpu + blocked + idle", held, times["held"], slack=0.002 + times["delay"])

    of_main(truth["main"])
    for name, times in truth["threads"].items():
        of_thread(name, times)
    for name, times in truth["functions"].items():
        of_function(name, times)
        for task in snapshot.tasks:
            if task.entry == name:
                of_task(task, times)
    for label, times in truth["labels"].items():
        of_label(label, times)
    return wrong


@pytest.mark.parametrize("load", ["quiet", "busy"])
@pytest.mark.parametrize("clock", ["rseq", "short"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_identities(program: str, clock: str, load: str, write: Write, tmp_path: Path) -> None:
    # GIVEN a program that reads its own clocks around what is profiled, and around each piece of its tasks
    if program in NEEDS:
        pytest.importorskip(NEEDS[program], reason=f"{NEEDS[program]} does not work on this Python")
    write("tools.py", TOOLS)
    write("program.py", PROGRAMS[program])
    env = {**recorded(tmp_path), "FLAMELET_CPU_CLOCK": clock}
    wrong: list[str] = []
    with neighbours(os.cpu_count() or 1 if load == "busy" else 0):
        # A program that loses its processor between a reading of its clock and what it measures is wrong itself, by the
        # length of somebody else's turn. So it gets three tries; whoever measures wrong is wrong each time.
        for _ in range(3):
            # WHEN it runs
            finished = run(PYTHON, "program.py", cwd=tmp_path, env=env)
            assert (finished.errors, finished.code) == ("", 0)
            recording = max(tmp_path.glob("*.flamelet"), key=lambda file: file.stat().st_mtime_ns)
            snapshot = make_snapshot(read_recording(str(recording)))
            wrong = complaints(snapshot, json.loads(finished.out))
            if not wrong:
                break
    # THEN all sums are those of its clocks
    assert wrong == []
    assert snapshot.clock.endswith("+" + clock)
    assert not any(snapshot.lost.values()), snapshot.lost
