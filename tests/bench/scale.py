#!/usr/bin/env python3
"""What flamelet costs in programs that are large: many greenlets, many call paths, starts in the middle.

Each figure comes from processes of their own, made one after the other; where two things are compared they take turns.
README.md beside this file says what is measured; `--quick` is a look at whether all of it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

if sys.version_info < (3, 11):  # noqa: UP036 (this file is run by whatever `python` is)
    sys.exit("scale.py: flamelet runs on CPython 3.11 and newer; this is " + sys.version.split()[0])

import core_bench
import machine
from compare import quartiles

SCENES = Path(__file__).with_name("scenes.py")
CLOCKS = ("rseq", "short")


class Line(NamedTuple):
    """A row of the table. value: median, in `unit`. aim: what flamelet has set itself, in words; "" where nothing."""

    what: str
    clock: str
    value: float
    unit: str
    aim: str


class SceneError(Exception):
    """A scene did not come to its end; the message has its last words."""


class Sizes(NamedTuple):
    """How large the scenes are. repeat: processes for each figure."""

    short: int
    parked: int
    started: int
    paths_deep: int
    repeat: int
    core_ms: int


LARGE = Sizes(short=1_000_000, parked=100_000, started=10_000, paths_deep=6, repeat=3, core_ms=1000)
QUICK = Sizes(short=3_000, parked=1_000, started=500, paths_deep=3, repeat=1, core_ms=20)


def scene(name: str, clock: str, *arguments: int) -> dict[str, float]:
    """What a scene measured, in a process of its own. clock: "" is without flamelet."""
    env = os.environ | ({"FLAMELET_CPU_CLOCK": clock} if clock else {})
    command = [sys.executable, str(SCENES), name, "on" if clock else "off", *map(str, arguments)]
    child = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        raise SceneError(f"{name} ({clock or 'without flamelet'}): {child.stderr.strip()[-500:]}")
    measured: dict[str, float] = json.loads(child.stdout)
    return measured


def median(values: list[float]) -> float:
    return quartiles(values)["median"]


def short_greenlets(clock: str, sizes: Sizes) -> list[Line]:
    """Greenlets that end soon: time in turns with and without, memory in one go."""
    batch = max(1, sizes.short // (4 * sizes.repeat))
    ratios = []
    for _ in range(2 * sizes.repeat):
        without = scene("short", "", batch)["seconds"]
        ratios.append(scene("short", clock, batch)["seconds"] / without)
    grown = scene("short", clock, sizes.short)["grown_bytes"]
    return [
        Line(f"{sizes.short:,} short greenlets: time", clock, median(ratios), "x", "<= 1.15"),
        Line("memory after the first hundredth of them", clock, grown / 1e6, "MB", "+- 2"),
    ]


def parked_greenlets(clock: str, sizes: Sizes) -> list[Line]:
    """Greenlets that wait: what flamelet needs for each of them, by comparing processes with and without it."""

    def per_greenlet(frames: int) -> tuple[float, list[dict[str, float]]]:
        on = [scene("parked", clock, sizes.parked, frames) for _ in range(sizes.repeat)]
        off = [scene("parked", "", sizes.parked, frames) for _ in range(sizes.repeat)]
        bytes_on, bytes_off = (median([run["bytes"] for run in runs]) for runs in (on, off))
        return (bytes_on - bytes_off) / sizes.parked, on

    few, more = 4, 24
    of_few, runs = per_greenlet(few)
    of_more, _ = per_greenlet(more)
    return [
        Line(f"{sizes.parked:,} parked greenlets, {few} frames: each", clock, of_few, "bytes", "<= 600"),
        Line("each further frame", clock, (of_more - of_few) / (more - few), "bytes", "<= 8"),
        Line("a recording of them (the whole picture, as JSON)", clock, median([r["ms"] for r in runs]), "ms", ""),
    ]


def many_paths(clock: str, sizes: Sizes) -> list[Line]:
    runs = [scene("paths", clock, sizes.paths_deep) for _ in range(sizes.repeat)]
    of_paths = f"{10**sizes.paths_deep:,} distinct paths"
    return [
        Line(f"{of_paths}: memory", clock, median([run["bytes"] for run in runs]) / 2**20, "MiB", "<= 64 and a rest"),
        Line(f"{of_paths}: calls not shown", clock, max(run["missing"] for run in runs), "calls", ""),
        Line("of them neither shown nor counted as lost", clock, max(run["uncounted"] for run in runs), "calls", "0"),
    ]


def start_and_stop(clock: str, sizes: Sizes) -> list[Line]:
    """What another thread sees while flamelet starts and stops: how long it has to wait for the GIL."""
    runs = [scene("started", clock, sizes.started) for _ in range(sizes.repeat)]
    of = f"with {sizes.started:,} parked greenlets"
    return [
        Line(f"start {of}: whole call", clock, median([run["start_ms"] for run in runs]), "ms", ""),
        Line("start: longest time with the GIL held", clock, max(run["start_gap_ms"] for run in runs), "ms", "<= 20"),
        Line(f"stop {of}: whole call", clock, median([run["stop_ms"] for run in runs]), "ms", ""),
        Line("stop: longest time with the GIL held", clock, max(run["stop_gap_ms"] for run in runs), "ms", "<= 20"),
    ]


def core(clock: str, sizes: Sizes) -> list[Line]:
    """The C core without an interpreter: what threads cost each other, and what a reader costs."""
    runs = [core_bench.run(clock, sizes.core_ms, sizes.parked) for _ in range(sizes.repeat)]

    def of(name: str) -> float:
        return median([run[name] for run in runs])

    return [
        Line("C core: an event, one writer", clock, of("one_ns"), "ns", ""),
        Line("C core: an event, two writers", clock, of("two_ns"), "ns", "<= 1.1 x one"),
        Line("C core: look at 100,000 nodes, CPU time", clock, of("look_ms"), "ms", "<= 2 (2% of a core at 10 Hz)"),
        Line("C core: longest event, nobody looks", clock, of("quiet_us"), "us", ""),
        Line("C core: longest event while a reader looks at 10 Hz", clock, of("looked_us"), "us", "no longer"),
        Line(f"C core: look at {sizes.parked:,} parked tasks", clock, of("tasks_ms"), "ms", "<= 50"),
    ]


PARTS = {
    "short": short_greenlets,
    "parked": parked_greenlets,
    "paths": many_paths,
    "start": start_and_stop,
    "core": core,
}


def main(arguments: list[str]) -> int:
    """Prints the table; returns 1 when a scene did not come to its end, else 0."""
    parser = argparse.ArgumentParser(prog="scale.py", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given again")
    parser.add_argument("--clock", action="append", choices=CLOCKS, help="this CPU clock (default: both)")
    parser.add_argument("--quick", action="store_true", help="small, once each: whether it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="the rows, for other programs")
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else LARGE
    lines: list[Line] = []
    failed = False
    for name in options.only or PARTS:
        for clock in options.clock or CLOCKS:
            print(f"scale.py: {name} ({clock})", file=sys.stderr, flush=True)
            try:
                lines += PARTS[name](clock, sizes)
            except (SceneError, core_bench.BuildError) as error:
                print(f"scale.py: {error}", file=sys.stderr)
                failed = True
    print(json.dumps([line._asdict() for line in lines], indent=1) if options.json else _markdown(lines))
    return int(failed)


def _markdown(lines: list[Line]) -> str:
    about = machine.describe()
    rows = [f"| {line.what} | {line.clock} | {line.value:,.2f} {line.unit} | {line.aim} |" for line in lines]
    preamble = (
        f"CPython {sys.version.split()[0]} ({machine.python_build()}), {machine.now()}, {about['processor']}, "
        f"{about['processors']} processors, {about['system']}, load {about['load']:.2f}"
    )
    return "\n".join([preamble, "", "| what | CPU clock | measured | aim |", "| --- | --- | ---: | --- |", *rows])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
