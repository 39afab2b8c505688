"""Forks, the end of the interpreter, memory at its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from both import Both
from running import PYTHON, recorded, run

trap = pytest.mark.trap
Write = Callable[..., Path]


@trap(29)
@pytest.mark.parametrize("how", ["os.fork", "gevent.os.fork", "multiprocessing"])
def test_a_fork_while_greenlets_are_parked(both: Both, how: str) -> None:
    # GIVEN a profiled program that forks with parked greenlets, which go on in both processes
    fork = {
        "os.fork": "os.fork() or (child(), os._exit(0))",
        "gevent.os.fork": "gevent.os.fork() or (child(), os._exit(0))",
        "multiprocessing": "multiprocessing.get_context('fork').Process(target=child).start()",
    }[how]
    seen = both(
        f"""
        import warnings; warnings.simplefilter("ignore")
        from tools import *
        import gevent, gevent.os, gevent.event, multiprocessing
        event = gevent.event.Event()
        def worker(): leaf(); event.wait(); leaf()
        def leaf(): pass
        def finish(): event.set(); gevent.joinall(tasks)
        def child(): finish(); os.write(write_end, b"child: %d" % sum(task.successful() for task in tasks))
        read, write_end = os.pipe()
        start()
        tasks = [gevent.spawn(worker) for _ in range(5)]
        gevent.sleep(0)
        {fork}
        say(os.read(read, 100).decode())
        finish()
        stop()
        say(sum(task.successful() for task in tasks))
        """
    )
    # THEN the child works as ever, and the parent's numbers are its own
    assert seen.said == [["child: 5"], [5]]
    paths = seen.paths()
    assert (paths["worker",], paths["worker", "leaf"], paths["<module>", "finish"]) == (5, 10, 1)
    assert seen.states()["worker"] == ["ended"] * 5


@trap(29)
def test_gevents_subprocess_while_profiled(both: Both) -> None:
    # GIVEN a program that runs others through gevent's subprocess, with its hub going on
    seen = both(
        """
        from tools import *
        import gevent
        from gevent import subprocess
        def run(n): return subprocess.check_output([sys.executable, "-c", f"print({n})"]).strip().decode()
        def ticks():
            while not done: tick(); gevent.sleep(0.005)
        def tick(): pass
        done = []
        start()
        ticker = gevent.spawn(ticks)
        jobs = [gevent.spawn(run, n) for n in range(3)]
        gevent.joinall(jobs); done.append(1); ticker.join()
        stop()
        say([job.value for job in jobs])
        """
    )
    # THEN it gets their output
    assert seen.said == [[["0", "1", "2"]]]
    assert seen.calls["run"] == 3
    assert seen.calls["tick"] >= 2


@trap(37)
@pytest.mark.parametrize("threads", ["", "daemon threads that go on"])
def test_the_interpreter_ends_with_the_server_alive(threads: str, tmp_path: Path, write: Write) -> None:
    # GIVEN a program that ends while it is served and profiled, its greenlets parked, finalisers still to run
    write(
        "program.py",
        f"""
        import atexit, gevent, gevent.event, sys, threading, time
        import flamelet
        class Late:
            def __del__(self): after()
        def after(): return [1]
        def worker():
            try: event.wait()
            finally: after()
        def spin():
            while True: after()
        event, late = gevent.event.Event(), Late()
        sys.late = Late()
        atexit.register(after)
        flamelet.start(serve=True)
        for _ in range(2 if {bool(threads)} else 0): threading.Thread(target=spin, daemon=True).start()
        tasks = [gevent.spawn(worker) for _ in range(10)]
        gevent.sleep(0.05)
        print("done")
        """,
    )
    # WHEN it comes to its end, several times
    for _ in range(5):
        finished = run(PYTHON, "program.py", cwd=tmp_path, env=recorded(tmp_path))
        # THEN it ends as without us
        assert (finished.text, finished.errors, finished.code) == ("done\n", "", 0)


@trap(38)
def test_a_sampler_at_a_million_switches_a_second() -> None:
    pytest.skip("trap 38 is of the sampler, which is not built yet")


@trap(41)
def test_memory_for_nodes_and_tasks_is_at_its_end(both: Both) -> None:
    # GIVEN a program whose address space is bounded while it makes more paths and greenlets than fit
    seen = both(
        """
        from tools import *
        import resource
        from greenlet import getcurrent, greenlet
        main = getcurrent()
        def worker(n): down(n); main.switch(n)
        def down(n):
            if n: (down if n & 1 else other)(n >> 1)
        def other(n):
            if n: (down if n & 1 else other)(n >> 1)
        start()
        size = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (size + (48 << 20), resource.RLIM_INFINITY))
        total = 0
        for n in range(1 << 14): total += greenlet(worker).switch(n)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        stop()
        say(total)
        """,
        lost=("events", "tasks", "threads", "strings", "unmatched"),
    )
    # THEN it does the same, and what found no room was counted, if anything
    assert seen.said == [[(1 << 14) * ((1 << 14) - 1) // 2]]
