"""gunicorn with two gevent workers, on a Flask application."""

from __future__ import annotations

import http.client
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from measured import complaints, snapshot_of, times_by_name, truth_by_pid
from running import LIMIT
from service import LIVE, PLAIN, WITHOUT, WORKER, Ended, Service, free_port, running, same_lines

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

REQUESTS = [
    *(f"/{route}/{n}" for n in range(20) for route in ("burns", "blocks", "waits", "mixes")),
    *("/streams/30", "/fails/7", "/nowhere"),
]
MEASURED = {"burns", "blocks", "waits", "mixes"}
CHANCE = {r"(pid|ready): ?\d+": r"\1: PID", r"\[\d+\]": "[PID]", r"\(\d+\)": "(PID)"}


class Served(NamedTuple):
    answers: dict[str, tuple[int, str]]
    ended: Ended


def get(port: int, path: str) -> tuple[int, str]:
    """Status and text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def ready(service: Service) -> list[int]:
    """The process ids of all workers that ever were ready; before, a signal to end would be lost on them."""
    return [int(number) for number in re.findall(r"Worker ready: (\d+)", service.err)]


def serve(how: str, folder: Path, number: signal.Signals) -> Served:
    """Run gunicorn, ask it for everything from several threads, and end it by a signal, at SIGTERM with a request under
    way."""
    port = free_port()
    with running(how, ["-m", "gunicorn", "-c", "gunicorn_conf.py", "web:app"], folder, port) as service:
        service.wait_for(lambda: len(ready(service)) == 2 and "Control socket listening" in service.err)
        with ThreadPoolExecutor(4) as pool:
            answers = dict(zip(REQUESTS, pool.map(lambda path: get(port, path), REQUESTS), strict=True))
            if number == signal.SIGTERM:
                under_way = pool.submit(get, port, "/slow/1")
                service.wait_for(lambda: "slow begins" in service.err)
                ended = service.end(number)
                answers["/slow/1"] = under_way.result()
            else:
                ended = service.end(number)
    return Served(answers, ended)


def assert_same(profiled: Served, plain: Served, folders: tuple[Path, Path]) -> None:
    chance = [{**CHANCE, re.escape(str(folder)): "FOLDER"} for folder in folders]
    assert profiled.answers == plain.answers
    assert profiled.ended.code == plain.ended.code
    assert same_lines(profiled.ended.out, chance[0]) == same_lines(plain.ended.out, chance[1])
    assert same_lines(profiled.ended.err, chance[0]) == same_lines(plain.ended.err, chance[1])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_ends_as_without(tmp_path: Path, number: signal.Signals) -> None:
    # GIVEN gunicorn with two gevent workers
    plain = serve(PLAIN, tmp_path / "plain", number)
    assert plain.ended.code == 0
    assert plain.answers["/mixes/3"] == (200, "mixes 9\n")
    # WHEN it runs as a whole under `flamelet run`, with or without a live view
    how = LIVE if number == signal.SIGTERM else WITHOUT
    profiled = serve(how, tmp_path / how, number)
    # THEN answers, exit code, standard output and standard error are the same
    assert_same(profiled, plain, (tmp_path / how, tmp_path / "plain"))
    # AND the recording of what runs in the first process is whole
    assert "Arbiter.run" in {row.qualname for row in snapshot_of(tmp_path / how / "run.flamelet").functions}
    # AND each worker has one of its own, in which its routes took what they measured themselves
    assert "flamelet: recorded 2 child processes in " in profiled.ended.err
    workers = truth_by_pid(tmp_path / how)
    assert len(workers) == 2
    for pid, truth in workers.items():
        rows = [row._asdict() for row in snapshot_of(tmp_path / how / f"run.{pid}.flamelet").functions]
        assert list(complaints(times_by_name(rows, "web.py"), truth["truth"])) == []


def test_workers_that_start_it_themselves(tmp_path: Path) -> None:
    # GIVEN gunicorn, whose workers start flamelet when they are ready, and take a snapshot when they go
    plain = serve(PLAIN, tmp_path / "plain", signal.SIGTERM)
    # WHEN it serves
    profiled = serve(WORKER, tmp_path / "worker", signal.SIGTERM)
    # THEN it does as it did without
    assert_same(profiled, plain, (tmp_path / "worker", tmp_path / "plain"))
    # AND each worker's routes took what they measured themselves
    workers = list(truth_by_pid(tmp_path / "worker").values())
    assert len(workers) == 2
    assert {name for worker in workers for name in worker["truth"]} == MEASURED
    for worker in workers:
        assert list(complaints(times_by_name(worker["functions"], "web.py"), worker["truth"])) == []
        assert not any(worker["lost"].values()), worker["lost"]


def test_workers_are_replaced(tmp_path: Path) -> None:
    # GIVEN gunicorn under `flamelet run`
    port = free_port()
    command = ["-m", "gunicorn", "-c", "gunicorn_conf.py", "web:app"]
    with running(LIVE, command, tmp_path / "live", port) as service:
        service.wait_for(lambda: len(ready(service)) == 2 and "Control socket listening" in service.err)
        # WHEN it is told to reload, and one of the new workers dies
        os.kill(service.pid, signal.SIGHUP)
        service.wait_for(lambda: len(ready(service)) == 4 and service.err.count("Worker exiting") == 2)
        os.kill(ready(service)[-1], signal.SIGKILL)
        service.wait_for(lambda: len(ready(service)) == 5)
        # THEN the new ones serve
        assert [get(port, f"/burns/{n}") for n in range(4)] == [(200, f"burns {n * n}\n") for n in range(4)]
        assert service.end(signal.SIGTERM).code == 0
