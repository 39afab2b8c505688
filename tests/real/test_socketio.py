"""A Flask-SocketIO server on gevent, with a user on a WebSocket and one who polls."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from measured import complaints, snapshot_of, times_by_name, truth_of
from running import LIMIT
from service import LIVE, PLAIN, WITHOUT, Ended, free_port, running, same_lines

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

MEASURED = {"burns", "blocks", "waits", "mixes"}
# How often a user polls, and when, is chance.
CHANCE = {r"'[\w-]{20}'": "'SESSION'"}
CHANCE_LINE = r'"(GET|POST) /socket\.io/'


class Talked(NamedTuple):
    answers: list[Any]
    under_way: Any
    ended: Ended


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()
    except ConnectionRefusedError:
        return False
    return True


def talk(how: str, folder: Path, number: signal.Signals) -> Talked:
    """Run the server, let two users talk, and end it by a signal while it handles an event."""
    port = free_port()
    with running(how, ["chat.py"], folder, port) as service:
        service.wait_for(lambda: is_open(port))
        answers = [json.loads(line) for line in service.run("talk.py").splitlines()]
        with service.start("talk.py", "slow") as client:
            service.wait_for(lambda: "slow begins" in service.out)
            ended = service.end(number)
            return Talked(answers, json.loads(service.finish(client)), ended)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_talks_and_ends_as_without(tmp_path: Path, number: signal.Signals) -> None:
    # GIVEN a server whose events are greenlets, with rooms, and a task in the background
    plain = talk(PLAIN, tmp_path / "plain", number)
    assert plain.ended.code == (0 if number == signal.SIGTERM else -signal.SIGINT)
    assert [["hello", "alone"], [0, 1, 2, 3, 4]] in plain.answers[-1]
    # WHEN it runs under flamelet, with or without a live view
    how = LIVE if number == signal.SIGTERM else WITHOUT
    profiled = talk(how, tmp_path / how, number)
    # THEN answers, exit code, standard output and standard error are the same
    assert profiled.answers == plain.answers
    assert profiled.under_way == plain.under_way
    assert profiled.ended.code == plain.ended.code
    assert profiled.ended.out == plain.ended.out
    errors = [same_lines(run.ended.err, CHANCE, without=CHANCE_LINE) for run in (profiled, plain)]
    assert errors[0] == errors[1]
    # AND each event took what it measured itself
    snapshot = snapshot_of(tmp_path / how / "run.flamelet")
    program = truth_of(tmp_path / how)
    assert set(program["truth"]) == MEASURED
    found = times_by_name([row._asdict() for row in snapshot.functions], "chat.py")
    assert list(complaints(found, program["truth"])) == []
