"""Recordings: written so that nothing is lost or damaged, read from anybody and in any state."""

from __future__ import annotations

import gzip
import json
import random
import re
import resource
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import flamelet.recording
from flamelet.errors import FlameletError, RecordingError, UsageError
from flamelet.recording import RecordingFile, read_lines, read_recording
from running import FLAMELET, run

VECTOR = (Path(__file__).parents[1] / "vectors" / "recording.jsonl").read_bytes()
LINES = VECTOR.splitlines(keepends=True)


@pytest.fixture
def save(tmp_path: Path) -> Callable[[bytes], str]:
    def save_bytes(data: bytes) -> str:
        (tmp_path / "x.flamelet").write_bytes(data)
        return str(tmp_path / "x.flamelet")

    return save_bytes


def test_what_is_written_is_read(tmp_path: Path) -> None:
    # WHEN a recording is written
    path = str(tmp_path / "x.flamelet")
    RecordingFile(path).write(VECTOR)
    # THEN it is gzip of the lines, and reads as they do
    assert gzip.decompress(Path(path).read_bytes()) == VECTOR
    recording = read_recording(path)
    assert recording.about.program == "app.py"
    assert recording.picture.version == 5
    assert recording.picture.nodes.keys() == read_lines(VECTOR).picture.nodes.keys()
    assert (recording.complete, recording.warning) == (True, "")


@pytest.mark.parametrize("packed", [True, False])
def test_other_forms_of_the_same(packed: bool, save: Callable[[bytes], str]) -> None:
    # GIVEN a recording in several gzip members, or not packed at all; with other line ends and empty lines
    lines = [line.rstrip(b"\n") + b"\r\n\n" for line in LINES]
    data = b"".join(gzip.compress(line) for line in lines) if packed else b"".join(lines)
    # THEN it reads the same
    recording = read_recording(save(data))
    assert (recording.picture.version, recording.complete, recording.warning) == (5, True, "")


def outcome(path: str) -> str:
    """What reading a file leads to, in short."""
    try:
        recording = read_recording(path)
    except RecordingError as error:
        text = str(error).removeprefix(f"{path!r}: ")
        return "several lines" if "\n" in text else re.sub(r" of flamelet.*|:.*", "", text)
    return f"{recording.warning.partition(':')[0] or 'nothing is missing'}: version {recording.picture.version}"


def test_truncated_anywhere(save: Callable[[bytes], str]) -> None:
    # GIVEN a recording that is cut off at every possible place
    whole = gzip.compress(VECTOR)
    outcomes = {outcome(save(whole[:length])) for length in range(len(whole))}
    # THEN either nothing useful is left, which is told, or what was complete is there, with a warning
    assert outcomes >= {"not a recording", "holds no update", "the end is missing: version 5"}
    assert outcomes <= {"not a recording", "holds no update"} | {
        f"the end is missing: version {version}" for version in range(1, 6)
    }


def test_truncated_lines(save: Callable[[bytes], str]) -> None:
    # GIVEN a recording that ends within a line
    for kept in range(3, len(LINES)):
        data = b"".join(LINES[:kept]) + LINES[kept][: len(LINES[kept]) // 2]
        # WHEN it is read
        recording = read_recording(save(data))
        # THEN all lines before count
        assert recording.picture.version == read_lines(b"".join(LINES[:kept])).picture.version
        assert recording.warning == "the end is missing: the last line is cut off"
        assert not recording.complete


def test_damage_anywhere(save: Callable[[bytes], str]) -> None:
    # GIVEN a recording with a byte that is wrong
    whole = bytearray(gzip.compress(VECTOR))
    chance = random.Random(1)
    outcomes = set()
    for _ in range(300):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        # WHEN it is read
        outcomes.add(outcome(save(bytes(data))))
    # THEN it is read up to there, with a warning, or refused in one line; nothing else happens
    assert any(text.startswith("the end is missing") for text in outcomes)
    assert "not a recording" in outcomes
    assert "several lines" not in outcomes


NOT_RECORDINGS = {
    "empty": (b"", "not a recording of flamelet: it is empty"),
    "text": (b"hello\n", "not a recording of flamelet: its first line is no message"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a recording of flamelet"),
    "other gzip": (gzip.compress(b"hello\n"), "not a recording of flamelet"),
    "other JSON": (b'{"a": 1}\n', "line 1: seq: expected an integer"),
    "array": (b"[]\n", "line 1: message: expected an object, got list"),
    "number": (b"1\n", "line 1: message: expected an object"),
    "null": (b"null\n", "line 1 is no message"),
    "deep": (b'{"a":' * 100_000, "not a recording of flamelet"),
    "long number": (b'{"seq": ' + b"9" * 10_000 + b"}\n", "not a recording of flamelet"),
    "begins in the middle": (b"".join(LINES[1:]), "does not begin with the response to `initialize`"),
    "only the beginning": (LINES[0], "holds no update"),
    "broken line in the middle": (LINES[0] + b'{"x"\n' + LINES[2], "line 2 is no JSON"),
    "NaN": (
        LINES[0] + LINES[2].replace(b'"now":60000000', b'"now":NaN') + LINES[3],
        "line 2 is no JSON: NaN is no JSON",
    ),
    "missing update": (b"".join((*LINES[:3], *LINES[4:])), "builds on version 2, but 1 came before"),
    "newer protocol": (LINES[0].replace(b'"protocol":1', b'"protocol":2'), "a newer flamelet is needed"),
}


@pytest.mark.parametrize("name", NOT_RECORDINGS)
def test_what_is_no_recording(name: str, save: Callable[[bytes], str], tmp_path: Path) -> None:
    # GIVEN a file that is no recording
    data, message = NOT_RECORDINGS[name]
    path = save(data)
    # WHEN it is read
    with pytest.raises(RecordingError) as caught:
        read_recording(path)
    # THEN the error names the file and says why
    assert str(caught.value).startswith(repr(path) + ": ")
    assert message in str(caught.value)
    # AND so does the command, in one line and with exit code 2
    finished = run(FLAMELET, "report", path, cwd=tmp_path)
    assert finished.errors.startswith("flamelet: ")
    assert finished.err.count(b"\n") == 1
    assert (finished.code, finished.out) == (2, b"")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    # THEN the message says why
    with pytest.raises(RecordingError, match=r"can't read '.*nowhere': No such file or directory"):
        read_recording(str(tmp_path / "nowhere"))
    with pytest.raises(RecordingError, match=r"can't read '.*': Is a directory"):
        read_recording(str(tmp_path))


def test_bomb_and_endless_line(save: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN limits that a test can reach, and files that unpack to much more than they hold
    monkeypatch.setattr(flamelet.recording, "MAX_LINE", 4 << 20)
    monkeypatch.setattr(flamelet.recording, "MAX_UNPACKED", 1 << 30)
    endless = LINES[0] + b'{"x": "' + b"x" * (64 << 20)
    many = zlib.compressobj(wbits=31)
    parts = [many.compress(LINES[0])]
    parts += [many.compress(b'{"seq":1,"type":"event","event":"x"}' + b" " * (1 << 20) + b"\n") for _ in range(1100)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # WHEN they are read
    with pytest.raises(RecordingError, match="holds a line of more than 4 MiB"):
        read_recording(save(gzip.compress(endless)))
    with pytest.raises(RecordingError, match="unpacks to more than 1 GiB"):
        read_recording(save(b"".join(parts) + many.flush()))
    # THEN they are refused, and did not take the memory that they wanted
    if sys.platform == "linux":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a recording, and a disk that fails at the last moment
    path = tmp_path / "x.flamelet"
    file = RecordingFile(str(path))
    file.write(VECTOR)
    old = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fails)
    # WHEN another one is written over it
    with pytest.raises(RecordingError, match=r"can't write '.*x\.flamelet': No space left on device"):
        file.write(VECTOR + VECTOR)
    # THEN the old one is as it was, and nothing else is left
    assert path.read_bytes() == old
    assert [other.name for other in tmp_path.iterdir()] == ["x.flamelet"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a user who has enough while it is written
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    file = RecordingFile(str(tmp_path / "x.flamelet"))
    monkeypatch.setattr("os.replace", interrupted)
    # WHEN that happens
    with pytest.raises(KeyboardInterrupt):
        file.write(VECTOR)
    # THEN nothing is left behind
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "nowhere/x", ".", "a\0b"])
def test_where_nothing_can_be_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # THEN that is told at once
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        RecordingFile(name)
    assert issubclass(UsageError, FlameletError)


def test_recordings_of_this_flamelet_are_read_by_line(tmp_path: Path) -> None:
    # GIVEN a recording of a real program
    (tmp_path / "p.py").write_text("def f(): pass\nf()\n", encoding="utf-8")
    run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "p.py", cwd=tmp_path)
    # THEN standard tools open it: one message a line, as protocol.md has them
    lines = gzip.decompress((tmp_path / "x.flamelet").read_bytes()).splitlines()
    messages = [json.loads(line) for line in lines]
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
    assert (messages[0]["command"], messages[0]["body"]["flamelet"]["program"]) == ("initialize", "p.py")
    assert messages[1]["event"] == "initialized"
    assert messages[2]["body"]["subscription"] == messages[2]["body"]["since"] == 0
    assert messages[-1]["event"] == "terminated"
