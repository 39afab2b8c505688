"""A snapshot for people (text that fits a terminal) and for programs (JSON, docs/report-json.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple

from .holds import find_holds, gil_sentences, hub_numbers, sentence
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
    "displaced": "times that another tool took our hooks away",
    "slices": "long slices that were overwritten",
    "strings": "names that found no room",
    "threads": "threads that found no room",
    "timeline": "short slices that were overwritten",
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
    holds = _hold_table(snapshot, width, top)
    if holds:
        lines += ["", *holds]
    answers = [*([answer] if (answer := sentence(snapshot)) else ()), *gil_sentences(snapshot)]
    return [*lines, "", *answers] if answers else lines


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
    cost = _cost(snapshot)
    if cost:
        lines.append(cost)
    if snapshot.gc.collections:
        lines.append(
            f"{plural(snapshot.gc.collections, 'garbage collection')}: {duration(snapshot.gc.time)}, "
            f"the longest {duration(snapshot.gc.longest)}"
        )
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


def _cost(snapshot: Snapshot) -> str:
    """What flamelet itself cost the thread that it cost most, a hub if there is one; empty where that is not known."""
    hubs = hub_numbers(snapshot)
    threads = [row for row in snapshot.threads if row.wall > 0 and (row.id in hubs or not hubs)]
    if not threads or snapshot.about.call_cost <= 0:
        return ""
    most = max(threads, key=lambda row: row.cost / row.wall)
    name = f"hub {hubs[most.id]}" if most.id in hubs else f"thread {printable(most.name) or most.tid}"
    return f"flamelet itself cost about {100 * most.cost / most.wall:.1f} % of {name}"


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


def _hold_table(snapshot: Snapshot, width: int, top: int) -> list[str]:
    """Which function had a hub longest without a switch; nothing where none had one for long."""
    order = sorted(find_holds(snapshot), key=lambda row: (-row.longest, row.hub, row.function))
    if not order:
        return []
    rows = order[: top or None]
    hubs = len(hub_numbers(snapshot)) > 1
    columns = [
        Column("times", [f"{row.times:,}" for row in rows], 8),
        Column("longest", [cell(row.longest) for row in rows], 9),
        Column("cpu", [cell(row.cpu) for row in rows], 6),
        Column("blocked", [cell(row.blocked) for row in rows], 5),
        Column("GIL", [cell(row.gil) for row in rows], 4),
    ]
    if hubs:
        columns.insert(0, Column("hub", [str(row.hub) for row in rows], 7))
    limit = duration(snapshot.about.threshold)
    title = f"Functions that had a hub for more than {limit} without a switch, by the longest time{_of(rows, order)}"
    return [cut(title, width), *table(columns, "function", [_hold_text(snapshot, row.function) for row in rows], width)]


def _hold_text(snapshot: Snapshot, function: int) -> Callable[[int], str]:
    if function < 0:
        return lambda columns: cut("(others)", columns)
    return _function_text(snapshot.functions[function])


def _of(rows: Sequence[object], order: Sequence[object]) -> str:
    return f", {len(rows)} of {len(order):,}" if len(rows) < len(order) else ""
