"""A Celery worker with the gevent pool, and Redis as its broker."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from measured import complaints, snapshot_of, times_by_name, truth_of
from running import LIMIT
from service import LIVE, PLAIN, WITHOUT, Ended, free_port, running, same_lines

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

MEASURED = {"burns", "blocks", "waits", "mixes"}
WORKER_OPTIONS = ["-P", "gevent", "-c", "8", "-n", "worker@here", "-l", "INFO", "--without-mingle", "--without-gossip"]
CHANCE = {
    r"\[\w{8}-(\w{4}-){3}\w{12}\]": "[ID]",
    r"(succeeded in|Retry in) \d+\.\d+(e-\d+)?s": r"\1 SECONDS",
    r"redis://127.0.0.1:\d+": "redis://127.0.0.1:PORT",
}


class Worked(NamedTuple):
    answers: list[Any]
    under_way: Any
    ended: Ended


@contextmanager
def redis(folder: Path) -> Iterator[int]:
    """A Redis that keeps nothing, on a port of its own."""
    server = shutil.which("redis-server")
    assert server is not None, "redis-server is missing (Debian: apt-get install redis-server)"
    port = free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(folder)]
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen([server, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        _wait_for(process, port, folder / "redis.log")
        yield port
    finally:
        process.terminate()
        process.wait(LIMIT)


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while b"Ready to accept connections" not in log.read_bytes():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)
    socket.create_connection(("127.0.0.1", port), timeout=LIMIT).close()


def work(how: str, folder: Path, number: signal.Signals) -> Worked:
    """Run a worker, send it tasks, and end it by a signal with one of them under way."""
    with (
        redis(folder.parent) as port,
        running(how, ["-m", "celery", "-A", "jobs", "worker", *WORKER_OPTIONS], folder, port) as service,
    ):
        service.wait_for(lambda: "worker@here ready." in service.err)
        answers = [json.loads(line) for line in service.run("send_jobs.py").splitlines()]
        with service.start("send_jobs.py", "slow") as client:
            service.wait_for(lambda: "slow begins" in service.out)
            ended = service.end(number)
            return Worked(answers, json.loads(service.finish(client)), ended)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_and_ends_as_without(tmp_path: Path, number: signal.Signals) -> None:
    # GIVEN a worker whose tasks are greenlets, of which one fails, one is tried again and one takes too long
    plain = work(PLAIN, tmp_path / "plain", number)
    assert plain.ended.code == (0 if number == signal.SIGTERM else 1)  # Celery's own choice
    assert plain.under_way == 7
    assert ["jobs.fails", "LookupError: no 2"] in plain.answers
    assert ["jobs.too_long", "TimeLimitExceeded: TimeLimitExceeded(0.3,)"] in plain.answers
    # WHEN it runs under flamelet, with or without a live view
    how = LIVE if number == signal.SIGTERM else WITHOUT
    profiled = work(how, tmp_path / how, number)
    # THEN answers, exit code, standard output and standard error are the same
    assert profiled.answers == plain.answers
    assert profiled.under_way == plain.under_way
    assert profiled.ended.code == plain.ended.code
    assert same_lines(profiled.ended.out, CHANCE) == same_lines(plain.ended.out, CHANCE)
    assert same_lines(profiled.ended.err, CHANCE) == same_lines(plain.ended.err, CHANCE)
    # AND each task took what it measured itself
    snapshot = snapshot_of(tmp_path / how / "run.flamelet")
    program = truth_of(tmp_path / how)
    assert set(program["truth"]) == MEASURED
    found = times_by_name([row._asdict() for row in snapshot.functions], "jobs.py")
    assert list(complaints(found, program["truth"])) == []
