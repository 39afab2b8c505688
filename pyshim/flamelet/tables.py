"""The tables of an update, and the rows that a client makes of them.

Times are integers in nanoseconds, as on the wire. ADD and UPD name the columns in which an update brings and renews a
row, beside its id, with the largest value that each may hold.
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
        **_times("since", "slice", "slice_cpu", "slice_blocked", "slice_idle", "cpu", "blocked", "idle", "end"),
    }
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
    cpu: int
    blocked: int
    idle: int
    end: int


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
    UPD: ClassVar = _times("calls", "cpu", "blocked", "idle", "waited")
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


class Slice(Row):
    ADD: ClassVar = {**_ids("thread", "task", "group", "node"), **_times("begin", "end", "cpu", "blocked", "idle")}
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


# In the order in which an update has them.
TABLES: Mapping[str, type[Row]] = {
    "groups": Group,
    "threads": Thread,
    "tasks": Task,
    "nodes": Node,
    "slices": Slice,
}
