"""A program that never comes to its end: what it did until about a second before is in the recording."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from running import FLAMELET, LIMIT, environment, report_of, run

Write = Callable[..., Path]

# What was written until a moment depends on who had the processor.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

# Counts its calls, and says after each hundredth of a second how many there were.
PROGRAM = """
    import os, sys, time
    def tick(): pass
    def work(seconds):
        end = time.monotonic() + seconds
        ticks = 0
        while time.monotonic() < end:
            tick()
            ticks += 1
            print(time.monotonic(), ticks, flush=True)
            time.sleep(0.01)
    {before}
    work({seconds})
    {after}
"""


def record(tmp_path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said_until(output: str, moment: float) -> int:
    """How many calls there had been then, as the program itself says."""
    lines = [line.split() for line in output.splitlines() if line.count(" ") == 1]
    return max((int(ticks) for when, ticks in lines if float(when) <= moment), default=0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_that_ends_it_at_once(write: Write, tmp_path: Path, number: signal.Signals) -> None:
    # GIVEN a program that has run for some seconds
    write("program.py", PROGRAM.format(before="", seconds=60, after=""))
    with record(tmp_path) as process:
        time.sleep(3.5)
        # WHEN it is killed
        killed = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == -number
    # THEN the recording holds all that was two seconds before, says that the end is missing, and nothing else is left
    report = report_of(tmp_path / "x.flamelet")
    calls = {row["qualname"]: row["calls"] for row in report["functions"]}
    assert said_until(out, killed - 2) <= calls["tick"] <= said_until(out, killed) + 1
    assert calls["tick"] > 20
    assert report["about"]["complete"] is False
    assert err == ""
    assert sorted(os.listdir(tmp_path)) == ["program.py", "x.flamelet"]


def test_os_exit(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that leaves by os._exit()
    write("program.py", PROGRAM.format(before="", seconds=2.5, after="os._exit(7)"))
    with record(tmp_path) as process:
        out, err = process.communicate(timeout=LIMIT)
    # THEN its exit code is its own, and the recording goes up to two seconds before at least
    assert (process.returncode, err) == (7, "")
    last = float(out.splitlines()[-1].split()[0])
    calls = {row["qualname"]: row["calls"] for row in report_of(tmp_path / "x.flamelet")["functions"]}
    assert calls["tick"] >= said_until(out, last - 2) > 0


def test_a_blocked_hub_is_recorded_too(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that holds the GIL in C for as long as it lives
    program = """
        import re, time
        def before(): time.sleep(0.01)
        def holds_everything(): re.match(r"(a+)+$", "a" * 60 + "b")
        for _ in range(10): before()
        holds_everything()
    """
    write("program.py", program)
    with record(tmp_path) as process:
        time.sleep(3.5)
        process.kill()
        process.communicate(timeout=LIMIT)
    # THEN the recording tells who did it, with the time up to then
    rows = {row["qualname"]: row for row in report_of(tmp_path / "x.flamelet")["functions"]}
    assert rows["before"]["calls"] == 10
    held = rows["holds_everything"]
    assert held["total_cpu"] + held["total_blocked"] >= 0.8


def test_a_disk_that_fills_up(write: Write, tmp_path: Path) -> None:
    # GIVEN a program whose recording may not grow far (as on a full disk, but for the error)
    lines = "\n".join(f"        def f{i}(): pass" for i in range(300))
    write(
        "program.py",
        f"""
        import resource, sys, time
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
{lines}
        for i in range(300): globals()[f"f{{i}}"]()
        time.sleep(1.5)
        print("done")
        sys.exit(5)
        """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    # THEN the program notices nothing, and the user is told at its end, with a summary instead
    assert (done.out, done.code) == (b"done\n", 5)
    assert "can't write 'x.flamelet': File too large" in done.errors
    assert "f299" in done.errors or "<module>" in done.errors


def test_forks_of_a_recorded_program_are_quiet(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that forks again and again, all warnings being shown
    write(
        "program.py",
        """
        import os, time, warnings
        warnings.simplefilter("always")
        def child(): os._exit(0)
        def hook(): sorted(map(str, range(10)))
        os.register_at_fork(before=hook, after_in_parent=hook, after_in_child=hook)
        for _ in range(30):
            pid = os.fork()
            if pid == 0: child()
            os.waitpid(pid, 0)
            time.sleep(0.01)
        print("forked")
        """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    # THEN nobody warns, and the parent's recording is whole
    assert (done.out, done.without_our_lines().err, done.code) == (b"forked\n", b"", 0)
    report = report_of(tmp_path / "x.flamelet")
    assert report["about"]["complete"] is True
    assert sorted(os.listdir(tmp_path)) == ["program.py", "x.flamelet"]
