"""Who held a hub: the long slices, by the function in which they were spent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .snapshots import LongSlice, Snapshot
from .text import duration, place, plural, printable

_CALLERS = 2  # that the sentence names


class Hold(NamedTuple):
    """All long slices of one function on one hub's thread. function: index, -1: not known. hub: 1 is the first.

    held = cpu + blocked, in seconds. share: of the hub's lifetime. longest: single slice.
    """

    function: int
    hub: int
    path: tuple[int, ...]
    times: int
    held: float
    cpu: float
    blocked: float
    longest: float
    share: float


def hub_numbers(snapshot: Snapshot) -> dict[int, int]:
    """By thread id: 1 for the first thread that has a hub, 2 for the next."""
    threads = [thread.id for thread in snapshot.threads if thread.hub]
    return {thread: number for number, thread in enumerate(threads, 1)}


def find_holds(snapshot: Snapshot) -> list[Hold]:
    """Who held hubs for longer than the threshold, most time first."""
    hubs = hub_numbers(snapshot)
    lifetimes = {task.thread: task.lifetime for task in snapshot.tasks if task.hub}
    begins = {thread: snapshot.totals.duration - lifetime for thread, lifetime in lifetimes.items()}
    found: dict[tuple[int, int], list[LongSlice]] = {}
    for row in _held(snapshot):
        # What a thread did before it had a hub held nobody up: a program's imports, above all.
        if row.thread in hubs and row.begin >= begins.get(row.thread, 0.0):
            found.setdefault((hubs[row.thread], row.function), []).append(row)
    holds = [_sum(hub, rows, lifetimes.get(rows[0].thread, 0.0)) for (hub, _), rows in found.items()]
    return sorted(holds, key=lambda hold: (-hold.held, hold.hub, hold.function))


def sentence(snapshot: Snapshot) -> str:
    """Who held a hub longest, in a sentence; empty where there is no hub."""
    if not hub_numbers(snapshot):
        return ""
    limit = duration(snapshot.about.threshold)
    holds = find_holds(snapshot)
    if not holds:
        return f"No hub was held for more than {limit}."
    hold, *others = holds
    times = (
        f"{duration(hold.held / hold.times)} each time, {hold.times} times"
        if hold.times > 1
        else (f"{duration(hold.held)} once")
    )
    text = (
        f"{_name(snapshot, hold)} held hub {hold.hub} for {times}, {100 * hold.share:.1f} % of its time: "
        f"{_parts(hold)}."
    )
    if others:
        text += f" {plural(len(others), 'other')} held a hub for more than {limit} too."
    return text


def _held(snapshot: Snapshot) -> Iterator[LongSlice]:
    """An idle hub is current for long, but holds nobody up."""
    return (row for row in snapshot.slices if row.cpu + row.blocked >= snapshot.about.threshold)


def _sum(hub: int, rows: list[LongSlice], lifetime: float) -> Hold:
    cpu, blocked = sum(row.cpu for row in rows), sum(row.blocked for row in rows)
    longest = max(rows, key=lambda row: row.cpu + row.blocked)
    return Hold(
        function=longest.function,
        hub=hub,
        path=longest.path,
        times=len(rows),
        held=cpu + blocked,
        cpu=cpu,
        blocked=blocked,
        longest=longest.cpu + longest.blocked,
        share=(cpu + blocked) / lifetime if lifetime > 0 else 0.0,
    )


def _name(snapshot: Snapshot, hold: Hold) -> str:
    if hold.function < 0:
        return "A task before its first call"
    function = snapshot.functions[hold.function]
    callers = [printable(snapshot.functions[i].qualname) for i in hold.path[-2 : -2 - _CALLERS : -1]]
    called_by = f", called by {' < '.join(callers)}," if callers else ""
    where = place(function.file, function.line)
    return printable(function.qualname) + (f" ({where})" if where else "") + called_by


def _parts(hold: Hold) -> str:
    each = 1 / hold.times
    parts = [(hold.blocked * each, "blocked"), (hold.cpu * each, "on the CPU")]
    parts.sort(reverse=True)
    return ", ".join(f"{duration(seconds)} {what}" for seconds, what in parts if seconds > 0)
