"""What holds for every recording, whatever the program did: conftest.py checks each one that a test leaves behind.

Times are nanoseconds. What has ended or stands still must fit exactly, but for the rounding of each sum; what goes on
while the picture is taken must fit within 1 %.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from flamelet.picture import Picture
from flamelet.recording import Recording
from flamelet.snapshots import make_snapshot
from flamelet.tables import Row, Task, Thread

_ROUNDING = 2_000  # of some hundred sums, each rounded to ns, and of ticks
_FIELDS = ("cpu", "blocked", "idle", "waited", "calls", "switches", "longest", "started", "ended")
_FIELDS_OF_SLICE = ("slice_cpu", "slice_blocked", "slice_idle")


def complaints(recording: Recording) -> list[str]:
    """What is wrong with a recording at its end; nothing where all is well."""
    picture = recording.picture
    return [
        *_negative(picture),
        *_lifetimes(picture),
        *_threads(picture),
        *_groups(picture),
        *_nodes(picture),
        *_functions(recording),
    ]


def _near(value: float, truth: float, *, still: bool) -> bool:
    return abs(value - truth) <= _ROUNDING + (0 if still else max(0.01 * abs(truth), 100_000))


def _negative(picture: Picture) -> Iterator[str]:
    tables: tuple[tuple[str, dict[int, Row]], ...] = (
        ("thread", dict(picture.threads)),
        ("task", dict(picture.tasks)),
        ("group", dict(picture.groups)),
        ("node", dict(picture.nodes)),
        ("slice", dict(picture.slices)),
    )
    for kind, rows in tables:
        for number, row in rows.items():
            for field in (*_FIELDS, *_FIELDS_OF_SLICE):
                if getattr(row, field, 0) < 0:
                    yield f"{kind} {number}: {field} is {getattr(row, field)}"
    for number, task in picture.tasks.items():
        if not 0 <= task.begin <= task.since <= picture.now:
            yield f"task {number}: begins at {task.begin}, in its state since {task.since}, and now is {picture.now}"
    for number, piece in picture.slices.items():
        if piece.end < piece.begin:
            yield f"slice {number}: from {piece.begin} to {piece.end}"


def _open_wait(picture: Picture, task: Task) -> int:
    return picture.now - task.since if task.state == Task.PARKED else 0


def _lifetimes(picture: Picture) -> Iterator[str]:
    """A task's cpu + blocked + idle + waited is its lifetime."""
    running = picture.status.state == "running"
    for number, task in picture.tasks.items():
        parts = task.cpu + task.blocked + task.idle + task.waited + _open_wait(picture, task)
        lifetime = (task.since if task.state == Task.ENDED else picture.now) - task.begin
        if not _near(parts, lifetime, still=not (running and task.state == Task.CURRENT)):
            yield f"task {number}: cpu + blocked + idle + waited is {parts}, and it lived for {lifetime}"


def _threads(picture: Picture) -> Iterator[str]:
    """A thread's cpu + blocked + idle is its wall time, and that of its tasks while none of them is forgotten."""
    running = picture.status.state == "running"
    of_tasks: dict[int, int] = defaultdict(int)
    for task in picture.tasks.values():
        of_tasks[task.thread] += task.cpu + task.blocked + task.idle
    complete = sum(group.started for group in picture.groups.values()) == len(picture.tasks)
    for number, thread in picture.threads.items():
        wall = (picture.now if thread.state == Thread.LIVES else thread.end) - thread.begin
        whole = thread.cpu + thread.blocked + thread.idle
        still = not running or thread.state != Thread.LIVES
        if not _near(whole, wall, still=still):
            yield f"thread {number}: cpu + blocked + idle is {whole}, and its wall time {wall}"
        if complete and not _near(of_tasks[number], whole, still=still):
            yield f"thread {number}: its tasks have {of_tasks[number]}, and itself {whole}"
        held = thread.slice_cpu + thread.slice_blocked + thread.slice_idle
        if held > whole + _ROUNDING:
            yield f"thread {number}: its current slice has {held} of its {whole}"


def _groups(picture: Picture) -> Iterator[str]:
    """A group has at least what its tasks have that are still known."""
    for field in ("cpu", "blocked", "idle", "waited"):
        of_tasks: dict[int, int] = defaultdict(int)
        for task in picture.tasks.values():
            of_tasks[task.group] += getattr(task, field)
        # A task's first moments, up to its first call, stay with group 0.
        whole = sum(getattr(group, field) for group in picture.groups.values())
        if whole + _ROUNDING + 0.01 * whole < sum(of_tasks.values()):
            yield f"groups: {field} is {whole} in all, and their tasks have {sum(of_tasks.values())}"
    for number, group in picture.groups.items():
        if group.ended > group.started:
            yield f"group {number}: {group.ended} tasks ended, of {group.started}"


def _nodes(picture: Picture) -> Iterator[str]:
    """Own times of all nodes are those of all threads; children lie within their parents."""
    inclusive = {number: row.cpu + row.blocked + row.idle for number, row in picture.nodes.items()}
    for number in sorted(picture.nodes, reverse=True):
        parent = picture.nodes[number].parent
        if parent:
            inclusive[parent] += inclusive[number]
    children: dict[int, int] = defaultdict(int)
    for number, row in picture.nodes.items():
        if row.parent:
            children[row.parent] += inclusive[number]
            parent_row = picture.nodes[row.parent]
            if (parent_row.group, parent_row.thread) != (row.group, row.thread):
                yield f"node {number}: in another group or thread than its parent {row.parent}"
    for number, inside in children.items():
        if inside > inclusive[number]:
            yield f"node {number}: its children have {inside} of its {inclusive[number]}"
    # Threads that are forgotten have left their time in the nodes.
    if picture.threads and len(picture.threads) == max(picture.threads):
        for field in ("cpu", "blocked", "idle"):
            own = sum(getattr(row, field) for row in picture.nodes.values())
            whole = sum(getattr(thread, field) for thread in picture.threads.values())
            # Not to the nanosecond: what is open is split into cpu and blocked twice, at two moments.
            if not _near(own, whole, still=False):
                yield f"nodes: {field} is {own} in all, and the threads have {whole}"


def _functions(recording: Recording) -> Iterator[str]:
    """Of the rows of a report: own within total, an edge within its two ends."""
    snapshot = make_snapshot(recording)
    rows = snapshot.functions
    for row in rows:
        for kind in ("cpu", "blocked", "idle", "waited"):
            own, total = getattr(row, f"own_{kind}"), getattr(row, f"total_{kind}")
            if not -1e-9 <= own <= total + 1e-9:
                yield f"{row.qualname}: own {kind} is {own}, total {total}"
        if row.calls < 0:
            yield f"{row.qualname}: {row.calls} calls"
    for edge in snapshot.edges:
        for kind in ("cpu", "blocked", "waited"):
            of_edge = getattr(edge, f"total_{kind}")
            ends = [getattr(rows[end], f"total_{kind}") for end in (edge.caller, edge.callee)]
            if of_edge > min(ends) + 1e-9:
                yield f"{rows[edge.caller].name} to {rows[edge.callee].name}: {kind} {of_edge}, of the two {ends}"


def of_all(recordings: Iterable[tuple[str, Recording]]) -> list[str]:
    """The complaints of several recordings, each with its name."""
    return [f"{name}: {complaint}" for name, recording in recordings for complaint in complaints(recording)]
