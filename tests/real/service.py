"""Servers and workers that a test starts, talks to and ends; and what is the same of two runs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from running import FLAMELET, LIMIT, PYTHON, environment

PROGRAMS = Path(__file__).with_name("programs")

# How a program is started. plain: python; without: `flamelet run --no-server`; live: `flamelet run` with its live view;
# worker: python, and each worker starts flamelet itself.
PLAIN, WITHOUT, LIVE, WORKER = "plain", "without", "live", "worker"

# What differs between two runs of anything.
_CHANCE = (
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?", "TIME"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"0x[0-9a-f]{6,}", "ADDRESS"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
)


class Ended(NamedTuple):
    """What came out of a program. code: as in subprocess, negative for a signal."""

    out: str
    err: str
    code: int


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Service:
    """A program that runs until it is told to end. folder: what it leaves behind. port: its own on 127.0.0.1."""

    def __init__(self, how: str, arguments: Sequence[str], folder: Path, port: int) -> None:
        self.how = how
        self.folder = folder
        self.recording = folder / "run.flamelet"
        self.variables = {"REAL_OUTPUT": str(folder), "REAL_PORT": str(port), "PROFILED": how, "HOME": str(folder)}
        options = {
            WITHOUT: [*FLAMELET, "run", "--no-server", "-o", str(self.recording)],
            LIVE: [*FLAMELET, "run", "-o", str(self.recording)],
        }
        folder.mkdir()
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            self._process = subprocess.Popen(
                [*options.get(how, PYTHON), *arguments],
                cwd=PROGRAMS,
                env=environment(self.variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,  # so that its children can be ended with it
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Until something is so; fails where the program ends before."""
        end = time.monotonic() + LIMIT
        while not condition():
            assert self._process.poll() is None, f"it ended ({self._process.returncode}):\n{self.out}\n{self.err}"
            assert time.monotonic() < end, f"nothing for {LIMIT:.0f} s:\n{self.out}\n{self.err}"
            time.sleep(0.02)

    def run(self, *arguments: str) -> str:
        """What another of the programs prints, without flamelet; it must succeed."""
        with self.start(*arguments) as client:
            return self.finish(client)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Another of the programs, as run() does. To be given to finish()."""
        return subprocess.Popen(
            [*PYTHON, *arguments],
            cwd=PROGRAMS,
            env=environment({**self.variables, "PROFILED": PLAIN}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, client: subprocess.Popen[str]) -> str:
        try:
            out, err = client.communicate(timeout=LIMIT)
        finally:
            client.kill()
        assert client.returncode == 0, f"{err}\n{self.err}"
        return out

    def end(self, number: signal.Signals) -> Ended:
        """Send it the signal, as `kill PID` does, and wait until it has gone; no process of it may be left."""
        self._process.send_signal(number)
        try:
            code = self._process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end:\n{self.out}\n{self.err}") from None
        end = time.monotonic() + LIMIT
        while self._group_lives():  # for a moment, until somebody takes notice of a child that it did not wait for
            assert time.monotonic() < end, "it left processes behind"
            time.sleep(0.02)
        return Ended(self.out, self.err, code)

    def _group_lives(self) -> bool:
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        """Whatever is left of it."""
        if self._group_lives():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def running(how: str, arguments: Sequence[str], folder: Path, port: int) -> Iterator[Service]:
    """A service, ended with the block."""
    service = Service(how, arguments, folder, port)
    try:
        yield service
    finally:
        service.kill()


def same_lines(text: str, chance: Mapping[str, str], *, without: str = "") -> Counter[str]:
    """The lines, in no order: several processes and greenlets write. What is chance is replaced; flamelet's own lines
    and those that match `without` are left out. chance: what to put for what matches."""
    lines = [line for line in text.splitlines() if not line.startswith("flamelet: ")]
    if without:
        lines = [line for line in lines if not re.search(without, line)]
    return Counter(_without_chance(line, chance) for line in lines)


def _without_chance(line: str, chance: Mapping[str, str]) -> str:
    for pattern, name in (*_CHANCE, *chance.items()):
        line = re.sub(pattern, name, line)
    return line
