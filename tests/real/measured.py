"""What a program measured itself, and what flamelet says of the same functions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import invariants
from flamelet.recording import Recording, read_recording
from flamelet.snapshots import Snapshot, make_snapshot

KINDS = ("cpu", "blocked", "waited")
Times = Mapping[str, float]


def truth_by_pid(folder: Path) -> dict[int, dict[str, Any]]:
    """What the processes of a program left behind (programs/meter.py)."""
    files = sorted(folder.glob("truth-*.json"))
    return {int(file.stem.partition("-")[2]): json.loads(file.read_text()) for file in files}


def truth_of(folder: Path) -> dict[str, Any]:
    """Of the one process that left something."""
    (truth,) = truth_by_pid(folder).values()
    return truth


def snapshot_of(recording: Path) -> Snapshot:
    """The snapshot of a recording, which must be whole, make sense, and have lost nothing."""
    read: Recording = read_recording(str(recording))
    assert invariants.of_all([(recording.name, read)]) == []
    snapshot = make_snapshot(read)
    assert snapshot.about.complete
    assert not any(snapshot.lost.values()), snapshot.lost
    return snapshot


def times_by_name(rows: Iterable[Mapping[str, Any]], file: str) -> dict[str, dict[str, float]]:
    """The totals of the functions of one file of programs/. rows: as Function of a snapshot."""
    times: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(("calls", *KINDS), 0.0))
    for row in rows:
        if row["file"].endswith(f"programs/{file}"):
            times[row["name"]]["calls"] += row["calls"]
            for kind in KINDS:
                times[row["name"]][kind] += row[f"total_{kind}"]
    return times


def complaints(found: Mapping[str, Times], truth: Mapping[str, Times]) -> Iterator[str]:
    """Where the two differ by more than 5 % and more than 2 ms; calls must be equal.

    A program may lose its processor also between a reading of its clocks and a switch: for flamelet it is blocked then,
    for itself it waits. So these two may differ by as much as the scheduler says that it had to wait for a processor.
    """
    for name, times in truth.items():
        seen = found.get(name)
        if seen is None:
            yield f"{name}: never seen"
            continue
        if seen["calls"] != times["calls"]:
            yield f"{name}: {seen['calls']:.0f} calls, truth {times['calls']}"
        for kind in KINDS:
            if not near(seen[kind], times[kind], slack=0 if kind == "cpu" else times["delay"]):
                yield f"{name}: {kind} {seen[kind]:.6f}, truth {times[kind]:.6f}"


def near(value: float, truth: float, *, slack: float = 0) -> bool:
    return abs(value - truth) <= max(0.05 * truth, 0.002) + slack
