"""A generated program: functions and a main body, each a tree of steps. Every step can be done at any time, so dropping
one leaves a program: what there is to switch to, or to close, is asked for when the step is run.

Functions call those with a higher number only, so every program ends. They stand in three bands:

- up to `stops`: may stop and start profiling, and start threads, so only the main thread may run them;
- up to `quiet`: may switch between greenlets and let exceptions out;
- the rest are quiet: they do neither. What runs while something is thrown away (`finally`, `__del__`) calls only these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

SLOTS = 3
"""Of greenlets, and of generators, in each thread."""

PLAIN, GENERATOR, COROUTINE = "plain", "generator", "coroutine"


@dataclass(frozen=True, slots=True)
class Step:
    """One statement. What `args` and `bodies` mean: see `render.py`, whose method has the name of the `op`."""

    op: str
    args: tuple[int | str, ...] = ()
    bodies: tuple[tuple[Step, ...], ...] = ()


Body = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """kind: PLAIN, GENERATOR or COROUTINE. depth: how often it calls itself, first of all."""

    kind: str
    body: Body
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    seed: int
    functions: tuple[Function, ...]
    main: Body
    stops: int
    quiet: int
    own_thread: bool

    @property
    def file(self) -> str:
        """The name of the file that its functions claim to be from: no other program's."""
        return f"<generated {self.seed}>"


def size(program: Program) -> int:
    """The number of its steps."""
    return sum(1 for body in _bodies_of(program) for _ in _walk(body))


def smaller(program: Program) -> Iterator[Program]:
    """All programs with one step less, or with a step replaced by what is in it; the largest cuts first."""
    if program.main:
        for index, function in enumerate(program.functions):
            if function.body:
                yield _with_function(program, index, replace(function, body=(), depth=0))
    for cut in _cuts(program.main):
        yield replace(program, main=cut)
    for index, function in enumerate(program.functions):
        if function.depth:
            yield _with_function(program, index, replace(function, depth=0))
        for cut in _cuts(function.body):
            yield _with_function(program, index, replace(function, body=cut))
    if program.own_thread:
        yield replace(program, own_thread=False)


def used(program: Program) -> set[int]:
    """The numbers of the functions that can be reached from the main body."""
    found: set[int] = set()
    bodies = [program.main]
    while bodies:
        for step in _walk(bodies.pop()):
            for number in functions_of(step):
                if number not in found:
                    found.add(number)
                    bodies.append(program.functions[number].body)
    return found


def functions_of(step: Step) -> tuple[int, ...]:
    """The functions that a step names."""
    if step.op in _NAMES_FUNCTION:
        return tuple(arg for arg in step.args[_NAMES_FUNCTION[step.op] :] if isinstance(arg, int))[:1]
    if step.op == "threads":
        return tuple(arg for arg in step.args if isinstance(arg, int))
    return ()


# Where among a step's arguments the function's number is.
_NAMES_FUNCTION = {"call": 0, "make": 1, "iterate": 0, "delegate": 0, "spawn": 1}


def _with_function(program: Program, index: int, function: Function) -> Program:
    functions = list(program.functions)
    functions[index] = function
    return replace(program, functions=tuple(functions))


def _bodies_of(program: Program) -> Iterator[Body]:
    yield program.main
    for function in program.functions:
        yield function.body


def _walk(body: Body) -> Iterator[Step]:
    for step in body:
        yield step
        for inner in step.bodies:
            yield from _walk(inner)


def _cuts(body: Body) -> Iterator[Body]:
    half = len(body) // 2
    if half > 1:
        yield body[half:]
        yield body[:half]
    for index, step in enumerate(body):
        before, after = body[:index], body[index + 1 :]
        yield before + after
        for number, inner in enumerate(step.bodies):
            if inner:
                yield before + inner + after
            for cut in _cuts(inner):
                bodies = (*step.bodies[:number], cut, *step.bodies[number + 1 :])
                yield (*before, replace(step, bodies=bodies), *after)
        if step.op == "repeat" and step.args[0] != 1:
            yield (*before, replace(step, args=(1,)), *after)
