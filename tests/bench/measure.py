"""Measures all tools in turn, in many short rounds, every one next to a round without a tool.

The machine's speed drifts (frequency, neighbours, caches) by more than the differences of interest. So nothing is
measured in one piece: in every cycle each tool has one round, beside a round of the same loop without any tool, and
only the difference of the two counts. The order turns round with each cycle, within the pairs and of the tools, so that
nothing always comes after the same thing.

The rounds run in worker processes, one at a time, while this one waits. One process serves all tools that can be
switched on and off in it; a tool that can't be, because its choices hold for the life of a process, has its own.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, TypeVar

import machine
import rounds
from compare import added_by_cycle, comparisons_of, quartiles
from results import Clock, PythonResult, Settings, ToolResult, WorkloadResult
from tools import Tool
from workloads import Sample, Workload

_P = ParamSpec("_P")
_T = TypeVar("_T")


class CrashError(Exception):
    """A measuring process ended by itself. The message is for the user."""


@dataclass
class Subject:
    """One tool under one workload, and what became of it so far. pairs: one for each cycle."""

    tool: Tool
    trial: rounds.Trial
    pairs: list[rounds.Pair] = field(default_factory=list)


class Workers:
    """The measuring processes by name, each started when first needed. A context manager: they end with it."""

    def __init__(self) -> None:
        self._pools: dict[str, ProcessPoolExecutor] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for pool in self._pools.values():
            pool.shutdown()

    def run(
        self,
        function: Callable[Concatenate[str, str, _P], _T],
        workload: Workload,
        tool: Tool,
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Calls a function of rounds.py in the tool's process and waits for its result. Raises CrashError."""
        pool = self._pools.get(tool.process)
        if pool is None:
            # Spawned, as a forked one would inherit what this process has done.
            context = multiprocessing.get_context("spawn")
            pool = self._pools[tool.process] = ProcessPoolExecutor(1, context, _leave_interrupts_to_the_parent)
        try:
            return pool.submit(function, workload.name, tool.name, *args, **kwargs).result()
        except BrokenProcessPool as error:
            raise CrashError(f"the interpreter crashed under {tool.title}, per {workload.operation}") from error


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def measure_all(
    workloads: Iterable[Workload], tools: Iterable[Tool], settings: Settings, progress: Callable[[str], None]
) -> PythonResult:
    """Runs everything with this interpreter; `progress` is told in a few words what is being measured.

    Raises CrashError when the interpreter does not survive a tool.
    """
    by_name = {tool.name: tool for tool in tools}
    results = []
    samples: list[Sample] = []
    with Workers() as workers:
        for workload in workloads:
            progress(workload.operation)
            subjects = _measure(workload, [by_name[name] for name in workload.tools], settings, workers)
            results.append(_result(workload, subjects, settings["clock"]))
            samples += [sample for subject in subjects for pair in subject.pairs for sample in pair]
    return {
        "python": sys.version.split()[0],
        "build": machine.python_build(),
        "packages": machine.package_versions(),
        "wall_per_cpu": sum(s.wall_ns for s in samples) / max(1, sum(s.cpu_ns for s in samples)),
        "workloads": results,
    }


def _measure(workload: Workload, tools: Sequence[Tool], settings: Settings, workers: Workers) -> list[Subject]:
    subjects = [Subject(tool, workers.run(rounds.trial, workload, tool)) for tool in tools]
    able = [subject for subject in subjects if subject.trial.status == "measured"]
    for cycle in range(settings["rounds"]):
        backwards = cycle % 2 == 1
        for subject in reversed(able) if backwards else able:
            operations = (
                _operations(subject.trial.without_ns, settings),
                _operations(subject.trial.with_tool_ns, settings),
            )
            subject.pairs.append(workers.run(rounds.pair, workload, subject.tool, operations, tool_first=backwards))
    return subjects


def _operations(each_ns: float, settings: Settings) -> int:
    """How many fill a round."""
    return max(1, round(settings["round_ms"] * 1e6 / max(1.0, each_ns)))


def _result(workload: Workload, subjects: Sequence[Subject], clock: Clock) -> WorkloadResult:
    rows = [_row(subject, clock) for subject in subjects]
    for row in rows:
        added = added_by_cycle(row)
        row["added"] = quartiles(added) if added else None
        row["comparisons"] = comparisons_of(row, rows, workload.name)
    without = [value for row in rows for value in row["without"]]
    return {
        "workload": workload.name,
        "operation": workload.operation,
        "without_tool": quartiles(without) if without else None,
        "tools": rows,
    }


def _row(subject: Subject, clock: Clock) -> ToolResult:
    """The row without what is worked out from its rounds."""
    return {
        "tool": subject.tool.name,
        "title": subject.tool.title,
        "status": subject.trial.status,
        "note": subject.trial.note,
        "added": None,
        "with_tool": [_each(pair.with_tool, clock) for pair in subject.pairs],
        "without": [_each(pair.without, clock) for pair in subject.pairs],
        "comparisons": [],
    }


def _each(sample: Sample, clock: Clock) -> float:
    return (sample.cpu_ns if clock == "cpu" else sample.wall_ns) / sample.operations
