"""Who held a hub: the long slices, by the function in which they were spent, and who waited for the GIL meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .snapshots import FunctionHold, GilWait, LongSlice, Snapshot
from .text import duration, place, plural, printable

_CALLERS = 2  # that the sentence names


class Hold(NamedTuple):
    """All long slices of one function on one hub's thread. function: index, -1: not known. hub: 1 is the first.

    held = cpu + blocked, in seconds. share: of the hub's lifetime. longest: single slice. path: of a long one, empty
    where none is kept. gil: how much of `held` was waiting for the GIL in the slices that are kept.
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
    gil: float


def hub_numbers(snapshot: Snapshot) -> dict[int, int]:
    """By thread id: 1 for the first thread that has a hub, 2 for the next."""
    threads = [thread.id for thread in snapshot.threads if thread.hub]
    return {thread: number for number, thread in enumerate(threads, 1)}


def find_holds(snapshot: Snapshot) -> list[Hold]:
    """Who held hubs for longer than the threshold, most time first. What lasts counts too."""
    hubs = hub_numbers(snapshot)
    sums = {(hubs[row.thread], row.function): row for row in snapshot.holds if row.thread in hubs}
    lifetimes = {task.thread: task.lifetime for task in snapshot.tasks if task.hub}
    begins = {thread: snapshot.totals.duration - lifetime for thread, lifetime in lifetimes.items()}
    found: dict[tuple[int, int], list[LongSlice]] = {}
    for row in _held(snapshot):
        # What a thread did before it had a hub held nobody up: a program's imports, above all.
        if row.thread in hubs and row.begin >= begins.get(row.thread, 0.0):
            found.setdefault((hubs[row.thread], row.function), []).append(row)
    threads = {number: thread for thread, number in hubs.items()}
    holds = [
        _sum(key, found.get(key, []), sums.get(key), lifetimes.get(threads[key[0]], 0.0))
        for key in dict.fromkeys((*found, *sums))
    ]
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
    if hold.gil > 0:
        text += f" About {duration(hold.gil)} of that it only waited for the GIL."
    if others:
        text += f" {plural(len(others), 'other')} held a hub for more than {limit} too."
    return text


def _held(snapshot: Snapshot) -> Iterator[LongSlice]:
    """An idle hub is current for long, but holds nobody up."""
    return (row for row in snapshot.slices if row.cpu + row.blocked >= snapshot.about.threshold)


def _sum(key: tuple[int, int], rows: list[LongSlice], sums: FunctionHold | None, lifetime: float) -> Hold:
    """rows: the slices that are kept. sums: of all that are over, where the recording has them."""
    hub, function = key
    counted = [row for row in rows if sums is None or row.lasts]
    cpu = sum(row.cpu for row in counted) + (sums.cpu if sums else 0.0)
    blocked = sum(row.blocked for row in counted) + (sums.blocked if sums else 0.0)
    longest = max(rows, key=lambda row: row.cpu + row.blocked, default=None)
    return Hold(
        function=function,
        hub=hub,
        path=longest.path if longest else (),
        times=len(counted) + (sums.times if sums else 0),
        held=cpu + blocked,
        cpu=cpu,
        blocked=blocked,
        longest=max(longest.cpu + longest.blocked if longest else 0.0, sums.longest if sums else 0.0),
        share=(cpu + blocked) / lifetime if lifetime > 0 else 0.0,
        gil=sum(min(row.gil, row.blocked) for row in rows),
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


def gil_sentences(snapshot: Snapshot, most: int = 3) -> list[str]:
    """Who waited longest for the GIL, and who held it meanwhile; one line each. Empty where nobody was seen to."""
    waits: dict[tuple[int, int, tuple[int, ...]], list[GilWait]] = {}
    for row in snapshot.gil:
        waits.setdefault((row.thread, row.holder, row.holder_path), []).append(row)
    rows = sorted(waits.items(), key=lambda item: -sum(row.waited for row in item[1]))
    return [_gil_sentence(snapshot, thread, holder, found) for (thread, holder, _), found in rows[:most]]


def _gil_sentence(snapshot: Snapshot, thread: int, holder: int, rows: list[GilWait]) -> str:
    waiter = max(rows, key=lambda row: row.waited)
    where = _function(snapshot, waiter.holder_path)
    text = (
        f"{_thread(snapshot, thread)} waited about {duration(sum(row.waited for row in rows))} for the GIL, held by "
        f"{_thread(snapshot, holder)}{f' in {where}' if where else ''}"
    )
    place = _function(snapshot, waiter.path)
    return f"{text}; mostly {place} waited." if place else f"{text}."


def _thread(snapshot: Snapshot, number: int) -> str:
    hub = hub_numbers(snapshot).get(number)
    if hub is not None:
        return f"Hub {hub}"
    for thread in snapshot.threads:
        if thread.id == number:
            return f"thread {printable(thread.name) or thread.tid}"
    return "a thread that is not profiled"


def _function(snapshot: Snapshot, path: tuple[int, ...]) -> str:
    if not path:
        return ""
    function = snapshot.functions[path[-1]]
    where = place(function.file, function.line)
    return printable(function.qualname) + (f" ({where})" if where else "")
