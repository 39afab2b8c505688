"""From rounds to figures: quartiles, flamelet against the others, and what it has set itself."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from typing import Final

from results import Comparison, Quartiles, ToolResult

FLAMELET: Final = "flamelet-"
# Tools that do nothing with an event: flamelet's distance from them is its own work, in ns. Others: a quotient.
FLOORS: Final = ("floor", "floor-builtins", "tracer")
_WHOLE_PROGRAMS: Final = ("fib", "constraints", "json", "flask")
# What flamelet has set itself, as upper bounds by workload and tool: ns beyond a floor, a part of what others add. To
# hold the figures against; nothing enforces them. 3.11 has a profile function instead of monitoring.
AIMS: Final = {
    ("calls", "floor"): 12.0 if sys.version_info >= (3, 12) else 15.0,
    ("calls", "cprofile"): 0.3,
    ("calls", "yappi-wall"): 0.12,
    ("calls", "yappi-cpu"): 0.05,
    ("calls", "yappi-wall-native"): 0.12,
    ("calls", "yappi-cpu-native"): 0.05,
    ("resumes", "floor"): 12.0,
    ("c-calls", "floor-builtins"): 12.0,
    ("switches-1", "tracer"): 60.0,
    ("switches-20", "tracer"): 60.0,
    **{(program, "cprofile"): 0.4 for program in _WHOLE_PROGRAMS},
    **{(program, "yappi-wall"): 0.12 for program in _WHOLE_PROGRAMS},
    **{(program, "yappi-cpu"): 0.05 for program in _WHOLE_PROGRAMS},
}


def is_flamelet(tool: str) -> bool:
    return tool.startswith(FLAMELET)


def comparisons_of(row: ToolResult, rows: Sequence[ToolResult], workload: str) -> list[Comparison]:
    """Each of flamelet's rows among `rows` against `row`; [] for a row of flamelet itself."""
    if is_flamelet(row["tool"]):
        return []
    return [_compare(other, row, workload) for other in rows if is_flamelet(other["tool"])]


def _compare(flamelet: ToolResult, row: ToolResult, workload: str) -> Comparison:
    is_floor = row["tool"] in FLOORS
    # Cycle by cycle, because the machine may be half as fast again in one cycle as in the next.
    cycles = list(zip(added_by_cycle(flamelet), added_by_cycle(row), strict=False))
    values = [ours - theirs if is_floor else ours / theirs for ours, theirs in cycles if is_floor or theirs != 0]
    return {
        "flamelet": flamelet["tool"],
        "unit": "ns" if is_floor else "ratio",
        "value": quartiles(values) if values else None,
        "aim": AIMS.get((workload, row["tool"])),
    }


def added_by_cycle(row: ToolResult) -> list[float]:
    """ns per operation that the tool added in each cycle; [] when it was not measured."""
    return [one - other for one, other in zip(row["with_tool"], row["without"], strict=True)]


def quartiles(values: Sequence[float]) -> Quartiles:
    """Of at least one value."""
    if len(values) == 1:
        return {"median": values[0], "q1": values[0], "q3": values[0]}
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": median, "q1": q1, "q3": q3}
