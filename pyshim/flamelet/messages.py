"""Messages of the protocol (protocol.md), decoded and checked: what a server sends, and what a recording holds."""

from __future__ import annotations

from typing import Any, NamedTuple

from .checks import INT32, array, boolean, columns, integer, integers, obj, one_of, reject, string, strings
from .errors import ProtocolError
from .tables import FUNCTION_COLUMNS, TABLES

PROTOCOL_MIN, PROTOCOL_MAX = 1, 1
LOST = ("events", "tasks", "unmatched", "displaced", "slices", "strings", "threads")


class About(NamedTuple):
    """The program, as the `initialize` response tells it. epoch: Unix time of the start, ms. threshold: ns."""

    protocol: int
    version: str
    pid: int
    program: str
    python: str
    epoch: int
    threshold: int


class Update(NamedTuple):
    """A `flamelet/update` whose form has been checked. body: as on the wire."""

    body: dict[str, Any]


class Ended(NamedTuple):
    """The event `terminated`: the program has ended."""


class Other(NamedTuple):
    """A message that a reader of pictures need not know."""

    name: str


Message = About | Update | Ended | Other


def decode(value: object) -> Message:
    """What a message says. ProtocolError, with the path of what is wrong, where its form is not protocol.md's."""
    message = obj(value, "message")
    integer(message.get("seq"), "seq", 1, INT32)
    kind = message.get("type")
    if kind == "event":
        name = string(message.get("event"), "event")
        if name == "flamelet/update":
            return Update(_checked_update(message.get("body")))
        return Ended() if name == "terminated" else Other(name)
    if kind == "response":
        return _response(message)
    if kind == "request":
        return Other(string(message.get("command"), "command"))
    return reject("type", '"request", "response" or "event"', kind)


def _response(message: dict[str, Any]) -> Message:
    integer(message.get("request_seq"), "request_seq", 0, INT32)
    success = boolean(message.get("success"), "success")
    command = string(message.get("command"), "command")
    if success and command == "initialize":
        return _about(obj(message.get("body"), "body").get("flamelet"), "body.flamelet")
    if success and command == "flamelet/subscribe":
        integer(obj(message.get("body"), "body").get("subscription"), "body.subscription")
    return Other(command)


def _about(value: object, path: str) -> About:
    about = obj(value, path)
    protocol = integer(about.get("protocol"), f"{path}.protocol", 1)
    if not PROTOCOL_MIN <= protocol <= PROTOCOL_MAX:
        # Before the other fields: another version may have others.
        raise ProtocolError(
            f"speaks version {protocol} of the protocol, this flamelet {PROTOCOL_MIN} to {PROTOCOL_MAX}: "
            "a newer flamelet is needed"
        )
    return About(
        protocol=protocol,
        version=string(about.get("version"), f"{path}.version"),
        pid=integer(about.get("pid"), f"{path}.pid"),
        program=string(about.get("program"), f"{path}.program"),
        python=string(about.get("python"), f"{path}.python"),
        epoch=integer(about.get("epoch"), f"{path}.epoch"),
        threshold=integer(about.get("threshold"), f"{path}.threshold"),
    )


def _checked_update(value: object) -> dict[str, Any]:
    body = obj(value, "body")
    integer(body.get("subscription"), "body.subscription")
    integer(body.get("version"), "body.version", 1)
    integer(body.get("since"), "body.since")
    integer(body.get("now"), "body.now")
    _check_status(body.get("status"), "body.status")
    if "strings" in body:
        section = obj(body["strings"], "body.strings")
        integer(section.get("first"), "body.strings.first", 1, INT32)
        strings(section.get("add"), "body.strings.add")
    if "functions" in body:
        section = obj(body["functions"], "body.functions")
        integer(section.get("first"), "body.functions.first", 1, INT32)
        columns(section.get("add"), "body.functions.add", FUNCTION_COLUMNS)
    for name, kind in TABLES.items():
        if name not in body:
            continue
        section = obj(body[name], f"body.{name}")
        if "add" in section or not kind.UPD:
            columns(section.get("add"), f"body.{name}.add", {"id": INT32, **kind.ADD}, kind.LATER)
        if "upd" in section and kind.UPD:
            columns(section["upd"], f"body.{name}.upd", {"id": INT32, **kind.UPD}, kind.LATER)
        if "del" in section:
            integers(section["del"], f"body.{name}.del", INT32)
    if "history" in body:
        _check_history(body["history"], "body.history")
    return body


def _check_status(value: object, path: str) -> None:
    status = obj(value, path)
    one_of(status.get("state"), f"{path}.state", ("running", "stopped", "ended"))
    string(status.get("clock"), f"{path}.clock")
    boolean(status.get("switches"), f"{path}.switches")
    for name in ("reading", "nodes", "tasks"):
        integer(status.get(name), f"{path}.{name}")
    if "cost" in status:
        cost = obj(status["cost"], f"{path}.cost")
        for name in ("call", "switch"):
            integer(cost.get(name), f"{path}.cost.{name}")
    if "gc" in status:
        collections = obj(status["gc"], f"{path}.gc")
        for name in ("count", "time", "longest"):
            integer(collections.get(name), f"{path}.gc.{name}")
    lost = obj(status.get("lost"), f"{path}.lost")
    for name in LOST:
        integer(lost.get(name), f"{path}.lost.{name}")
    if "timeline" in lost:
        integer(lost["timeline"], f"{path}.lost.timeline")


def _check_history(value: object, path: str) -> None:
    history = obj(value, path)
    integer(history.get("period"), f"{path}.period", 1)
    for i, item in enumerate(array(history.get("threads"), f"{path}.threads")):
        at = f"{path}.threads[{i}]"
        integer(obj(item, at).get("id"), f"{at}.id", 1, INT32)
        integer(item.get("end"), f"{at}.end")
        columns(item, at, dict.fromkeys(("cpu", "blocked", "idle"), 2**63 - 1))
