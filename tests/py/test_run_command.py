"""`flamelet run`: its options, what it says, and what it does not do to a program it cannot run."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from running import FLAMELET, LIMIT, PYTHON, report_of, run, running

Write = Callable[..., Path]


@pytest.fixture
def program(write: Write) -> Path:
    return write(
        "program.py",
        """
        import time
        def burn(n):
            return sum(range(n))
        for _ in range(3): burn(20_000)
        print("done")
        """,
    )


@pytest.mark.parametrize("command", [FLAMELET, (*PYTHON, "-m", "flamelet")])
def test_without_options(command: tuple[str, ...], tmp_path: Path, program: Path) -> None:
    # WHEN a program runs
    finished = run(command, "run", program.name, cwd=tmp_path)
    # THEN the first line on standard error is the address, what follows is the summary, and the output is untouched
    first, *summary = finished.errors.splitlines()
    assert re.fullmatch(r"flamelet: http://127\.0\.0\.1:\d+/#t=[0-9a-f]{64}", first)
    assert summary[0].startswith("flamelet: program.py (")
    assert re.search(r"^ +3 .* burn  .*program\.py:3$", finished.errors, re.MULTILINE)
    assert (finished.out, finished.code) == (b"done\n", 0)
    # AND a healthy run has lost nothing
    assert "lost:" not in finished.errors
    # AND says that it saw threads only
    assert "greenlet is not in the process: the tasks are threads only" in summary


def test_recording(tmp_path: Path, program: Path) -> None:
    # WHEN a program is recorded
    finished = run(FLAMELET, "run", "--no-server", "-o", "out.flamelet", program.name, cwd=tmp_path)
    # THEN that is said in one line, instead of the summary
    assert finished.errors == "flamelet: recorded in out.flamelet (flamelet report out.flamelet)\n"
    # AND the recording tells what was called
    report = report_of(tmp_path / "out.flamelet")
    assert [row["calls"] for row in report["functions"] if row["name"] == "burn"] == [3]
    # AND nothing else is left in the folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.flamelet", "program.py"]


def test_summary_and_report_say_the_same(tmp_path: Path, program: Path) -> None:
    # GIVEN the summary of a run, and of a recording
    env = {"COLUMNS": "300"}
    summary = run(FLAMELET, "run", "--no-server", program.name, cwd=tmp_path, env=env).errors
    run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", program.name, cwd=tmp_path)
    report = run(FLAMELET, "report", "x.flamelet", cwd=tmp_path, env=env).text

    # THEN both have the same lines, but for the times
    def names(text: str) -> set[str]:
        return {line.split("  ")[-1] for line in text.splitlines() if "program.py:" in line}

    assert names(summary) == names(report)
    assert len(names(summary)) == 2


def test_recording_replaces_a_file_and_follows_a_link(tmp_path: Path, program: Path, write: Write) -> None:
    # GIVEN a file of that name, reached through a link
    write("old.flamelet", "old")
    (tmp_path / "link.flamelet").symlink_to("old.flamelet")
    # WHEN a recording is written there
    run(FLAMELET, "run", "--no-server", "-o", "link.flamelet", program.name, cwd=tmp_path)
    # THEN the file was replaced, and the link still is one
    assert report_of(tmp_path / "old.flamelet")["functions"]
    assert (tmp_path / "link.flamelet").is_symlink()


BAD = {
    "nothing to run": ([], "what is to be run"),
    "module without a name": (["-m"], "what is to be run"),
    "no such script": (["nowhere.py"], "can't open the script 'nowhere.py': No such file or directory"),
    "a folder": (["folder"], "can't run 'folder': there is no __main__ module in it"),
    "no such module": (["-m", "no_such_module"], "there is no module named 'no_such_module'"),
    "no such package": (["-m", "no_such.module"], "there is no module named 'no_such'"),
    "odd module": (["-m", ".relative"], "there is no module named ''"),
    "script with NUL": (["a\nb.py"], "can't open the script 'a\\nb.py': No such file or directory"),
    "port is no number": (["--port", "http", "program.py"], "'http' is not a number from 0 to 65535"),
    "port too large": (["--port", "65536", "program.py"], "'65536' is not a number from 0 to 65535"),
    "port below zero": (["--port=-1", "program.py"], "'-1' is not a number from 0 to 65535"),
    "threshold is no number": (["--threshold", "soon", "program.py"], "'soon' is not a number of seconds above 0"),
    "threshold of nothing": (["--threshold", "0", "program.py"], "'0' is not a number of seconds above 0"),
    "unknown task trees": (["--task-trees", "some", "program.py"], "invalid choice: 'some'"),
    "port misses": (["--port"], "expected one argument"),
    "unknown option": (["--fast", "program.py"], "unrecognized arguments: --fast"),
    "shortened option": (["--no-serv", "program.py"], "unrecognized arguments: --no-serv"),
    "port without server": (["--no-server", "--port", "80", "program.py"], "--port and --no-server exclude each other"),
    "open without server": (["--no-server", "--open", "program.py"], "--open and --no-server exclude each other"),
    "no such folder for the recording": (
        ["-o", "nowhere/x.flamelet", "program.py"],
        "can't write 'nowhere/x.flamelet': No such file or directory",
    ),
    "recording is a folder": (["-o", "folder", "program.py"], "can't write 'folder': it is not a regular file"),
    "recording is a device": (["-o", "/dev/null", "program.py"], "can't write '/dev/null': it is not a regular file"),
    "recording without a name": (["-o", "", "program.py"], "-o needs the name of a file"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_run(name: str, tmp_path: Path, program: Path, write: Write) -> None:
    # GIVEN a folder that is no program
    write("folder/other.py")
    arguments, message = BAD[name]
    # WHEN something is asked for that cannot be done
    finished = run(FLAMELET, "run", *arguments, cwd=tmp_path)
    # THEN one message says why, the exit code is 2, and the program did not run
    assert finished.code == 2
    assert message in finished.errors.splitlines()[-1]
    assert "Traceback" not in finished.errors
    assert finished.out == b""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_no_permission(tmp_path: Path, program: Path) -> None:
    # GIVEN a script that nobody may read, and a folder that nobody may write
    program.chmod(0)
    (tmp_path / "closed").mkdir(mode=0o500)
    # THEN both are told before anything runs
    assert "Permission denied" in run(FLAMELET, "run", "program.py", cwd=tmp_path).errors
    program.chmod(stat.S_IRUSR)
    assert "Permission denied" in run(FLAMELET, "run", "-o", "closed/x", "program.py", cwd=tmp_path).errors


def test_threshold_and_task_trees(tmp_path: Path, write: Write) -> None:
    # GIVEN a program with one slice of 40 ms
    write(
        "program.py",
        """
        import time
        def nap(): time.sleep(0.04)
        nap()
        """,
    )
    # WHEN the threshold is 20 ms, or a second, THEN the slice is listed, or not
    for threshold, count in (("0.02", 1), ("1", 0)):
        options = ("--threshold", threshold, "--task-trees=all", "-o", "out.flamelet")
        assert run(FLAMELET, "run", *options, "program.py", cwd=tmp_path).code == 0
        report = report_of(tmp_path / "out.flamelet")
        assert len(report["slices"]) == count
        assert report["about"]["threshold"] == float(threshold)


def test_port_in_use(tmp_path: Path, program: Path) -> None:
    # GIVEN a port on which somebody listens
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        # WHEN flamelet is to use it
        finished = run(FLAMELET, "run", "--port", str(port), program.name, cwd=tmp_path)
    # THEN it says so and what to do, and the program does not run
    assert finished.errors == f"flamelet: port {port} is in use: give another one, or none to take any that is free\n"
    assert (finished.out, finished.code) == (b"", 2)


def test_port_is_the_one_asked_for(tmp_path: Path, write: Write) -> None:
    # GIVEN a free port
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    write("waits.py", "import time\ntime.sleep(60)\n")
    # WHEN a program is served there
    with running(tmp_path, f"--port={port}", "waits.py") as live:
        # THEN somebody listens, on the loopback address alone
        assert live.port == port
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()
        listening = Path(f"/proc/{live.process.pid}/net/tcp").read_text(encoding="ascii")
        assert f" 0100007F:{port:04X} 00000000:0000 0A " in listening
        assert f" 00000000:{port:04X} " not in listening


def test_no_server_listens_nowhere(tmp_path: Path, write: Write) -> None:
    # GIVEN a program that lists its own sockets and threads
    write(
        "program.py",
        """
        import os
        print(sum("socket" in os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
                  if os.path.exists(f"/proc/self/fd/{n}") or os.path.islink(f"/proc/self/fd/{n}")))
        print(len(os.listdir("/proc/self/task")))
        """,
    )
    # WHEN it runs without a server
    finished = run(FLAMELET, "run", "--no-server", "program.py", cwd=tmp_path)
    # THEN it has no socket, no thread, and no address is printed
    assert finished.text.split() == ["0", "1"]
    assert "http" not in finished.errors


def test_open(tmp_path: Path, program: Path, write: Write) -> None:
    # GIVEN a browser that writes down what it was given, and a program that waits for all its children
    browser = write(
        "browser", '#!/bin/sh\ncp "${1#file://}" "$(dirname "$0")/page"; echo "$1" > "$(dirname "$0")/seen"\n'
    )
    browser.chmod(0o755)
    write(
        "waits.py",
        """
        import os, pathlib, time
        while not pathlib.Path("seen").exists(): time.sleep(0.05)
        try: print(os.wait())
        except ChildProcessError: print("no child")
        """,
    )
    # WHEN flamelet opens the live view
    finished = run(FLAMELET, "run", "--open", "waits.py", cwd=tmp_path, env={"BROWSER": f"{browser} %s"})
    # THEN the browser got a page that leads to the address, without the token on any command line
    url = finished.errors.splitlines()[0].removeprefix("flamelet: ")
    assert f'url={url}"' in (tmp_path / "page").read_text(encoding="utf-8")
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert seen.startswith("file:///")
    assert url.partition("#t=")[2] not in seen
    # AND it is no child of the program
    assert finished.out == b"no child\n"


def test_open_without_a_browser(tmp_path: Path, program: Path) -> None:
    # GIVEN a machine without a browser
    env = {"PATH": "/nowhere", "BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    # WHEN flamelet is to open one
    finished = run(FLAMELET, "run", "--open", program.name, cwd=tmp_path, env=env)
    # THEN it says so in one line, and the program runs
    assert "flamelet: no browser was found: open the address yourself\n" in finished.errors
    assert finished.out == b"done\n"


def test_full_disk(tmp_path: Path, program: Path, write: Write) -> None:
    # GIVEN a limit on the size of files, which strikes at the end as a full disk does
    limited = tmp_path / "limited.py"
    limited.write_text(
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        + program.read_text(encoding="utf-8")
        + "sys.exit(3)\n",
        encoding="utf-8",
    )
    # WHEN the recording cannot be written
    finished = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", limited.name, cwd=tmp_path)
    # THEN the program ends as ever, the reason is told, and the summary is printed instead
    assert (finished.out, finished.code) == (b"done\n", 3)
    assert f"flamelet: can't write 'x.flamelet': {os.strerror(errno.EFBIG)}; this is the summary" in finished.errors
    assert "burn" in finished.errors
    # AND nothing half done is left behind; what was written before the disk was full is kept, and told
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names in (["limited.py", "program.py"], ["limited.py", "program.py", "x.flamelet"])
    assert ("x.flamelet holds what was written before" in finished.errors) == ("x.flamelet" in names)
    if "x.flamelet" in names:
        assert run(FLAMELET, "report", "x.flamelet", cwd=tmp_path).code == 0


def test_recording_folder_vanishes(tmp_path: Path, write: Write) -> None:
    # GIVEN a program that removes the folder in which its recording is to be
    (tmp_path / "folder").mkdir()
    write("program.py", "import os\nos.rmdir('folder')\n")
    # WHEN it ends
    finished = run(FLAMELET, "run", "--no-server", "-o", "folder/x.flamelet", "program.py", cwd=tmp_path)
    # THEN that costs the recording, nothing else
    assert finished.code == 0
    assert "can't write 'folder/x.flamelet': No such file or directory" in finished.errors


@pytest.mark.parametrize(
    "redirect", ["os.dup2(os.open('mine', os.O_CREAT | os.O_WRONLY), 2)", "os.close(2); file = open('mine', 'x')"]
)
def test_file_with_the_number_of_standard_error(redirect: str, tmp_path: Path, write: Write) -> None:
    # GIVEN a program that puts a file of its own where standard error was
    write("program.py", f"import os\n{redirect}\nassert os.fstat(2).st_ino == os.stat('mine').st_ino\n")
    # WHEN it ends
    finished = run(FLAMELET, "run", "--no-server", "program.py", cwd=tmp_path)
    # THEN flamelet writes nothing into it
    assert finished.code == 0
    assert (tmp_path / "mine").read_bytes() == b""


@pytest.mark.parametrize("arguments", [["program.py"], ["nowhere.py"], ["--no-server", "program.py"]])
def test_no_standard_error_at_all(arguments: list[str], tmp_path: Path, program: Path) -> None:
    # GIVEN a program that is started without a standard error
    command = ["bash", "-c", 'exec "$0" run "$@" 2>&-', FLAMELET[0], *arguments]
    # WHEN it runs, or cannot run
    finished = run(command, cwd=tmp_path)
    # THEN nothing that belongs there turns up in its output
    assert finished.out in (b"done\n", b"")
    assert finished.code == (0 if finished.out else 2)


def test_greenlet_is_not_installed(tmp_path: Path, program: Path, write: Write) -> None:
    # GIVEN a Python without greenlet
    write("site/sitecustomize.py", "import sys\nsys.modules['greenlet'] = None\n")
    # WHEN a program runs that would use it where it is there
    write("tries.py", "try: import greenlet\nexcept ImportError: print('no greenlet')\nimport program\n")
    finished = run(FLAMELET, "run", "tries.py", cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")})
    # THEN it runs, its threads are profiled, and the summary says that this is all
    assert (finished.text, finished.code) == ("no greenlet\ndone\n", 0)
    assert "greenlet is not in the process: the tasks are threads only" in finished.errors
    assert "burn" in finished.errors


def test_stack_of_5000_frames(tmp_path: Path, write: Write) -> None:
    # GIVEN a program that goes deep
    write(
        "program.py",
        """
        import sys
        sys.setrecursionlimit(6000)
        def down(n):
            return down(n - 1) if n else 1
        down(5000)
        """,
    )
    # WHEN it is recorded
    run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    # THEN each call is there, once; below it are at most collections (3.11 makes a frame object for each call)
    report = report_of(tmp_path / "x.flamelet")
    (index,) = [i for i, row in enumerate(report["functions"]) if row["name"] == "down"]
    row = report["functions"][index]
    callees = [edge for edge in report["edges"] if edge["caller"] == index and edge["callee"] != index]
    assert row["calls"] == 5001
    assert all("collection" in report["functions"][edge["callee"]]["name"] for edge in callees)
    assert row["total_cpu"] == pytest.approx(row["own_cpu"] + sum(edge["total_cpu"] for edge in callees))
    assert set(report["lost"].values()) == {0}


def test_builtins(tmp_path: Path, write: Write) -> None:
    # GIVEN a program that calls functions written in C
    write("program.py", "def f():\n    return sorted([3, 1, 2])\nfor _ in 'abcde': f()\n")
    # WHEN it runs with and without --builtins
    run(FLAMELET, "run", "--no-server", "--builtins", "-o", "with.flamelet", "program.py", cwd=tmp_path)
    run(FLAMELET, "run", "--no-server", "-o", "without.flamelet", "program.py", cwd=tmp_path)

    # THEN they are seen with it only
    def calls(file: str) -> dict[str, int]:
        rows = report_of(tmp_path / file)["functions"]
        # But for the sys.exit() with which pip's start script ends.
        return {row["qualname"]: row["calls"] for row in rows if row["name"] != "exit"}

    assert calls("with.flamelet") == {"<module>": 1, "f": 5, "sorted": 5}
    assert calls("without.flamelet") == {"<module>": 1, "f": 5}


@pytest.mark.parametrize("clock", ["tsc+rseq", "tsc+short", "monotonic+rseq", "monotonic+short"])
def test_forced_clocks(clock: str, tmp_path: Path, program: Path) -> None:
    # WHEN both clocks are forced
    wall, cpu = clock.split("+")
    env = {"FLAMELET_CLOCK": wall, "FLAMELET_CPU_CLOCK": cpu}
    finished = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", program.name, cwd=tmp_path, env=env)
    # THEN the report names them, unless this machine does not have them, which is told at once
    if finished.code == 0:
        assert report_of(tmp_path / "x.flamelet")["clock"] == clock
    else:
        assert finished.code == 2
        assert "does not exist on this machine" in finished.errors
        assert finished.out == b""


@pytest.mark.parametrize("name", ["FLAMELET_CLOCK", "FLAMELET_CPU_CLOCK"])
def test_wrong_clock(name: str, tmp_path: Path, program: Path) -> None:
    # WHEN a clock is forced that there is none of
    finished = run(FLAMELET, "run", program.name, cwd=tmp_path, env={name: "sundial"})
    # THEN the message names the variable and what it can be
    assert re.fullmatch(rf"flamelet: {name} is 'sundial'; it can be auto, \w+ or \w+\n", finished.errors)
    assert (finished.out, finished.code) == (b"", 2)


def test_threads_that_outlive_main_and_exit_handlers_are_seen(tmp_path: Path, write: Write) -> None:
    # GIVEN a program whose work goes on behind its main code
    write(
        "program.py",
        """
        import atexit, threading, time
        def in_thread():
            time.sleep(0.2); helper()
        def helper(): pass
        @atexit.register
        def at_exit(): helper()
        threading.Thread(target=in_thread, name="late").start()
        """,
    )
    # WHEN it ends
    run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    # THEN all of it is in the recording
    report = report_of(tmp_path / "x.flamelet")
    assert {row["qualname"]: row["calls"] for row in report["functions"] if row["file"].endswith("program.py")} == {
        "<module>": 1,
        "in_thread": 1,
        "helper": 2,
        "at_exit": 1,
    }
    assert "late" in {row["name"] for row in report["threads"]}
    assert report["about"]["state"] == "ended"
    assert report["about"]["complete"] is True


def test_help_and_version(tmp_path: Path) -> None:
    # THEN help tells each option and the exit codes; the version is that of the package
    text = run(FLAMELET, "run", "--help", cwd=tmp_path).text
    for word in (
        "--port",
        "-o",
        "--no-server",
        "--open",
        "--builtins",
        "-m MODULE",
        "Exit code 2",
        "FLAMELET_CPU_CLOCK",
    ):
        assert word in text
    import flamelet

    assert run(FLAMELET, "--version", cwd=tmp_path).text == f"flamelet {flamelet.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["--fast"]])
def test_no_or_unknown_command(arguments: list[str], tmp_path: Path) -> None:
    # WHEN there is no such command
    finished = run(FLAMELET, *arguments, cwd=tmp_path)
    # THEN the usage is shown
    assert finished.code == 2
    assert finished.errors.startswith("usage: flamelet")


def test_a_long_run_answers_at_once(tmp_path: Path, program: Path) -> None:
    # WHEN a short program runs
    begin = time.monotonic()
    run(FLAMELET, "run", program.name, cwd=tmp_path)
    # THEN neither start nor end wait for anything
    assert time.monotonic() - begin < 5
    assert sys.version_info >= (3, 11)
