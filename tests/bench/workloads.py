"""What is repeated under each tool: Python calls, resumes, calls of C functions, greenlet switches, whole programs.

To add one, write a class with the members of `Workload` and name it in `all_workloads()`, with the tools that it is
measured under.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns, process_time_ns
from types import CodeType
from typing import Any, Final, NamedTuple, Protocol

import programs

REQUIREMENTS: Final = "python -m pip install -r tests/bench/requirements.txt"
# Of flamelet, and what else a call-heavy program is measured under.
_PROFILERS: Final = ("flamelet-rseq", "flamelet-short", "cprofile", "yappi-wall", "yappi-cpu")


class Sample(NamedTuple):
    """One timed loop.

    operations: how many were timed, > 0.
    wall_ns, cpu_ns: for all of them. cpu is that of the whole process, so what a tool does in a thread of its own
    counts too, and what other programs do on the same processor does not.
    """

    operations: int
    wall_ns: int
    cpu_ns: int


class Workload(Protocol):
    """A loop of equal operations.

    name: the key in JSON and of --only.
    operation: what the table's rows count, "Python call and return".
    tools: names of the tools (tools.py) that it is measured under, in the table's order.
    warm_up: operations before each timed loop: after each start and stop CPython rewrites the instructions that run,
    then specialises them anew.
    trial: operations of the runs that check a tool and find out its speed.
    """

    @property
    def name(self) -> str: ...

    @property
    def operation(self) -> str: ...

    @property
    def tools(self) -> tuple[str, ...]: ...

    @property
    def warm_up(self) -> int: ...

    @property
    def trial(self) -> int: ...

    def missing(self) -> str:
        """What must be installed before it can run; "" when nothing."""

    def run(self, operations: int) -> Sample:
        """Does about `operations` (> 0) of them and says how many it timed."""

    def known_calls(self, sample: Sample) -> tuple[CodeType, int]:
        """A function that the run which gave `sample` called, and exactly how often: a tool must have seen that."""


class _Small:
    """An operation of nanoseconds that needs nothing installed."""

    warm_up = 3000
    trial = 2000

    def missing(self) -> str:
        return ""


class Calls(_Small):
    """An empty Python function, called in a loop. The loop's own cost is in the baseline too, so it cancels out."""

    name = "calls"
    operation = "Python call and return"
    tools = (
        "floor",
        "flamelet-rseq",
        "flamelet-short",
        "cprofile",
        "yappi-wall",
        "yappi-cpu",
        "yappi-wall-native",
        "yappi-cpu-native",
    )

    def run(self, operations: int) -> Sample:
        function = _empty
        wall = perf_counter_ns()
        cpu = process_time_ns()
        for _ in range(operations):
            function()
        cpu = process_time_ns() - cpu
        wall = perf_counter_ns() - wall
        return Sample(operations, wall, cpu)

    def known_calls(self, sample: Sample) -> tuple[CodeType, int]:
        return _empty.__code__, sample.operations


def _empty() -> None:
    pass


class Resumes(_Small):
    """`sum` over a generator expression: each value is a resume and a yield of its frame, and no call."""

    name = "resumes"
    operation = "resume and yield of a generator"
    tools = ("floor", *_PROFILERS)

    def run(self, operations: int) -> Sample:
        wall = perf_counter_ns()
        cpu = process_time_ns()
        _sum(operations)
        cpu = process_time_ns() - cpu
        wall = perf_counter_ns() - wall
        return Sample(operations, wall, cpu)

    def known_calls(self, sample: Sample) -> tuple[CodeType, int]:
        return _sum.__code__, 1


def _sum(values: int) -> int:
    return sum(value for value in range(values))


class CCalls(_Small):
    """A function written in C, called in a loop, with C functions switched on where that is a choice."""

    name = "c-calls"
    operation = "call and return of a C function"
    tools = ("floor-builtins", "flamelet-builtins-rseq", "flamelet-builtins-short", "cprofile", "yappi-wall-builtins")

    def run(self, operations: int) -> Sample:
        return _call_c(operations)

    def known_calls(self, sample: Sample) -> tuple[CodeType, int]:
        return _call_c.__code__, 1


def _call_c(operations: int) -> Sample:
    function = [1, 2, 3].__len__
    wall = perf_counter_ns()
    cpu = process_time_ns()
    for _ in range(operations):
        function()
    cpu = process_time_ns() - cpu
    wall = perf_counter_ns() - wall
    return Sample(operations, wall, cpu)


class Whole:
    """A whole program of programs.py, again and again."""

    tools = _PROFILERS
    warm_up = 2
    trial = 2

    def __init__(self, name: str, operation: str, program: Callable[[], None]) -> None:
        self.name = name
        self.operation = operation
        self._program = program

    def missing(self) -> str:
        return ""

    def run(self, operations: int) -> Sample:
        return _repeat(self._program, operations)

    def known_calls(self, sample: Sample) -> tuple[CodeType, int]:
        return _repeat.__code__, 1


class WholeFlask(Whole):
    """The one that needs a package."""

    def __init__(self) -> None:
        super().__init__(
            "flask", f"{programs.FlaskRequests.REQUESTS} requests to a Flask application", self._no_program
        )

    def missing(self) -> str:
        try:
            importlib.import_module("flask")
        except ImportError as error:
            return f"flask can't be imported ({error}): {REQUIREMENTS}"
        return ""

    def run(self, operations: int) -> Sample:
        if self._program == self._no_program:
            self._program = programs.FlaskRequests()
        return super().run(operations)

    def _no_program(self) -> None:
        raise AssertionError("made at the first run, because it imports Flask")


def _repeat(program: Callable[[], None], operations: int) -> Sample:
    wall = perf_counter_ns()
    cpu = process_time_ns()
    for _ in range(operations):
        program()
    cpu = process_time_ns() - cpu
    wall = perf_counter_ns() - wall
    return Sample(operations, wall, cpu)


class Switches:
    """Two raw greenlets that switch to each other, each from `depth` (>= 1) Python frames deep."""

    warm_up = 3000
    trial = 2000
    tools = ("tracer", "flamelet-rseq", "flamelet-short", "yappi-wall", "yappi-cpu")

    def __init__(self, depth: int) -> None:
        self.name = f"switches-{depth}"
        self.operation = f"greenlet switch, {depth} {'frame' if depth == 1 else 'frames'} deep"
        self._depth = depth

    def missing(self) -> str:
        try:
            importlib.import_module("greenlet")
        except ImportError:
            return f"greenlet is not installed: {REQUIREMENTS}"
        return ""

    def run(self, operations: int) -> Sample:
        pair = _Pair(self._depth, rounds=max(1, operations // 2))
        pair.timed.switch()
        # The other one is parked in its last switch: let it come to its end.
        pair.other.switch()
        if pair.sample is None or not (pair.timed.dead and pair.other.dead):
            raise RuntimeError("a greenlet of the switch workload did not come to its end")
        return pair.sample

    def known_calls(self, sample: Sample) -> tuple[CodeType, int]:
        return _Pair.time_rounds.__code__, 1


class _Pair:
    """The two greenlets. `timed` starts, goes down, waits until `other` is down too, then measures."""

    def __init__(self, depth: int, rounds: int) -> None:
        self.timed = _greenlet_at_depth(self.time_rounds, depth)
        self.other = _greenlet_at_depth(self.answer, depth)
        self.sample: Sample | None = None
        self._rounds = rounds

    def time_rounds(self) -> None:
        switch = self.other.switch
        switch()
        wall = perf_counter_ns()
        cpu = process_time_ns()
        for _ in range(self._rounds):
            switch()
        cpu = process_time_ns() - cpu
        wall = perf_counter_ns() - wall
        self.sample = Sample(2 * self._rounds, wall, cpu)

    def answer(self) -> None:
        switch = self.timed.switch
        for _ in range(self._rounds + 1):
            switch()


def _greenlet_at_depth(act: Callable[[], None], depth: int) -> Any:
    """A greenlet that runs `act` as the innermost of `depth` (>= 1) Python frames."""
    greenlet = importlib.import_module("greenlet").greenlet
    return greenlet(act if depth == 1 else partial(_descend, act, depth - 2))


def _descend(act: Callable[[], None], frames_between: int) -> None:
    if frames_between == 0:
        act()
    else:
        _descend(act, frames_between - 1)


def all_workloads() -> tuple[Workload, ...]:
    """In the table's order."""
    return (
        Calls(),
        Resumes(),
        CCalls(),
        Switches(depth=1),
        Switches(depth=20),
        Whole("fib", "run of a recursive fib", programs.recursive_fib),
        Whole("constraints", "run of a constraint solver", programs.constraints),
        Whole("json", "run of a JSON parser", programs.json_parser),
        WholeFlask(),
    )
