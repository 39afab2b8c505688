"""A snapshot: everything that is known at one moment, as rows that do not change.

The columns are those of `flamelet report --json` (docs/report-json.md). Seconds are floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from .picture import Picture
from .recording import Recording
from .tables import Slice as SliceRow
from .tables import Task as TaskRow
from .tables import Thread as ThreadRow
from .trees import BLOCKED, CPU, IDLE, WAITED, TreeSums, sum_trees

TASK_STATES = {TaskRow.CURRENT: "current", TaskRow.PARKED: "parked", TaskRow.ENDED: "ended"}


class Function(NamedTuple):
    """A function that was called, or that was running. line: 0 for a function written in C.

    seeded: times that it was on a stack already when profiling was started, which is no call. own: in the function
    itself; total: with everything that it called, each moment once.
    """

    name: str
    qualname: str
    file: str
    line: int
    calls: int
    own_cpu: float
    own_blocked: float
    own_idle: float
    own_waited: float
    total_cpu: float
    total_blocked: float
    total_idle: float
    total_waited: float
    seeded: int


class Edge(NamedTuple):
    """The calls from one function to another. caller, callee: indices into `functions`."""

    caller: int
    callee: int
    calls: int
    total_cpu: float
    total_blocked: float
    total_waited: float


class Task(NamedTuple):
    """A greenlet, or a thread's own stack. cpu + blocked + idle + waited = lifetime.

    name: its own, empty where it has none. entry: qualified name of its first function. thread: an id of `threads`.
    state: "current", "parked" or "ended". switches: times it was switched to. group: index into `groups`, -1: none.
    longest: its longest slice. wait: the call in which it is parked, empty where that is not known. hub: it runs its
    thread's event loop.
    """

    id: int
    name: str
    entry: str
    thread: int
    state: str
    switches: int
    lifetime: float
    cpu: float
    blocked: float
    idle: float
    waited: float
    longest: float
    wait: str
    group: int
    hub: bool


class Group(NamedTuple):
    """All tasks that ever had this entry function, also those of which no row is left.

    function: index of the entry function into `functions`, -1 where there is none yet. started, ended: tasks.
    """

    entry: str
    label: str
    function: int
    started: int
    ended: int
    switches: int
    cpu: float
    blocked: float
    idle: float
    waited: float
    longest: float


class Thread(NamedTuple):
    """An OS thread. cpu + blocked + idle = wall. state: "alive" or "ended". hub: task id of its hub, 0: none.

    cost: what flamelet itself took of `wall`, an estimate: events times what one costs. 0 where that is not known.
    """

    id: int
    tid: int
    name: str
    state: str
    hub: int
    wall: float
    cpu: float
    blocked: float
    idle: float
    cost: float


class LongSlice(NamedTuple):
    """A task that had its thread for longer than the threshold without a switch.

    begin: from the session's start. function: where most of it was spent, an index into `functions`, -1: not known.
    path: indices from the entry function to that one. lasts: it is not over yet. gil: how long it waited for the GIL
    meanwhile, as far as samples saw it; holder, holder_path: the thread (an id of `threads`, 0: not known) that held it
    last, and where that was.
    """

    task: int
    thread: int
    entry: str
    function: int
    path: tuple[int, ...]
    begin: float
    duration: float
    cpu: float
    blocked: float
    idle: float
    lasts: bool
    gil: float
    holder: int
    holder_path: tuple[int, ...]


class FunctionHold(NamedTuple):
    """All long slices that were spent in one function, on one thread since it had a hub: exact, however many.

    function: an index into `functions`, -1: those of functions that found no place of their own, or of none.
    """

    function: int
    thread: int
    times: int
    cpu: float
    blocked: float
    longest: float


class GilWait(NamedTuple):
    """A task that waited for the GIL while one thread held it, as samples saw it; without a live view there are none.

    task: 0 for all others of the thread. path: where it mostly waited, indices into `functions`. holder: an id of
    `threads`, 0: a thread that is not profiled. holder_path: where that mostly was. looks: samples. waited: seconds.
    """

    task: int
    thread: int
    path: tuple[int, ...]
    holder: int
    holder_path: tuple[int, ...]
    looks: int
    waited: float


class Totals(NamedTuple):
    """Sums over the whole session. wall = cpu + blocked + idle, over all threads.

    duration: from the session's start, stops left out. threads, tasks: that there ever were. switches: between tasks.
    outside: time of no function, before the first call of a task. `waited` has no total: it overlaps between tasks.
    """

    duration: float
    threads: int
    tasks: int
    functions: int
    calls: int
    switches: int
    wall: float
    cpu: float
    blocked: float
    idle: float
    outside_cpu: float
    outside_blocked: float
    outside_idle: float


class About(NamedTuple):
    """What was profiled. state: "running", "stopped" or "ended". epoch: Unix time of the session's start.

    threshold: who held a hub longer is in `slices`. greenlets: greenlet switches were seen; else the tasks are threads
    only. reading: what one reading of the clocks costs. call_cost, switch_cost: what flamelet adds to a call with its
    return, and to a switch; 0: not known. complete: the program came to its end. warning: what is missing
    from a recording.
    """

    program: str
    python: str
    version: str
    pid: int
    epoch: float
    state: str
    threshold: float
    greenlets: bool
    reading: float
    call_cost: float
    switch_cost: float
    complete: bool
    warning: str


class Collections(NamedTuple):
    """Garbage collections: how many, how long they held their threads in all, and the longest. Each generation is a
    function, too, below whom it interrupted."""

    collections: int
    time: float
    longest: float


class Snapshot(NamedTuple):
    """All rows. clock: the wall counter and how CPU time is known, as `tsc+rseq`. lost: counts of what was shed."""

    about: About
    functions: tuple[Function, ...]
    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]
    threads: tuple[Thread, ...]
    slices: tuple[LongSlice, ...]
    holds: tuple[FunctionHold, ...]
    gil: tuple[GilWait, ...]
    gc: Collections
    totals: Totals
    clock: str
    lost: Mapping[str, int]


def make_snapshot(recording: Recording) -> Snapshot:
    """The rows of a recording at its end."""
    picture = recording.picture
    sums = sum_trees(picture.nodes, _open_waits(picture, "node"))
    index = {number: position for position, number in enumerate(sorted(sums.functions))}
    groups, group_index = _groups(picture, index)
    threads = tuple(_thread(picture, number, row) for number, row in sorted(picture.threads.items()))
    functions = _functions(picture, sums, index)
    return Snapshot(
        about=_about(recording),
        functions=functions,
        tasks=tuple(_task(picture, number, row, group_index) for number, row in sorted(picture.tasks.items())),
        edges=_edges(sums, index),
        groups=groups,
        threads=threads,
        slices=_slices(recording, index),
        holds=_holds(picture, index),
        gil=_gil(picture, index),
        gc=_collections(picture),
        totals=_totals(picture, sums, functions, groups, threads),
        clock=picture.status.clock,
        lost=MappingProxyType(dict(picture.status.lost)),
    )


def _collections(picture: Picture) -> Collections:
    count, *times = picture.status.collections
    return Collections(count, *map(_seconds, times))


def _seconds(ns: int) -> float:
    return ns / 1e9


def _since(picture: Picture, instant: int) -> int:
    """ns from an instant up to now; never negative, whatever a recording says."""
    return max(0, picture.now - instant)


def _open_waits(picture: Picture, key: str) -> dict[int, int]:
    """What parked tasks have waited since they were parked, summed by their `node` or `group`; ns."""
    waits: dict[int, int] = {}
    for task in picture.tasks.values():
        if task.state == TaskRow.PARKED:
            number: int = getattr(task, key)
            waits[number] = waits.get(number, 0) + _since(picture, task.since)
    return waits


def _about(recording: Recording) -> About:
    about, status = recording.about, recording.picture.status
    return About(
        program=about.program,
        python=about.python,
        version=about.version,
        pid=about.pid,
        epoch=about.epoch / 1e3,
        state=status.state,
        threshold=_seconds(about.threshold),
        greenlets=status.switches,
        reading=_seconds(status.reading),
        call_cost=_seconds(status.call_cost),
        switch_cost=_seconds(status.switch_cost),
        complete=recording.complete,
        warning=recording.warning,
    )


def _functions(picture: Picture, sums: TreeSums, index: Mapping[int, int]) -> tuple[Function, ...]:
    rows = []
    for number in index:
        function, row = picture.function(number), sums.functions[number]
        times = (_seconds(ns) for ns in (*row.own, *row.total))
        texts = (function.name, function.qualname, function.file, function.line)
        rows.append(Function._make((*texts, row.calls, *times, row.seeded)))
    return tuple(rows)


def _edges(sums: TreeSums, index: Mapping[int, int]) -> tuple[Edge, ...]:
    return tuple(
        Edge(
            caller=index[caller],
            callee=index[callee],
            calls=row.calls,
            total_cpu=_seconds(row.total[CPU]),
            total_blocked=_seconds(row.total[BLOCKED]),
            total_waited=_seconds(row.total[WAITED]),
        )
        for (caller, callee), row in sorted(sums.edges.items())
    )


def _groups(picture: Picture, index: Mapping[int, int]) -> tuple[tuple[Group, ...], dict[int, int]]:
    """The rows, and where the group with an id is among them."""
    waits = _open_waits(picture, "group")
    rows = tuple(
        Group(
            entry=picture.function(group.entry).qualname,
            label=picture.string(group.label),
            function=index.get(group.entry, -1),
            started=group.started,
            ended=group.ended,
            switches=group.switches,
            cpu=_seconds(group.cpu),
            blocked=_seconds(group.blocked),
            idle=_seconds(group.idle),
            waited=_seconds(group.waited + waits.get(number, 0)),
            longest=_seconds(group.longest),
        )
        for number, group in sorted(picture.groups.items())
    )
    return rows, {number: position for position, number in enumerate(sorted(picture.groups))}


def _task(picture: Picture, number: int, task: TaskRow, group_index: Mapping[int, int]) -> Task:
    open_wait = _since(picture, task.since) if task.state == TaskRow.PARKED else 0
    group, thread = picture.groups.get(task.group), picture.threads.get(task.thread)
    return Task(
        id=number,
        name=picture.string(task.name),
        entry=picture.function(group.entry).qualname if group else "",
        thread=task.thread,
        state=TASK_STATES.get(task.state, str(task.state)),
        switches=task.switches,
        lifetime=_seconds(max(0, (task.since if task.state == TaskRow.ENDED else picture.now) - task.begin)),
        cpu=_seconds(task.cpu),
        blocked=_seconds(task.blocked),
        idle=_seconds(task.idle),
        waited=_seconds(task.waited + open_wait),
        longest=_seconds(task.longest),
        wait=picture.string(task.wait) if task.state == TaskRow.PARKED else "",
        group=group_index.get(task.group, -1),
        # The thread's word counts too: a task may turn out to be a hub later.
        hub=task.hub != 0 or (thread is not None and thread.hub == number),
    )


def _thread(picture: Picture, number: int, thread: ThreadRow) -> Thread:
    alive = thread.state == ThreadRow.LIVES
    return Thread(
        id=number,
        tid=thread.tid,
        name=picture.string(thread.name),
        state="alive" if alive else "ended",
        hub=thread.hub,
        wall=_seconds(max(0, (picture.now if alive else thread.end) - thread.begin)),
        cpu=_seconds(thread.cpu),
        blocked=_seconds(thread.blocked),
        idle=_seconds(thread.idle),
        cost=_seconds(thread.cost),
    )


def _slices(recording: Recording, index: Mapping[int, int]) -> tuple[LongSlice, ...]:
    picture = recording.picture
    rows = [_slice(picture, row, index, lasts=False) for _, row in sorted(picture.slices.items())]
    for number, thread in sorted(picture.threads.items()):
        held = thread.slice_cpu + thread.slice_blocked
        if thread.state == ThreadRow.LIVES and held > recording.about.threshold:
            row = SliceRow()
            row.thread, row.task, row.node = number, thread.task, thread.slice_node or thread.node
            row.gil, row.gil_holder, row.gil_node = 0, thread.gil_holder if thread.gil_wait else 0, 0
            row.group = picture.tasks[thread.task].group if thread.task in picture.tasks else 0
            row.begin, row.end = thread.slice, max(picture.now, thread.slice)
            row.cpu, row.blocked, row.idle = thread.slice_cpu, thread.slice_blocked, thread.slice_idle
            rows.append(_slice(picture, row, index, lasts=True))
    return tuple(rows)


def _slice(picture: Picture, row: SliceRow, index: Mapping[int, int], *, lasts: bool) -> LongSlice:
    path = _path(picture, row.node, index)
    group = picture.groups.get(row.group)
    if not path and group and group.entry in index:
        # At its end the task had left all its functions.
        path = (index[group.entry],)
    return LongSlice(
        task=row.task,
        thread=row.thread,
        entry=picture.function(group.entry).qualname if group else "",
        function=path[-1] if path else -1,
        path=path,
        begin=_seconds(row.begin),
        duration=_seconds(max(0, row.end - row.begin)),
        cpu=_seconds(row.cpu),
        blocked=_seconds(row.blocked),
        idle=_seconds(row.idle),
        lasts=lasts,
        gil=_seconds(row.gil),
        holder=row.gil_holder,
        holder_path=_path(picture, row.gil_node, index),
    )


def _path(picture: Picture, number: int, index: Mapping[int, int]) -> tuple[int, ...]:
    """Indices of the functions from the entry function to this node's."""
    path: list[int] = []
    node = picture.nodes.get(number)
    while node is not None:
        if node.function in index:
            path.append(index[node.function])
        node = picture.nodes.get(node.parent)
    return tuple(reversed(path))


def _holds(picture: Picture, index: Mapping[int, int]) -> tuple[FunctionHold, ...]:
    rows = [
        FunctionHold(
            function=index.get(row.function, -1),
            thread=row.thread,
            times=row.count,
            cpu=_seconds(row.cpu),
            blocked=_seconds(row.blocked),
            longest=_seconds(row.longest),
        )
        for row in picture.holds.values()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.longest, row.thread, row.function)))


def _gil(picture: Picture, index: Mapping[int, int]) -> tuple[GilWait, ...]:
    rows = [
        GilWait(
            task=row.task,
            thread=row.thread,
            path=_path(picture, row.node, index),
            holder=row.holder,
            holder_path=_path(picture, row.holder_node, index),
            looks=row.looks,
            waited=_seconds(row.waited),
        )
        for row in picture.gil.values()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.waited, row.thread, row.task, row.holder)))


def _totals(
    picture: Picture,
    sums: TreeSums,
    functions: tuple[Function, ...],
    groups: tuple[Group, ...],
    threads: tuple[Thread, ...],
) -> Totals:
    return Totals(
        duration=_seconds(picture.now),
        threads=max(picture.threads, default=0),
        tasks=sum(group.started for group in groups),
        functions=len(functions),
        # What flamelet made itself, such as the collections, is no call of the program's.
        calls=sum(row.calls for number, row in sums.functions.items() if picture.function(number).kind != 2),
        switches=sum(group.switches for group in groups),
        wall=sum(thread.wall for thread in threads),
        cpu=sum(thread.cpu for thread in threads),
        blocked=sum(thread.blocked for thread in threads),
        idle=sum(thread.idle for thread in threads),
        outside_cpu=_seconds(sums.outside[CPU]),
        outside_blocked=_seconds(sums.outside[BLOCKED]),
        outside_idle=_seconds(sums.outside[IDLE]),
    )
