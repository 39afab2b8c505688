"""A program run twice, without flamelet and with it: it must do the same, and the recording must be exact.

The program begins with `from tools import *`: start() and stop(), which do nothing without flamelet; say(), for what
must be the same in both runs; note(), for what it measured; burn(), which is on the processor until the thread's CPU
clock has advanced, and returns by how much; stack(), the names on the interpreter's own stack.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flamelet.recording import read_recording
from flamelet.snapshots import Task, make_snapshot
from running import PYTHON, recorded, run

TOOLS = """
import gc, json, os, sys, threading, time
from time import monotonic, thread_time

profiled = os.environ["PROFILED"] == "1"
if profiled: import flamelet

def start(**options):
    if profiled: flamelet.start(**options)
def stop():
    if profiled: flamelet.stop()
def say(*values): print(json.dumps(values), flush=True)
notes = {}
def note(name, value):
    notes[name] = value
    with open("notes.json", "w") as file: json.dump(notes, file)
def stack(depth=1):
    "The names of the program's own functions on the interpreter's own stack, outermost first."
    frame, names = sys._getframe(depth), []
    while frame:
        if frame.f_code.co_filename.endswith("program.py"): names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names[::-1]
def burn(seconds):
    begin = thread_time()
    while (spent := thread_time() - begin) < seconds: pass
    return spent
"""

Paths = dict[tuple[str, ...], int]


class Seen:
    """What came out of a program, and what flamelet saw of it."""

    def __init__(self, folder: Path, recording: Path, said: list[Any]) -> None:
        self.said = said
        self.recording = read_recording(str(recording))
        self.snapshot = make_snapshot(self.recording)
        self.picture = self.recording.picture
        self._folder = str(folder)
        notes = folder / "notes.json"
        self.notes: Any = json.loads(notes.read_text()) if notes.exists() else {}

    @property
    def lost(self) -> dict[str, int]:
        """What was shed, without the zeros."""
        return {name: count for name, count in self.snapshot.lost.items() if count}

    def _is_programs(self, function: int) -> bool:
        row = self.picture.function(function)
        return row.kind == 0 and row.file in (f"{self._folder}/program.py", "<made>")

    def _path(self, node: int) -> tuple[str, ...]:
        names: list[str] = []
        while node:
            row = self.picture.nodes[node]
            function = self.picture.function(row.function)
            if self._is_programs(row.function):
                names.append(function.name)
            node = row.parent
        return tuple(reversed(names))

    def paths(self) -> Paths:
        """Calls by the path of the program's own functions, and what it made with the file name "<made>"; what else is
        on the path is left out."""
        calls: Paths = defaultdict(int)
        for row in self.picture.nodes.values():
            function = self.picture.function(row.function)
            if self._is_programs(row.function):
                calls[(*self._path(row.parent), function.name)] += row.calls
        return dict(calls)

    @property
    def calls(self) -> dict[str, int]:
        """Calls by name, of the program's own functions."""
        calls: dict[str, int] = defaultdict(int)
        for path, count in self.paths().items():
            calls[path[-1]] += count
        return dict(calls)

    def c_calls(self) -> dict[str, int]:
        """Calls by qualified name, of functions written in C that the program's own functions called."""
        calls: dict[str, int] = defaultdict(int)
        for row in self.picture.nodes.values():
            function = self.picture.function(row.function)
            if function.kind == 1 and row.parent and self._is_programs(self.picture.nodes[row.parent].function):
                calls[function.qualname] += row.calls
        return dict(calls)

    def total(self, name: str, kind: str) -> float:
        """Seconds of a function of the program with what it called. kind: "cpu", "blocked", "idle" or "waited"."""
        rows = [row for row in self.snapshot.functions if row.name == name and row.file.startswith(self._folder)]
        assert len(rows) == 1, (name, rows)
        value: float = getattr(rows[0], f"total_{kind}")
        return value

    def tasks(self, entry: str) -> list[Task]:
        return [task for task in self.snapshot.tasks if task.entry == entry]

    def task(self, entry: str) -> Task:
        (task,) = self.tasks(entry)
        return task

    def states(self) -> dict[str, list[str]]:
        """The states of all tasks by their entry function."""
        states: dict[str, list[str]] = defaultdict(list)
        for task in self.snapshot.tasks:
            states[task.entry].append(task.state)
        return {entry: sorted(found) for entry, found in states.items()}

    def group(self, entry: str) -> Any:
        (group,) = [group for group in self.snapshot.groups if group.entry == entry]
        return group


class Both:
    """Runs programs both ways."""

    def __init__(self, folder: Path, write: Callable[..., Path]) -> None:
        self._folder = folder
        self._write = write

    def __call__(
        self, program: str, *, lost: tuple[str, ...] = (), env: Mapping[str, str] | None = None, stderr: str = ""
    ) -> Seen:
        """Run the program. lost: names of what may have been shed; everything else must be 0. stderr: what it says
        there."""
        self._write("tools.py", TOOLS)
        self._write("program.py", program)
        runs = {}
        for profiled in "01":
            extra = recorded(self._folder) if profiled == "1" else {}
            runs[profiled] = run(
                PYTHON, "program.py", cwd=self._folder, env={**(env or {}), **extra, "PROFILED": profiled}
            )
        plain, profiled_run = runs["0"], runs["1"]
        assert (plain.errors, plain.code) == (stderr, 0)
        assert (profiled_run.text, profiled_run.errors, profiled_run.code) == (plain.text, plain.errors, plain.code)
        recordings = sorted(self._folder.glob("*.flamelet"), key=lambda file: file.stat().st_mtime)
        assert recordings, "the program was not profiled"
        seen = Seen(self._folder, recordings[-1], [json.loads(line) for line in plain.text.splitlines()])
        assert not set(seen.lost) - set(lost), seen.lost
        return seen


def near(value: float, truth: float) -> bool:
    """Within 5 %, or 3 ms: a program may lose its processor between reading its clock and what it measures."""
    return abs(value - truth) <= max(0.05 * truth, 0.003)
