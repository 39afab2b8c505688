"""The tables of an update, and the rows that a client makes of them.

Times are integers in nanoseconds, as on the wire. ADD and UPD name the columns in which an update brings and renews a
row, beside its id, with the largest value that each may hold. LATER names those of them that servers did not always
send: they are 0 where they are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from .checks import INT32, INT64

_ID = INT32


def _times(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, INT64)


def _ids(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, _ID)


class Function(NamedTuple):
    """Texts and first line of a function. kind: 0 Python, 1 C, 2 made by flamelet."""

    name: str
    qualname: str
    file: str
    line: int
    kind: int


FUNCTION_COLUMNS = {**_ids("name", "qualname", "file", "line"), "kind": 2}


class Row:
    __slots__ = ()
    ADD: ClassVar[Mapping[str, int]] = {}
    UPD: ClassVar[Mapping[str, int]] = {}
    LATER: ClassVar[frozenset[str]] = frozenset()


class Group(Row):
    ADD: ClassVar = _ids("entry", "label")
    UPD: ClassVar = _times("started", "ended", "switches", "cpu", "blocked", "idle", "waited", "longest")
    __slots__ = (*ADD, *UPD)

    entry: int
    label: int
    started: int
    ended: int
    switches: int
    cpu: int
    blocked: int
    idle: int
    waited: int
    longest: int


class Thread(Row):
    LIVES: ClassVar = 1

    ADD: ClassVar = _times("tid", "begin")
    UPD: ClassVar = {
        **_ids("name"),
        "state": 2,
        **_ids("hub", "task", "node"),
        **_times("since", "slice", "slice_cpu", "slice_blocked", "slice_idle"),
        **_ids("slice_node"),
        **_times("cpu", "blocked", "idle", "end", "cost"),
        "gil_wait": 1,
        **_ids("gil_holder"),
    }
    LATER: ClassVar = frozenset(("slice_node", "cost", "gil_wait", "gil_holder"))
    __slots__ = (*ADD, *UPD)

    tid: int
    begin: int
    name: int
    state: int
    hub: int
    task: int
    node: int
    since: int
    slice: int
    slice_cpu: int
    slice_blocked: int
    slice_idle: int
    slice_node: int
    cpu: int
    blocked: int
    idle: int
    end: int
    cost: int
    gil_wait: int
    gil_holder: int


class Task(Row):
    CURRENT: ClassVar = 0
    PARKED: ClassVar = 1
    ENDED: ClassVar = 2

    ADD: ClassVar = {**_ids("thread"), **_times("begin"), "hub": 1}
    UPD: ClassVar = {
        **_ids("name", "group"),
        "state": 2,
        **_ids("node", "wait"),
        **_times("since", "switches", "cpu", "blocked", "idle", "waited", "longest"),
    }
    __slots__ = (*ADD, *UPD)

    thread: int
    begin: int
    hub: int
    name: int
    group: int
    state: int
    node: int
    wait: int
    since: int
    switches: int
    cpu: int
    blocked: int
    idle: int
    waited: int
    longest: int


class Node(Row):
    ADD: ClassVar = _ids("parent", "function", "group", "thread")
    UPD: ClassVar = _times("calls", "cpu", "blocked", "idle", "waited", "seeded")
    LATER: ClassVar = frozenset(("seeded",))
    __slots__ = (*ADD, *UPD)

    parent: int
    function: int
    group: int
    thread: int
    calls: int
    cpu: int
    blocked: int
    idle: int
    waited: int
    seeded: int


class Slice(Row):
    ADD: ClassVar = {
        **_ids("thread", "task", "group", "node"),
        **_times("begin", "end", "cpu", "blocked", "idle", "gil"),
        **_ids("gil_holder", "gil_node"),
    }
    LATER: ClassVar = frozenset(("gil", "gil_holder", "gil_node"))
    __slots__ = (*ADD,)

    thread: int
    task: int
    group: int
    node: int
    begin: int
    end: int
    cpu: int
    blocked: int
    idle: int
    gil: int
    gil_holder: int
    gil_node: int


class Hold(Row):
    ADD: ClassVar = _ids("thread", "function")
    UPD: ClassVar = _times("count", "cpu", "blocked", "longest")
    __slots__ = (*ADD, *UPD)

    thread: int
    function: int
    count: int
    cpu: int
    blocked: int
    longest: int


class GilWait(Row):
    ADD: ClassVar = _ids("thread", "task", "holder")
    UPD: ClassVar = {**_ids("node", "holder_node"), **_times("looks", "waited")}
    __slots__ = (*ADD, *UPD)

    thread: int
    task: int
    holder: int
    node: int
    holder_node: int
    looks: int
    waited: int


# In the order in which an update has them.
TABLES: Mapping[str, type[Row]] = {
    "groups": Group,
    "threads": Thread,
    "tasks": Task,
    "nodes": Node,
    "slices": Slice,
    "holds": Hold,
    "gil": GilWait,
}
