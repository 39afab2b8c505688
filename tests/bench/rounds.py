"""What happens inside a measuring process: a trial of a tool, and single pairs of rounds.

measure.py calls these functions in its worker processes, so arguments and results are names, numbers and samples.
"""

from __future__ import annotations

import gc
from functools import cache
from typing import NamedTuple

from results import Status
from tools import Tool, ToolError, UnsupportedError, all_tools
from workloads import Sample, Workload, all_workloads


class Trial(NamedTuple):
    """Whether a tool can be measured, else why not; and how long an operation takes without and with it, cpu ns."""

    status: Status
    note: str = ""
    without_ns: float = 0.0
    with_tool_ns: float = 0.0


class Pair(NamedTuple):
    """Two rounds, one right after the other."""

    without: Sample
    with_tool: Sample


def trial(workload_name: str, tool_name: str) -> Trial:
    """Makes sure that the tool sees what happens, and finds out how fast it is."""
    workload, tool = _workloads()[workload_name], _tools()[tool_name]
    missing = workload.missing() or tool.missing()
    if missing:
        return Trial("missing", missing)
    try:
        without = workload.run(workload.trial)
        code, _ = workload.known_calls(without)
        seen_before = tool.calls_of(code)
        with_tool = _run_with(tool, workload, workload.trial)
        seen = tool.calls_of(code)
        tool.reset()
    except UnsupportedError as error:
        return Trial("unsupported", str(error))
    except ToolError as error:
        return Trial("failed", str(error))
    _, calls = workload.known_calls(with_tool)
    if seen is not None and seen - (seen_before or 0) != calls:
        return Trial("failed", f"it saw {seen - (seen_before or 0)} calls of {code.co_qualname}, not {calls}")
    gc.collect()
    return Trial("measured", "", without.cpu_ns / without.operations, with_tool.cpu_ns / with_tool.operations)


def pair(workload_name: str, tool_name: str, operations: tuple[int, int], tool_first: bool) -> Pair:
    """operations: of the round without and of the one with the tool."""
    workload, tool = _workloads()[workload_name], _tools()[tool_name]
    for_without, for_with_tool = operations
    gc.disable()
    try:
        if tool_first:
            with_tool = _round_with(tool, workload, for_with_tool)
            return Pair(_round(workload, for_without), with_tool)
        without = _round(workload, for_without)
        return Pair(without, _round_with(tool, workload, for_with_tool))
    finally:
        gc.enable()


def _round(workload: Workload, operations: int) -> Sample:
    workload.run(workload.warm_up)
    return workload.run(operations)


def _round_with(tool: Tool, workload: Workload, operations: int) -> Sample:
    tool.start()
    try:
        return _round(workload, operations)
    finally:
        tool.stop()
        tool.reset()


def _run_with(tool: Tool, workload: Workload, operations: int) -> Sample:
    tool.start()
    try:
        return workload.run(operations)
    finally:
        tool.stop()


@cache
def _tools() -> dict[str, Tool]:
    return {tool.name: tool for tool in all_tools()}


@cache
def _workloads() -> dict[str, Workload]:
    return {workload.name: workload for workload in all_workloads()}
