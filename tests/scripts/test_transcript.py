"""Commands and their logs."""

import os
import time
from pathlib import Path

import pytest

from devtools import transcript as module
from devtools.transcript import CommandFailed, Transcript, environment


@pytest.fixture
def transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Transcript:
    monkeypatch.setattr(module, "LOGS", tmp_path)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "_GRACE", 0.3)
    return Transcript("log")


def test_output_and_exit_code(transcript: Transcript, tmp_path: Path) -> None:
    # GIVEN a command WHEN it is run THEN the log has it and both of its outputs, and its exit code is returned
    assert transcript.run(["sh", "-c", "echo out; echo err >&2; exit 3"], cwd=tmp_path) == 3
    assert (tmp_path / "log.log").read_text().splitlines()[-2:] == ["out", "err"]


def test_a_needed_command_that_fails(transcript: Transcript, tmp_path: Path) -> None:
    # GIVEN a command that must succeed WHEN it fails THEN the error names it, its log, and its last words
    with pytest.raises(CommandFailed, match=r"(?s)`sh -c .*` failed \(1\).*log\.log.*no such thing"):
        transcript.check(["sh", "-c", "echo no such thing; exit 1"], cwd=tmp_path)


def test_a_command_that_hangs(transcript: Transcript, tmp_path: Path) -> None:
    # GIVEN a command that does not end, deaf to SIGTERM WHEN its time is up THEN it and its child are gone
    script = "trap '' TERM; sleep 60 & echo $! > child; wait; sleep 60"
    began = time.monotonic()
    assert transcript.run(["sh", "-c", script], cwd=tmp_path, limit=0.5) < 0
    assert time.monotonic() - began < 10
    assert_gone(int((tmp_path / "child").read_text()))
    assert "ended after" in (tmp_path / "log.log").read_text()


def test_what_a_command_leaves_behind(transcript: Transcript, tmp_path: Path) -> None:
    # GIVEN a command that leaves a process behind WHEN it has ended THEN that is ended too
    assert transcript.run(["sh", "-c", "sleep 60 & echo $! > child"], cwd=tmp_path) == 0
    assert_gone(int((tmp_path / "child").read_text()))


def assert_gone(pid: int) -> None:
    end = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < end, f"{pid} still runs"
        time.sleep(0.01)


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a shell with a venv and a PYTHONPATH WHEN a command's environment is made THEN they are not in it
    monkeypatch.setenv("VIRTUAL_ENV", "somewhere")
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    env = environment(Path("first"), Path("second"), NAME="value")
    assert not {"VIRTUAL_ENV", "PYTHONPATH"} & set(env)
    assert env["NAME"] == "value"
    assert env["PATH"] == os.pathsep.join(["first", "second", os.environ["PATH"]])
