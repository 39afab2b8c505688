"""What a client of the protocol knows: updates, applied one after the other.

Open intervals are not in the times yet: snapshots.py adds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from .errors import ProtocolError
from .messages import Update
from .tables import FUNCTION_COLUMNS, Function, GilWait, Group, Hold, Node, Row, Slice, Task, Thread


class Status(NamedTuple):
    """See protocol.md. reading, call_cost, switch_cost: ns; a cost of 0 is not known. collections:
    count, time and longest of the garbage collections, the times in ns."""

    state: str
    clock: str
    reading: int
    switches: bool
    lost: dict[str, int]
    call_cost: int = 0
    switch_cost: int = 0
    collections: tuple[int, int, int] = (0, 0, 0)


class Picture:
    """The tables, by id. `version` is 0 until the first update; `now` is ns from the session's start."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.version = 0
        self.now = 0
        self.status = Status("stopped", "", 0, False, {})
        self.strings = [""]
        self.functions = [Function("", "", "", 0, 2)]
        self.groups: dict[int, Group] = {}
        self.threads: dict[int, Thread] = {}
        self.tasks: dict[int, Task] = {}
        self.nodes: dict[int, Node] = {}
        self.slices: dict[int, Slice] = {}
        self.holds: dict[int, Hold] = {}
        self.gil: dict[int, GilWait] = {}

    def apply(self, update: Update) -> None:
        """ProtocolError where the update does not fit what came before it; the picture is then of no use."""
        body = update.body
        if body["since"] == 0:
            self._forget()
        elif body["since"] != self.version:
            raise ProtocolError(f"body.since: builds on version {body['since']}, but {self.version} came before")
        self.version, self.now = body["version"], body["now"]
        status = body["status"]
        cost, collections = status.get("cost", {}), status.get("gc", {})
        self.status = Status(
            state=status["state"],
            clock=status["clock"],
            reading=status["reading"],
            switches=status["switches"],
            lost=status["lost"],
            call_cost=cost.get("call", 0),
            switch_cost=cost.get("switch", 0),
            collections=(collections.get("count", 0), collections.get("time", 0), collections.get("longest", 0)),
        )
        self._add_strings(body)
        self._add_functions(body)
        _apply(self.groups, Group, body, "groups")
        _apply(self.threads, Thread, body, "threads")
        _apply(self.tasks, Task, body, "tasks")
        self._check_nodes(_apply(self.nodes, Node, body, "nodes"))
        _apply(self.slices, Slice, body, "slices")
        _apply(self.holds, Hold, body, "holds")
        _apply(self.gil, GilWait, body, "gil")

    def string(self, number: int) -> str:
        """The string with this id; empty for one that is not known."""
        return self.strings[number] if number < len(self.strings) else ""

    def function(self, number: int) -> Function:
        """The function with this id; the nameless function 0 for one that is not known."""
        return self.functions[number] if number < len(self.functions) else self.functions[0]

    def _add_strings(self, body: dict[str, Any]) -> None:
        if "strings" in body:
            _check_first(body, "strings", len(self.strings))
            self.strings += body["strings"]["add"]

    def _add_functions(self, body: dict[str, Any]) -> None:
        if "functions" not in body:
            return
        _check_first(body, "functions", len(self.functions))
        add = body["functions"]["add"]
        text = self.string
        for name, qualname, file, line, kind in zip(*(add[column] for column in FUNCTION_COLUMNS), strict=True):
            self.functions.append(Function(text(name), text(qualname), text(file), line, kind))

    def _check_nodes(self, added: Iterable[int]) -> None:
        """What everybody who walks the trees relies on: no cycle, no gap, no unknown function."""
        for number in added:
            node = self.nodes[number]
            if node.parent >= number or (node.parent and node.parent not in self.nodes):
                raise ProtocolError(
                    f"body.nodes.add: node {number} has the parent {node.parent}, which is not before it"
                )
            if node.function >= len(self.functions):
                raise ProtocolError(f"body.nodes.add: node {number} is of function {node.function}, which is not known")


RowType = TypeVar("RowType", bound=Row)


def _check_first(body: dict[str, Any], name: str, expected: int) -> None:
    first = body[name]["first"]
    if first != expected:
        raise ProtocolError(f"body.{name}.first: goes on at {first}, but {expected} is next")


def _apply(table: dict[int, RowType], kind: type[RowType], body: dict[str, Any], name: str) -> list[int]:
    """Apply the `add`, `upd` and `del` of one section to its table. Returns the ids that were added."""
    section = body.get(name, {})
    added: list[int] = []
    if "add" in section:
        added = section["add"]["id"]
        rows = [kind() for _ in added]
        for field in kind.UPD:
            for row in rows:
                setattr(row, field, 0)
        _fill(rows, kind.ADD, section["add"])
        table.update(zip(added, rows, strict=True))
    if "upd" in section and kind.UPD:
        try:
            rows = [table[number] for number in section["upd"]["id"]]
        except KeyError as error:
            raise ProtocolError(f"body.{name}.upd.id: {error} was not added before") from None
        _fill(rows, kind.UPD, section["upd"])
    for number in section.get("del", ()):
        table.pop(number, None)
    return added


def _fill(rows: Sequence[Row], fields: Iterable[str], columns: dict[str, list[int]]) -> None:
    for field in fields:
        # One that came to the protocol later may be missing.
        for row, value in zip(rows, columns.get(field) or [0] * len(rows), strict=True):
            setattr(row, field, value)
