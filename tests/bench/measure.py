"""Measures all tools in turn, in many short rounds, every one next to a round without a tool.

The machine's speed drifts (frequency, neighbours, caches) by more than the differences of interest. So nothing is
measured in one piece: in every cycle each tool has one round, beside a round of the same loop without any tool, and
only the difference of the two counts. The order turns round with each cycle, within the pairs and of the tools, so that
nothing always comes after the same thing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import machine
from compare import added_by_cycle, comparisons_of, quartiles
from results import Clock, PythonResult, Settings, Status, ToolResult, WorkloadResult
from tools import Tool, ToolError
from workloads import Sample, Workload

# After each start and stop CPython rewrites the instructions that run, then specialises them anew.
WARM_UP: Final = 3000
# Operations of the runs that check a tool and find out its speed.
TRIAL: Final = 2000


@dataclass
class Subject:
    """One tool under one workload: what became of it so far.

    operations: how many make a round. with_tool[i] and without[i] are a pair.
    """

    tool: Tool
    status: Status = "measured"
    note: str = ""
    operations: int = TRIAL
    with_tool: list[Sample] = field(default_factory=list)
    without: list[Sample] = field(default_factory=list)


def measure_all(
    workloads: Iterable[Workload], tools: Iterable[Tool], settings: Settings, progress: Callable[[str], None]
) -> PythonResult:
    """Runs everything in this interpreter; `progress` is told in a few words what is being measured."""
    by_name = {tool.name: tool for tool in tools}
    results = []
    samples: list[Sample] = []
    for workload in workloads:
        progress(workload.operation)
        subjects = [Subject(by_name[name]) for name in workload.tools]
        _measure(workload, subjects, settings)
        results.append(_result(workload, subjects, settings["clock"]))
        samples += [sample for subject in subjects for sample in subject.with_tool + subject.without]
    return {
        "python": sys.version.split()[0],
        "build": machine.python_build(),
        "packages": machine.package_versions(),
        "wall_per_cpu": sum(s.wall_ns for s in samples) / max(1, sum(s.cpu_ns for s in samples)),
        "workloads": results,
    }


def _measure(workload: Workload, subjects: Sequence[Subject], settings: Settings) -> None:
    unable = workload.missing()
    for subject in subjects:
        missing = unable or subject.tool.missing()
        if missing:
            subject.status, subject.note = "missing", missing
        else:
            _try(workload, subject, settings)
    able = [subject for subject in subjects if subject.status == "measured"]
    if not able:
        return
    base_operations = _operations(workload.run(TRIAL), settings)
    gc.collect()
    gc.disable()
    try:
        for cycle in range(settings["rounds"]):
            backwards = cycle % 2 == 1
            for subject in reversed(able) if backwards else able:
                if backwards:
                    subject.with_tool.append(_round_with(workload, subject))
                subject.without.append(_round(workload, base_operations))
                if not backwards:
                    subject.with_tool.append(_round_with(workload, subject))
    finally:
        gc.enable()


def _try(workload: Workload, subject: Subject, settings: Settings) -> None:
    """Makes sure that the tool sees what happens, and finds out how many operations fill a round."""
    tool = subject.tool
    try:
        tool.start()
        try:
            sample = workload.run(TRIAL)
        finally:
            tool.stop()
        code, calls = workload.known_calls(sample)
        seen = tool.calls_of(code)
        tool.reset()
    except ToolError as error:
        subject.status, subject.note = "failed", str(error)
        return
    if seen is not None and seen != calls:
        subject.status, subject.note = "failed", f"it saw {seen} calls of {code.co_qualname}, not {calls}"
        return
    subject.operations = _operations(sample, settings)


def _operations(trial: Sample, settings: Settings) -> int:
    each = max(1.0, trial.cpu_ns / trial.operations)
    return max(1, round(settings["round_ms"] * 1e6 / each))


def _round(workload: Workload, operations: int) -> Sample:
    workload.run(WARM_UP)
    return workload.run(operations)


def _round_with(workload: Workload, subject: Subject) -> Sample:
    subject.tool.start()
    try:
        return _round(workload, subject.operations)
    finally:
        subject.tool.stop()
        subject.tool.reset()


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
        "status": subject.status,
        "note": subject.note,
        "added": None,
        "with_tool": [_each(sample, clock) for sample in subject.with_tool],
        "without": [_each(sample, clock) for sample in subject.without],
        "comparisons": [],
    }


def _each(sample: Sample, clock: Clock) -> float:
    return (sample.cpu_ns if clock == "cpu" else sample.wall_ns) / sample.operations
