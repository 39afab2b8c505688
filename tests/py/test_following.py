"""Children that a program forks under `flamelet run`: each is a process of its own, and its parent says where."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flamelet.recording import read_recording
from live_client import LiveClient
from running import FLAMELET, LIMIT, report_of, run, running

Write = Callable[..., Path]

# Whether a child lived for a second depends on who had the processor.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

WORK = """
    import os, sys, time
    def tick(): pass
    def work(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end: tick(); time.sleep(0.01)
"""


def recordings(folder: Path) -> dict[int, Path]:
    """Of children, by pid."""
    return {int(file.name.split(".")[1]): file for file in folder.glob("x.*.flamelet")}


def calls(file: Path) -> dict[str, int]:
    return {row["qualname"]: row["calls"] for row in report_of(file)["functions"]}


def processes(port: int, token: str) -> list[dict[str, Any]]:
    with LiveClient(port) as client:
        client.answer_to(client.initialize(token))
        answer = client.answer_to(client.send("flamelet/processes"))
    assert answer["success"], answer
    listed: list[dict[str, Any]] = answer["body"]["processes"]
    return listed


@pytest.mark.parametrize("end", ["sys.exit(3)", "os._exit(3)"])
def test_a_child_that_lives_for_a_second_has_a_recording(write: Write, tmp_path: Path, end: str) -> None:
    # GIVEN a program that forks a child which works, and one that is over at once
    write(
        "program.py",
        WORK
        + f"""
    def of_the_child(): work(3)
    def of_the_parent(): pass
    if os.fork() == 0: os._exit(0)
    pid = os.fork()
    if pid == 0:
        of_the_child()
        {end}
    of_the_parent()
    print(pid, os.waitpid(pid, 0)[1] >> 8, os.wait()[1])
    """,
    )
    # WHEN it runs under flamelet
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    pid, code, other = map(int, done.text.split())
    # THEN the child ends as it would, and says nothing; its parent says where the recording is
    assert (code, other, done.code) == (3, 0, 0)
    assert done.errors.splitlines() == [
        "flamelet: recorded in x.flamelet (flamelet report x.flamelet)",
        f"flamelet: recorded a child process in x.{pid}.flamelet",
    ]
    # AND it has what the child did from the fork on, not what its parent did; so has the parent's
    assert list(recordings(tmp_path)) == [pid]
    of_child, of_parent = calls(recordings(tmp_path)[pid]), calls(tmp_path / "x.flamelet")
    assert of_child["of_the_child"] == of_child["work"] == 1
    assert of_child["<module>"] == 0  # entered before the start
    assert "of_the_parent" not in of_child
    assert "of_the_child" not in of_parent
    assert of_parent["of_the_parent"] == 1
    # AND with the interpreter's end it is whole; without, the last second or two may be missing
    recorded = read_recording(str(recordings(tmp_path)[pid]))
    assert (recorded.about.program, recorded.complete) == ("program.py", end.startswith("sys"))
    assert recorded.about.pid == pid
    assert of_child["tick"] > 50
    assert sorted(os.listdir(tmp_path)) == sorted(["program.py", "x.flamelet", f"x.{pid}.flamelet"])


@pytest.mark.parametrize(("mode", "count"), [("auto", 0), ("always", 2), ("never", 0)])
def test_follow_fork_says_which_children(write: Write, tmp_path: Path, mode: str, count: int) -> None:
    # GIVEN a program of children that live shortly
    write(
        "program.py",
        WORK
        + """
    def short(): work(0.05)
    for _ in range(2):
        if os.fork() == 0: short(); sys.exit()
    os.wait(), os.wait()
    """,
    )
    # WHEN it runs with --follow-fork THEN each has a recording, or none has
    done = run(FLAMELET, "run", "--no-server", f"--follow-fork={mode}", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    assert done.code == 0
    assert len(recordings(tmp_path)) == count
    assert [calls(file)["short"] for file in recordings(tmp_path).values()] == [1] * count
    assert ("recorded 2 child processes in x." in done.errors) is (count == 2)


def test_never_follows_no_child_that_lives_long(write: Write, tmp_path: Path) -> None:
    # GIVEN a child of some seconds WHEN nobody is to be followed THEN nothing of it is written
    write("program.py", WORK + "    if os.fork() == 0: work(2.5); sys.exit()\n    os.wait()\n")
    arguments = ("run", "--no-server", "--follow-fork", "never", "-o", "x.flamelet", "program.py")
    done = run(FLAMELET, *arguments, cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["program.py", "x.flamelet"]
    assert len(done.errors.splitlines()) == 1


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_children_of_multiprocessing(write: Write, tmp_path: Path, method: str) -> None:
    # GIVEN a child of multiprocessing, which ends without the interpreter's end
    write(
        "program.py",
        WORK
        + f"""
    import multiprocessing
    def goal(): work(1.8); last()
    def last(): pass
    if __name__ == "__main__":
        process = multiprocessing.get_context("{method}").Process(target=goal)
        process.start()
        process.join()
        print(process.pid, process.exitcode)
    """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    pid, code = map(int, done.text.split())
    assert (code, done.code, done.without_our_lines().err) == (0, 0, b"")
    # THEN one that was forked has a whole recording, its last call included; a program that is started anew, none
    assert list(recordings(tmp_path)) == ([pid] if method == "fork" else [])
    if method == "fork":
        assert read_recording(str(recordings(tmp_path)[pid])).complete
        assert calls(recordings(tmp_path)[pid])["last"] == 1


def test_children_of_children_and_of_threads(write: Write, tmp_path: Path) -> None:
    # GIVEN a child that forks, in a thread, all warnings being shown
    write(
        "program.py",
        WORK
        + """
    import threading, warnings
    warnings.simplefilter("always")
    def child():
        if os.fork() == 0:
            grandchild()
            os._exit(0)
        print("grandchild", os.wait()[1], flush=True)
    def grandchild(): work(2.5)
    pid = os.fork()
    if pid == 0:
        warnings.simplefilter("ignore", DeprecationWarning)  # of a thread that is the program's own
        thread = threading.Thread(target=child)
        thread.start()
        thread.join()
        sys.exit()
    print("child", os.waitpid(pid, 0)[1])
    """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    assert done.text == "grandchild 0\nchild 0\n"
    assert done.without_our_lines().err == b""
    # THEN both are recorded, and the first parent knows of both
    found = [calls(file) for file in recordings(tmp_path).values()]
    assert len(found) == 2
    assert sorted(names.get("child", 0) for names in found) == [0, 1]  # the grandchild was born in that call
    assert sorted(names.get("grandchild", 0) for names in found) == [0, 1]
    assert "recorded 2 child processes in x." in done.errors


def test_a_daemon_is_followed(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that becomes a daemon: two forks, a session of its own, another folder, all files closed
    write(
        "program.py",
        WORK
        + """
    def daemon():
        os.setsid()
        if os.fork(): os._exit(0)
        os.chdir("/"); os.umask(0o077)
        os.closerange(0, 256)
        for _ in range(3): os.open(os.devnull, os.O_RDWR)
        work(3)
        with open(sys.argv[1], "w") as file: file.write(str(os.getpid()))
    if os.fork() == 0: daemon(); sys.exit()
    """,
    )
    done_file = tmp_path / "done"
    done = run(FLAMELET, "run", "-o", "x.flamelet", "program.py", done_file, cwd=tmp_path)
    assert (done.code, done.without_our_lines().err) == (0, b"")
    # WHEN it has done its work, long after its parents
    end = time.monotonic() + LIMIT
    while not (done_file.exists() and done_file.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    pid = int(done_file.read_text())
    # THEN its recording is there
    while not read_recording(str(recordings(tmp_path)[pid])).complete and time.monotonic() < end:
        time.sleep(0.05)
    assert calls(recordings(tmp_path)[pid])["daemon"] == 0  # entered before the second fork
    assert calls(recordings(tmp_path)[pid])["work"] == 1


def test_a_greenlet_hub_goes_on_in_the_child(write: Write, tmp_path: Path) -> None:
    # GIVEN a gevent program that forks within a greenlet, others being parked
    write(
        "program.py",
        """
        import os, sys, gevent, gevent.os
        def beat():
            for _ in range(200): gevent.sleep(0.01)
        def parked(): gevent.sleep(1.5)
        def forks():
            pid = gevent.os.fork()
            if pid == 0:
                gevent.joinall([gevent.spawn(beat), gevent.spawn(parked)])
                os._exit(7)
            print(gevent.os.waitpid(pid, 0)[1] >> 8)
        others = [gevent.spawn(parked) for _ in range(3)]
        gevent.spawn(forks).join()
        """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    assert (done.text, done.without_our_lines().err) == ("7\n", b"")
    # THEN the child's greenlets are tasks of its own recording
    (file,) = recordings(tmp_path).values()
    tasks = sorted(task["entry"] for task in report_of(file)["tasks"])
    assert tasks == ["<module>", "Hub.run", "beat", "forks", *["parked"] * 4]


def test_each_child_has_a_live_view_that_others_find(write: Write, tmp_path: Path) -> None:
    # GIVEN a program with two children, in a runtime folder of its own
    write(
        "program.py",
        WORK
        + """
    def of_the_child(): work(60)
    for _ in range(2):
        if os.fork() == 0: of_the_child(); sys.exit()
    os.wait(), os.wait()
    """,
    )
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    with running(tmp_path, "program.py", env={"XDG_RUNTIME_DIR": str(runtime)}) as live:
        children: list[int] = []
        try:
            # WHEN they have lived for a second THEN a client of the parent is told of three processes
            end = time.monotonic() + LIMIT
            while len(listed := processes(live.port, live.token)) < 3 and time.monotonic() < end:
                time.sleep(0.1)
            assert [row["self"] for row in listed] == [True, False, False]
            assert listed[0]["pid"] == live.process.pid
            assert [row["parent"] for row in listed[1:]] == [live.process.pid] * 2
            assert {row["script"] for row in listed} == {"program.py"}
            assert listed[0]["started"] <= listed[1]["started"] <= listed[2]["started"] <= time.time()
            children = [row["pid"] for row in listed[1:]]
            # AND each child answers for itself, with its own calls, and knows the others
            for row in listed[1:]:
                port, token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#t=([0-9a-f]{64})", row["url"]).groups()  # type: ignore[union-attr]
                assert token != live.token
                with LiveClient(int(port)) as client:
                    client.subscribe(token, rate=20)
                    picture = next(iter(client.updates(LIMIT)))
                    assert "of_the_child" in {function.name for function in picture.functions}
                again = processes(int(port), token)
                assert [other["self"] for other in again] == [other["pid"] == row["pid"] for other in again]
                assert [other["pid"] for other in again] == [other["pid"] for other in listed]
            # AND only the user can read where they are
            folder = runtime / "flamelet"
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            files = sorted(folder.iterdir())
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
            assert sorted(int(file.stem) for file in files) == sorted([live.process.pid, *children])
            assert {*json.loads(files[0].read_text())} >= {"pid", "started", "script", "port", "token", "protocol"}
            # AND one that is killed is told no more
            os.kill(children[0], signal.SIGKILL)
            while len(listed := processes(live.port, live.token)) > 2 and time.monotonic() < end:
                time.sleep(0.1)
            assert [row["pid"] for row in listed] == [live.process.pid, children[1]]
            assert not (folder / f"{children[0]}.json").exists()
            os.kill(children[1], signal.SIGKILL)
            # AND at its end the parent says that they are not in its summary
            assert "2 child processes are not in this summary; -o FILE records each" in live.errors()
            # what a killed process left is taken away by whoever looks next; its own file the parent took itself
            assert [file.name for file in folder.iterdir()] == [f"{children[1]}.json"]
        finally:
            for pid in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def test_a_program_that_is_not_profiled_when_it_forks(write: Write, tmp_path: Path) -> None:
    # GIVEN a program that stops flamelet before it forks WHEN the child lives long THEN it is left alone
    write(
        "program.py",
        WORK
        + """
    import flamelet
    flamelet.stop()
    if os.fork() == 0:
        print(flamelet.is_running(), flush=True)
        work(1.5)
        sys.exit()
    os.wait()
    """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    assert done.text == "False\n"
    assert recordings(tmp_path) == {}


def test_a_child_that_cannot_be_recorded_goes_on(write: Write, tmp_path: Path) -> None:
    # GIVEN a child that may write no file WHEN it works THEN it notices nothing, and its parent does not say it was
    write(
        "program.py",
        WORK
        + """
    import resource, signal
    if os.fork() == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        work(1.8)
        sys.exit(4)
    print(os.wait()[1] >> 8)
    """,
    )
    done = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    assert (done.text, done.without_our_lines().err) == ("4\n", b"")
    assert "child" not in done.errors
    assert recordings(tmp_path) == {}


def test_a_child_may_serve_at_once(write: Write, tmp_path: Path) -> None:
    # GIVEN a child that asks for its live view before it is due THEN it is there, and another time the same one
    write(
        "program.py",
        WORK
        + """
    import flamelet
    if os.fork() == 0:
        first, second = flamelet.start(serve=True), flamelet.start(serve=True)
        print(first.url == second.url, first.url[:17], flush=True)
        work(1.5)
        print(flamelet.start().url == first.url)
        sys.exit()
    os.wait()
    """,
    )
    done = run(FLAMELET, "run", "program.py", cwd=tmp_path)
    assert done.text == "True http://127.0.0.1:\nTrue\n"
