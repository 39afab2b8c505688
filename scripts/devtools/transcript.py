"""Runs commands with their output in a log file, of which the terminal shows as much as the user wants to see."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from devtools.checkout import LOGS, ROOT

_LIMIT = 1200.0  # seconds: longer than the longest suite takes on two busy cores
_GRACE = 5.0  # seconds between "please end" and "end"
_LOOK = 0.1  # seconds between two looks at the command
# Of the user's own shell; they would reach into the venvs that we make.
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET")


# Set when the whole run is broken off: commands that other threads wait for are ended, too.
broken_off = threading.Event()


class CommandFailed(Exception):
    """A command that is needed did not succeed. Says which, where its output is, and how that ends."""


def environment(*first_on_path: Path, **variables: str) -> dict[str, str]:
    """The environment for a command: the user's, some folders before the others on PATH, some variables set."""
    env = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    env["PATH"] = os.pathsep.join([*map(str, first_on_path), env.get("PATH", os.defpath)])
    return env | variables


class Transcript:
    """One log file. A terminal shows its last line while a command runs; with `verbose` everything is shown."""

    def __init__(self, name: str, *, verbose: bool = False) -> None:
        self.path = LOGS / f"{name}.log"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"")
        self._view: _Everything | _LastLine | _Nothing = _Nothing()
        if verbose:
            self._view = _Everything()
        elif sys.stdout.isatty():
            self._view = _LastLine(name)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        limit: float = _LIMIT,
    ) -> int:
        """The command's exit code, negative for a signal. A command that takes longer than `limit` s is ended."""
        words = [str(word) for word in command]
        with self.path.open("ab") as log, self.path.open("rb") as reader:
            reader.seek(0, os.SEEK_END)
            log.write(f"$ {' '.join(words)}\n".encode())
            log.flush()
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env=environment() if env is None else env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that what it started can be ended with it
            )
            try:
                code = self._wait(process, reader, limit)
            finally:
                _end_group(process)
                self._view.close()
            if code is None:
                why = "broken off" if broken_off.is_set() else f"ended after {limit:.0f} s"
                log.write(f"\n{why}\n".encode())
                return -signal.SIGKILL
            return code

    def check(self, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> None:
        """Run a command that must succeed. Raises CommandFailed."""
        code = self.run(command, env=env, cwd=cwd)
        if code:
            words = " ".join(Path(word).name if Path(word).is_absolute() else str(word) for word in command)
            raise CommandFailed(
                f"`{words}` failed ({code}); its output is in {self.path.relative_to(ROOT)}:\n{self.tail()}"
            )

    def note(self, text: str) -> None:
        """Our own words, into the log."""
        with self.path.open("ab") as log:
            log.write(f"{text}\n".encode())
        self._view.show(f"{text}\n".encode())

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.path.read_text(errors="replace").splitlines()[-lines:])

    def _wait(self, process: "subprocess.Popen[bytes]", reader: IO[bytes], limit: float) -> int | None:
        end = time.monotonic() + limit
        while time.monotonic() < end and not broken_off.is_set():
            try:
                code = process.wait(_LOOK)
            except subprocess.TimeoutExpired:
                code = None
            self._view.show(reader.read())
            if code is not None:
                return code
        return None


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End the command, if it still runs, and whatever it has left behind in its session."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(_GRACE)
        os.killpg(process.pid, signal.SIGKILL)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    except ProcessLookupError:
        pass


class _Nothing:
    def show(self, output: bytes) -> None:
        pass

    def close(self) -> None:
        pass


class _Everything(_Nothing):
    def show(self, output: bytes) -> None:
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()


class _LastLine(_Nothing):
    def __init__(self, name: str) -> None:
        self._name = name

    def show(self, output: bytes) -> None:
        lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
        if lines:
            text = "".join(character for character in f"{self._name}  {lines[-1]}" if character.isprintable())
            print(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)

    def close(self) -> None:
        print("\r\033[K", end="", flush=True)
