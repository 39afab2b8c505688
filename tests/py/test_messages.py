"""Decoding, against the golden messages that the C and TypeScript tests read too (tests/vectors/README.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flamelet.errors import ProtocolError
from flamelet.messages import About, Ended, Other, Update, decode
from flamelet.picture import Picture
from flamelet.recording import Recording
from flamelet.snapshots import Snapshot, make_snapshot

VECTORS = Path(__file__).parents[1] / "vectors"


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


CONVERSATION = [entry["message"] for entry in load("conversation.json") if entry["from"] == "server"]
RECORDING = [json.loads(line) for line in (VECTORS / "recording.jsonl").read_text(encoding="utf-8").splitlines()]
EXPECTED = {entry["version"]: entry for entry in load("expected.json")}
BAD = {entry["name"]: entry for entry in load("bad-messages.json")}


@pytest.mark.parametrize("messages", [CONVERSATION, RECORDING], ids=["conversation", "recording"])
def test_each_update_leads_to_the_expected_picture(messages: list[Any]) -> None:
    # GIVEN all that a server says
    picture = Picture()
    about: About | None = None
    seen = []
    for message in messages:
        # WHEN it is decoded and applied
        decoded = decode(message)
        if isinstance(decoded, About):
            about = decoded
        if isinstance(decoded, Update):
            picture.apply(decoded)
            assert about is not None
            # THEN each update leads to the numbers that were worked out by hand
            snapshot = make_snapshot(Recording(about, picture, False, ""))
            compare(snapshot, picture, EXPECTED[picture.version])
            seen.append(picture.version)
    assert seen
    assert set(seen) == {version for version in EXPECTED if version in seen}
    assert isinstance(decode(messages[-1]), Ended)


def test_every_expected_picture_is_reached() -> None:
    # GIVEN both sequences of messages
    versions = {
        message["body"]["version"]
        for message in (*CONVERSATION, *RECORDING)
        if message.get("event") == "flamelet/update"
    }
    # THEN nothing of what is expected is left out
    assert versions == set(EXPECTED)


def seconds(ns: int) -> Any:
    return pytest.approx(ns / 1e9, abs=1e-12)


def compare(snapshot: Snapshot, picture: Picture, expected: Any) -> None:
    assert picture.now == expected["now"]
    assert {
        row.id: {"wall": row.wall, "cpu": row.cpu, "blocked": row.blocked, "idle": row.idle} for row in snapshot.threads
    } == {int(number): {kind: seconds(ns) for kind, ns in row.items()} for number, row in expected["threads"].items()}

    tasks = {row.id: row for row in snapshot.tasks}
    assert set(tasks) == {int(number) for number in expected["tasks"]}
    for number, want in expected["tasks"].items():
        task = tasks[int(number)]
        assert task.state == want["state"]
        assert snapshot.groups[task.group].entry == picture.function(picture.groups[want["group"]].entry).qualname
        for kind in ("lifetime", "cpu", "blocked", "idle", "waited"):
            assert getattr(task, kind) == seconds(want[kind]), (number, kind)

    # Groups are rows in the order of their ids.
    groups = dict(zip(sorted(picture.groups), snapshot.groups, strict=True))
    assert set(groups) == {int(number) for number in expected["groups"]}
    for number, want in expected["groups"].items():
        for kind, ns in want.items():
            assert getattr(groups[int(number)], kind) == seconds(ns), (number, kind)

    functions = {row.qualname: row for row in snapshot.functions}
    assert set(functions) == set(expected["functions"])
    for name, want in expected["functions"].items():
        assert functions[name].calls == want["calls"]
        for part in ("own", "total"):
            for kind, ns in want[part].items():
                assert getattr(functions[name], f"{part}_{kind}") == seconds(ns), (name, part, kind)
    assert len([row for row in snapshot.slices if not row.lasts]) == expected["slices"]


@pytest.mark.parametrize("name", BAD)
def test_bad_messages_are_rejected_with_the_path(name: str) -> None:
    # GIVEN a message that is not what protocol.md says
    bad = BAD[name]
    # WHEN it is decoded
    with pytest.raises(ProtocolError) as caught:
        decode(bad["message"])
    # THEN the error names where it is wrong
    assert str(caught.value).startswith(bad["path"] + ": ")


@pytest.mark.parametrize("value", [None, 1, "x", [], True])
def test_what_is_no_object(value: object) -> None:
    # THEN it is no message
    with pytest.raises(ProtocolError, match=r"^message: expected an object"):
        decode(value)


def test_other_messages_are_let_through() -> None:
    # GIVEN messages that a newer server may send
    messages = [
        {"seq": 1, "type": "event", "event": "flamelet/new", "body": {}},
        {"seq": 2, "type": "response", "request_seq": 1, "success": True, "command": "flamelet/new"},
        {"seq": 3, "type": "response", "request_seq": 1, "success": False, "command": "initialize", "message": "no"},
        {"seq": 4, "type": "request", "command": "flamelet/ask"},
    ]
    # THEN they are no error
    assert [decode(message) for message in messages] == [
        Other("flamelet/new"),
        Other("flamelet/new"),
        Other("initialize"),
        Other("flamelet/ask"),
    ]


def test_newer_protocol() -> None:
    # GIVEN a server, or a recording, of a later version
    message = {**RECORDING[0], "body": {"flamelet": {"protocol": 2}}}
    # THEN the error says what to do
    with pytest.raises(ProtocolError, match=r"version 2 of the protocol.*a newer flamelet is needed"):
        decode(message)


def update(**changes: Any) -> Any:
    """A whole, empty picture, with changes."""
    status = {
        "state": "running",
        "clock": "tsc+short",
        "reading": 20,
        "switches": True,
        "nodes": 0,
        "tasks": 0,
        "lost": dict.fromkeys(("events", "tasks", "unmatched", "displaced", "slices", "strings", "threads"), 0),
    }
    body = {"subscription": 0, "version": 1, "since": 0, "now": 5, "status": status, **changes}
    return decode({"seq": 1, "type": "event", "event": "flamelet/update", "body": body})


def nodes(parents: list[int], functions: list[int] | None = None) -> dict[str, Any]:
    """A section of nodes with the ids 1, 2, 3, ..."""
    zeros = [0] * len(parents)
    return {
        "add": {
            "id": list(range(1, len(parents) + 1)),
            "parent": parents,
            "function": functions or zeros,
            "group": zeros,
            "thread": zeros,
        }
    }


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "missed update": ({"since": 3, "version": 4}, "body.since: builds on version 3, but 1 came before"),
    "gap in strings": ({"strings": {"first": 2, "add": ["x"]}}, "body.strings.first: goes on at 2, but 1 is next"),
    "node is its own parent": ({"nodes": nodes([1])}, "node 1 has the parent 1"),
    "parent comes later": ({"nodes": nodes([2, 0])}, "node 1 has the parent 2"),
    "parent is not there": (
        {"nodes": {"add": {**nodes([0])["add"], "id": [9], "parent": [5]}}},
        "node 9 has the parent 5",
    ),
    "unknown function": ({"nodes": nodes([0], [7])}, "node 1 is of function 7, which is not known"),
    "unknown row": (
        {"nodes": {"upd": {"id": [1], "calls": [1], "cpu": [0], "blocked": [0], "idle": [0], "waited": [0]}}},
        "body.nodes.upd.id: 1 was not added before",
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_updates_that_do_not_fit(name: str) -> None:
    # GIVEN a picture
    picture = Picture()
    picture.apply(update())
    changes, message = UNFIT[name]
    # WHEN an update does not fit what came before it
    with pytest.raises(ProtocolError) as caught:
        picture.apply(update(**changes))
    # THEN it says why
    assert message in str(caught.value)


def test_unknown_fields_are_ignored() -> None:
    # GIVEN an update with more than we know
    picture = Picture()
    more = {"add": {**nodes([0])["add"], "colour": [7]}, "more": 1}
    # THEN the rest counts
    picture.apply(update(nodes=more, weather="fine"))
    assert list(picture.nodes) == [1]
