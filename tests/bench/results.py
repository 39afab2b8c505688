"""The shapes of what --json prints. Times are floats in ns per operation; rounds are in the order of measuring."""

from __future__ import annotations

from typing import Literal, TypedDict

# Goes up when a key changes its meaning or goes away.
SCHEMA = 2

Clock = Literal["cpu", "wall"]
# missing: something must be installed. unsupported: this machine can't do it. failed: it is there and does not work.
Status = Literal["measured", "missing", "unsupported", "failed"]


class Quartiles(TypedDict):
    """q1 <= median <= q3."""

    median: float
    q1: float
    q3: float


class Comparison(TypedDict):
    """What flamelet adds against what the tool of this row adds.

    flamelet: the name of flamelet's own row. unit: "ns" for flamelet less the tool, "ratio" for flamelet by the tool.
    value: of the differences or quotients within each cycle, so not exactly that of the rows' medians; None where one
    of the two was not measured.
    aim: an upper bound that flamelet has set itself; None where there is none.
    """

    flamelet: str
    unit: Literal["ns", "ratio"]
    value: Quartiles | None
    aim: float | None


class ToolResult(TypedDict):
    """One row of the table.

    added: with the tool less the round without any tool next to it; None unless measured.
    with_tool, without: the two rounds of each pair, one pair for each cycle; [] unless measured.
    note: why there are no figures; "" when measured.
    """

    tool: str
    title: str
    status: Status
    note: str
    added: Quartiles | None
    with_tool: list[float]
    without: list[float]
    comparisons: list[Comparison]


class WorkloadResult(TypedDict):
    """without_tool: the whole cost of an operation with no tool on; None when nothing could be measured."""

    workload: str
    operation: str
    without_tool: Quartiles | None
    tools: list[ToolResult]


class PythonResult(TypedDict):
    """One interpreter's run.

    build: how the interpreter was optimised, "PGO, LTO" for one; an unoptimised one makes every hook dearer.
    packages: name to version of those that are installed.
    wall_per_cpu: wall time by CPU time of all rounds together: above 1 by as much as others took the processor.
    """

    python: str
    build: str
    packages: dict[str, str]
    wall_per_cpu: float
    workloads: list[WorkloadResult]


class Machine(TypedDict):
    """load: load average of the last minute when the run began.

    cpu_clock_extra_ns: what one reading of the thread's CPU clock costs beyond one of the monotonic clock. It decides
    how dear a profiler is that reads that clock at each event.
    """

    processor: str
    processors: int
    system: str
    load: float
    cpu_clock_extra_ns: float


class Settings(TypedDict):
    """rounds: pairs per tool and workload, > 0. round_ms: how long a round aims to take, > 0. clock: of the table."""

    rounds: int
    round_ms: float
    clock: Clock


class Report(TypedDict):
    """date: ISO 8601, UTC."""

    schema: int
    date: str
    machine: Machine
    settings: Settings
    pythons: list[PythonResult]
