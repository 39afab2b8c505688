"""Programs in processes of their own, with and without flamelet."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PYTHON = (sys.executable,)
FLAMELET = (str(Path(sys.executable).with_name("flamelet")),)
LIMIT = 60.0  # seconds for what takes a moment, on a busy machine
# What a whole run of the tests is made under, programs included (scripts/devtools/long_suites.py).
_OF_THE_RUN = ("PYTHONMALLOC",)
# A debug build shows warnings that others ignore: here it is to say what they say. The last one counts first.
_AS_OTHERS_WARN = ",".join(
    [
        *(f"ignore::{name}Warning" for name in ("Deprecation", "PendingDeprecation", "Import", "Resource")),
        "default::DeprecationWarning:__main__",
    ]
)
_IS_DEBUG_BUILD = hasattr(sys, "gettotalrefcount")


class Finished(NamedTuple):
    """What came out of a program. code: as in subprocess, negative for a signal."""

    out: bytes
    err: bytes
    code: int

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def errors(self) -> str:
        return self.err.decode()

    def without_our_lines(self) -> Finished:
        """The same without the lines that flamelet writes."""
        lines = self.err.splitlines(keepends=True)
        return self._replace(err=b"".join(line for line in lines if not line.startswith(b"flamelet: ")))


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which nothing of the developer's own changes what programs do."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if name in _OF_THE_RUN or not name.startswith(("PYTHON", "FLAMELET", "COLUMNS"))
    }
    if _IS_DEBUG_BUILD:
        ours["PYTHONWARNINGS"] = _AS_OTHERS_WARN
    return {**ours, "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})}


def recorded(folder: Path) -> dict[str, str]:
    """An environment in which a program that imports flamelet leaves its recording in the folder, as PID.flamelet."""
    return {"PYTHONPATH": str(Path(__file__).with_name("recording_at_exit")), "TEST_RECORDINGS": str(folder)}


def run(
    command: Sequence[str],
    *arguments: str | Path,
    cwd: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    interrupt: signal.Signals | None = None,
) -> Finished:
    """Run a program to its end. interrupt: the signal that it is sent once it has printed a line."""
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        begin = b""
        if interrupt is not None:
            assert process.stdout is not None
            begin = process.stdout.readline()
            assert begin, process.communicate()
            time.sleep(0.3)  # by now it waits
            process.send_signal(interrupt)
        try:
            out, err = process.communicate(stdin, timeout=LIMIT)
        finally:
            process.kill()
    return Finished(begin + out, err, process.returncode)


def run_profiled(cwd: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> tuple[Finished, Any]:
    """Run a program under flamelet, without a server. Returns what came out, and the report of its recording."""
    file = cwd / "run.flamelet"
    finished = run(FLAMELET, "run", "--no-server", "-o", file, *arguments, cwd=cwd, env=env)
    assert file.exists(), finished.errors
    return finished, report_of(file)


def report_of(file: Path) -> Any:
    """What `flamelet report --json` says about a recording."""
    shown = run(FLAMELET, "report", "--json", file, cwd=file.parent)
    assert shown.code == 0, shown.errors
    return json.loads(shown.out)


class Running:
    """A program under `flamelet run` that goes on while a test looks at it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: list[str] = []
        self.url = self._first_line().removeprefix("flamelet: ")
        # Whatever else it writes must not fill the pipe.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _first_line(self) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline().rstrip("\n")
        assert line.startswith("flamelet: http://"), line
        return line

    def _read(self) -> None:
        assert self.process.stderr is not None
        self._lines.extend(self.process.stderr)

    @property
    def port(self) -> int:
        return int(self.url.partition("127.0.0.1:")[2].partition("/")[0])

    @property
    def token(self) -> str:
        return self.url.partition("#t=")[2]

    def errors(self) -> str:
        """All of standard error behind the first line, once the program has ended."""
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        return "".join(self._lines)


@contextmanager
def running(cwd: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A program under `flamelet run`, ended with the block."""
    process = subprocess.Popen(
        [*FLAMELET, "run", *map(str, arguments)],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Running(process)
        finally:
            process.kill()
