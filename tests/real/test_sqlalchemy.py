"""A service on asyncio with SQLAlchemy's asyncio extension and aiosqlite."""

from __future__ import annotations

import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from measured import complaints, near, snapshot_of, times_by_name, truth_of
from running import LIMIT
from service import LIVE, PLAIN, WITHOUT, Ended, free_port, running, same_lines

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

MEASURED = ("burns", "blocks", "waits", "mixes", "stores")
CLIENT = "main.<locals>.client"  # the task of a connection
REQUESTS = [*((name, n) for n in range(16) for name in MEASURED), ("streams", 40), ("fails", 7)]


class Served(NamedTuple):
    answers: list[Any]
    under_way: Any
    ended: Ended


def ask(port: int, *requests: tuple[str, int]) -> list[Any]:
    """The answers to all, on one connection; None where it is closed instead."""
    answers: list[Any] = []
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection,
        connection.makefile("rw", encoding="utf-8") as stream,
    ):
        for request in requests:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            try:
                line = stream.readline()
            except ConnectionResetError:
                line = ""
            answers.append(json.loads(line) if line else None)
    return answers


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()
    except ConnectionRefusedError:
        return False
    return True


def serve(how: str, folder: Path, number: signal.Signals) -> Served:
    """Run the service, ask it for everything on several connections, and end it by a signal with a request
    under way."""
    port = free_port()
    with running(how, ["orders.py"], folder, port) as service, ThreadPoolExecutor(4) as pool:
        service.wait_for(lambda: is_open(port))
        # One after the other, what reads all orders at the end.
        parts = [REQUESTS[start:80:4] for start in range(4)]
        answers = [answer for part in pool.map(lambda part: ask(port, *part), parts) for answer in part]
        answers += ask(port, *REQUESTS[80:])
        under_way = pool.submit(ask, port, ("slow", 5))
        service.wait_for(lambda: "slow begins" in service.out)
        ended = service.end(number)
        return Served(answers, under_way.result(), ended)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_ends_as_without(tmp_path: Path, number: signal.Signals) -> None:
    # GIVEN a service of asyncio tasks, a database's threads, and greenlets in which SQLAlchemy runs
    plain = serve(PLAIN, tmp_path / "plain", number)
    graceful = number == signal.SIGTERM
    assert plain.ended.code == (0 if graceful else -signal.SIGINT)
    assert plain.under_way == [5 if graceful else None]
    assert ["order 3", 10, 135] in plain.answers
    # WHEN it runs under flamelet, with or without a live view
    how = LIVE if graceful else WITHOUT
    profiled = serve(how, tmp_path / how, number)
    # THEN answers, exit code, standard output and standard error are the same
    assert profiled.answers == plain.answers
    assert profiled.under_way == plain.under_way
    assert profiled.ended.code == plain.ended.code
    assert profiled.ended.out == plain.ended.out
    assert same_lines(profiled.ended.err, {}) == same_lines(plain.ended.err, {})
    # AND each coroutine took what it measured itself
    snapshot = snapshot_of(tmp_path / how / "run.flamelet")
    program = truth_of(tmp_path / how)
    truth = program["truth"]
    assert set(truth) == set(MEASURED)
    found = times_by_name([row._asdict() for row in snapshot.functions], "orders.py")
    stores = truth.pop("stores")
    assert list(complaints(found, truth)) == []
    # What SQLAlchemy runs for a coroutine in greenlets of its own, the coroutine waits for: together they took what its
    # turns took, and it lasted as long as they and what it waited.
    greenlets = [group for group in snapshot.groups if group.label == "stores" and group.entry != CLIENT]
    assert near(found["_store"]["cpu"] + sum(group.cpu for group in greenlets), stores["cpu"])
    blocked = found["_store"]["blocked"] + sum(group.blocked for group in greenlets)
    assert near(blocked, stores["blocked"], slack=stores["delay"])
    wall = sum(stores[kind] for kind in ("cpu", "blocked", "waited"))
    assert near(sum(found["stores"][kind] for kind in ("cpu", "blocked", "waited")), wall)
