"""Commands that are sure to end, with all that they have started: a mutant may hang, and leave anything behind."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MARK = "MUTANTS_RUN"  # tests strip variables that begin with PYTHON or FLAMELET; this one reaches all descendants
_LOOK = 0.05  # seconds between two looks at a command

# Set when the run is broken off: commands that other threads wait for are ended, too.
broken_off = threading.Event()


class BrokenOff(Exception):
    """The run is being broken off; the command that ran has been ended."""


@dataclass(frozen=True)
class Ended:
    """code: as in subprocess, negative for a signal; None for a command that was ended because it took too long."""

    code: int | None
    output: str
    seconds: float


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    limit: float = 1800.0,
    env: Mapping[str, str] | None = None,
    output: Path | None = None,
    is_late: Callable[[], bool] = lambda: False,
) -> Ended:
    """limit: seconds. is_late: asked now and then; the command is ended when it says so. output: the file that
    standard output and error go to, else they are kept. Raises BrokenOff."""
    mark = uuid.uuid4().hex
    environment = {**(os.environ if env is None else env), _MARK: mark}
    began = time.monotonic()
    place = output or Path(tempfile.gettempdir(), f"{_MARK.lower()}-{mark}")
    try:
        with place.open("wb") as sink:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = _wait(process, began + limit, is_late)
            finally:
                _end(process)
                _end_marked(mark)
        if broken_off.is_set():
            raise BrokenOff
        return Ended(code, place.read_text(errors="replace"), time.monotonic() - began)
    finally:
        if output is None:
            place.unlink(missing_ok=True)


def _wait(process: subprocess.Popen[bytes], end: float, is_late: Callable[[], bool]) -> int | None:
    while time.monotonic() < end and not broken_off.is_set() and not is_late():
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_LOOK)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """A mutant is not asked: it may have blocked every signal."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_marked(mark: str) -> None:
    """Descendants that made a session of their own."""
    wanted = f"{_MARK}={mark}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with suppress(OSError):
            if wanted in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                os.kill(int(entry), signal.SIGKILL)
