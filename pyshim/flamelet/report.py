"""A snapshot for people (text that fits a terminal) and for programs (JSON, docs/report-json.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple

from .holds import hub_numbers, sentence
from .snapshots import Function, Group, Snapshot, Task, Thread
from .text import Column, cell, cut, duration, fit_function, plural, printable, table

FORMAT = 1
"""Version of the JSON report. A new key does not change it; a key that goes or means something else does."""

TOP = 25
_MANY_TASKS = 20  # more than that are shown by groups first
_WIDTH = 100  # where the output is no terminal
_LOST = {
    "events": "calls that found no memory, counted in their callers",
    "tasks": "tasks that found no memory",
    "unmatched": "returns without their call",
    "displaced": "switch tracers that another tool removed",
    "slices": "long slices that were overwritten",
    "strings": "names that found no room",
    "threads": "threads that found no room",
}


def json_text(snapshot: Snapshot) -> str:
    """The report as JSON, in ASCII, with a line end: what cannot be encoded stands as an escape."""
    report: dict[str, Any] = {"format": FORMAT}
    for name, value in snapshot._asdict().items():
        if isinstance(value, str):
            report[name] = value
        elif isinstance(value, tuple) and not hasattr(value, "_asdict"):
            report[name] = [row._asdict() for row in value]
        else:
            report[name] = value._asdict() if hasattr(value, "_asdict") else dict(value)
    return json.dumps(report, allow_nan=False) + "\n"


def print_text(snapshot: Snapshot, out: IO[str], top: int = TOP) -> None:
    """Write the summary. top: rows of the tables of functions and tasks, 0: all of them."""
    try:
        number = out.fileno()
    except (OSError, ValueError):
        number = -1
    text = "\n".join(summary(snapshot, terminal_width(number), top)) + "\n"
    encoding = getattr(out, "encoding", None) or "ascii"
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    out.flush()


def summary(snapshot: Snapshot, width: int, top: int = TOP) -> list[str]:
    """The lines of the summary."""
    lines = _header(snapshot)
    lines += ["", *_function_table(snapshot, width, top)]
    if len(snapshot.tasks) > _MANY_TASKS:
        lines += ["", *_group_table(snapshot, width, top)]
    lines += ["", *_task_table(snapshot, width, top)]
    if len(snapshot.threads) > 1:
        lines += ["", *_thread_table(snapshot, width)]
    answer = sentence(snapshot)
    return [*lines, "", answer] if answer else lines


def terminal_width(number: int) -> int:
    """Columns of the terminal with this file number; COLUMNS comes first, and files get a fixed width."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and 0 < int(columns) < 10_000:
        return int(columns)
    try:
        return os.get_terminal_size(number).columns or _WIDTH
    except OSError:
        return _WIDTH


def _header(snapshot: Snapshot) -> list[str]:
    about, totals = snapshot.about, snapshot.totals
    lines = [
        f"flamelet: {printable(about.program)} ({duration(totals.duration)}, Python {printable(about.python)}, "
        f"clock {printable(snapshot.clock)})",
        f"{plural(totals.threads, 'thread')}, {plural(totals.tasks, 'task')}, "
        f"{plural(totals.switches, 'switch')}, {plural(totals.calls, 'call')}; "
        f"cpu {duration(totals.cpu)}, blocked {duration(totals.blocked)}, idle {duration(totals.idle)}",
    ]
    if not about.greenlets:
        lines.append("greenlet is not in the process: the tasks are threads only")
    if about.warning:
        lines.append(f"warning: {about.warning}")
    elif about.state != "ended":
        lines.append("the program had not ended yet")
    for name, count in snapshot.lost.items():
        if count:
            lines.append(f"lost: {count:,} {_LOST.get(name, printable(name))}")
    return lines


class _Times(NamedTuple):
    """Where a table's times are: the attribute prefix, the group's title, and how long each kind is kept."""

    prefix: str
    group: str
    keep: dict[str, int]


def _time_columns(rows: Sequence[Any], times: _Times) -> list[Column]:
    return [
        Column(kind, [cell(getattr(row, times.prefix + kind)) for row in rows], keep, times.group)
        for kind, keep in times.keep.items()
    ]


def _function_table(snapshot: Snapshot, width: int, top: int) -> list[str]:
    order = sorted(snapshot.functions, key=lambda row: (-row.own_cpu - row.own_blocked, -row.own_waited, row.qualname))
    rows = order[: top or None]
    columns = [
        Column("calls", [f"{row.calls:,}" for row in rows], 9),
        *_time_columns(rows, _Times("own_", "own", {"cpu": 8, "blocked": 7, "idle": 1, "waited": 4})),
        *_time_columns(rows, _Times("total_", "total", {"cpu": 6, "blocked": 5, "idle": 0, "waited": 3})),
    ]
    title = f"Functions by own cpu + blocked{_of(rows, order)}"
    return [title, *table(columns, "function", [_function_text(row) for row in rows], width)]


def _function_text(row: Function) -> Callable[[int], str]:
    return lambda columns: fit_function(row.qualname, row.file, row.line, columns)


def _task_table(snapshot: Snapshot, width: int, top: int) -> list[str]:
    order = sorted(snapshot.tasks, key=lambda row: (-row.cpu - row.blocked, -row.waited, row.id))
    rows = order[: top or None]
    columns = [
        Column("id", [str(row.id) for row in rows], 9),
        Column("thread", [str(row.thread) for row in rows], 1),
        Column("state", [row.state for row in rows], 5),
        Column("switches", [f"{row.switches:,}" for row in rows], 4),
        *_time_columns(rows, _Times("", "", {"cpu": 8, "blocked": 7, "idle": 2, "waited": 6, "longest": 3})),
    ]
    title = f"Tasks by cpu + blocked{_of(rows, order)}"
    return [title, *table(columns, "task", [_task_text(row) for row in rows], width)]


def _task_text(row: Task) -> Callable[[int], str]:
    entry = printable(row.entry)
    text = printable(row.name) or entry or "task"
    if row.name and entry:
        text += f" ({entry})"
    if row.hub:
        text += ", a hub"
    if row.wait:
        text += f", waits in {printable(row.wait)}"
    return lambda columns: cut(text, columns)


def _group_table(snapshot: Snapshot, width: int, top: int) -> list[str]:
    order = sorted(
        (row for row in snapshot.groups if row.started or row.switches),
        key=lambda row: (-row.cpu - row.blocked, -row.waited, row.entry),
    )
    rows = order[: top or None]
    columns = [
        Column("tasks", [f"{row.started:,}" for row in rows], 9),
        Column("alive", [f"{row.started - row.ended:,}" for row in rows], 5),
        Column("switches", [f"{row.switches:,}" for row in rows], 4),
        *_time_columns(rows, _Times("", "", {"cpu": 8, "blocked": 7, "idle": 2, "waited": 6, "longest": 3})),
    ]
    title = f"Groups of tasks with the same entry function, by cpu + blocked{_of(rows, order)}"
    return [title, *table(columns, "entry function", [_group_text(snapshot, row) for row in rows], width)]


def _group_text(snapshot: Snapshot, row: Group) -> Callable[[int], str]:
    label = f" [{printable(row.label)}]" if row.label else ""
    if row.function < 0:
        return lambda columns: cut((printable(row.entry) or "(before the first call)") + label, columns)
    function = snapshot.functions[row.function]
    return lambda columns: fit_function(row.entry + label, function.file, function.line, columns)


def _thread_table(snapshot: Snapshot, width: int) -> list[str]:
    rows = snapshot.threads
    hubs = hub_numbers(snapshot)
    columns = [
        Column("id", [str(row.id) for row in rows], 9),
        Column("state", [row.state for row in rows], 4),
        *_time_columns(rows, _Times("", "", {"cpu": 8, "blocked": 7, "idle": 6, "wall": 5})),
    ]
    return ["Threads", *table(columns, "thread", [_thread_text(row, hubs.get(row.id)) for row in rows], width)]


def _thread_text(row: Thread, hub: int | None) -> Callable[[int], str]:
    name = printable(row.name) or f"thread {row.tid}"
    return lambda columns: cut(f"{name}, hub {hub}" if hub else name, columns)


def _of(rows: Sequence[object], order: Sequence[object]) -> str:
    return f", {len(rows)} of {len(order):,}" if len(rows) < len(order) else ""
