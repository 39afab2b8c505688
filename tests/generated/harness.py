"""Runs programs in this process under flamelet, many in one session, and compares what it says with the oracle."""

from __future__ import annotations

import _thread
import gc
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import inf
from typing import Any

import greenlet

import flamelet
from flamelet import _ext
from flamelet.recording import Recording, read_lines
from flamelet.session import recording_lines
from observe import Observed, observe
from oracle import Expected, TooLong
from oracle import predict as _predict
from program import Program, used
from render import Rendered, render


class Error(Exception):
    pass


class E0(Error):
    pass


class E1(Error):
    pass


_fresh = count(1 << 50)
"""Numbers of programs that no seed made."""


def fresh(program: Program) -> Program:
    """The same program as another one, which can be run beside it."""
    return replace(program, seed=next(_fresh))


@dataclass
class Case:
    """A program that was run. burnt: CPU seconds by its own clock, inside of the function that burns them; around_burn:
    wall seconds around that; slept: wall seconds. wrong: what is wrong with it, a line for each; off: times that are;
    `too_long`: it was not run."""

    program: Program
    expected: Expected | None = None
    rendered: Rendered = field(default_factory=Rendered)
    burnt: list[float] = field(default_factory=list)
    around_burn: list[float] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    off: list[str] = field(default_factory=list)
    run: Callable[[], None] = lambda: None

    @property
    def too_long(self) -> bool:
        return self.expected is None


Predict = Callable[[Program], Expected]
_CLEARS = sys.version_info[:2] == (3, 13)


class Session:
    """One process's session. settings: those of start(). predict: the oracle."""

    def __init__(self, *, builtins: bool = False, task_trees: str = "long", predict: Predict | None = None) -> None:
        self._builtins = builtins
        self._predict = predict or partial(_predict, clears=_CLEARS)
        self._lost: dict[str, int] = {}
        self._complaints: list[str] = []
        sys.unraisablehook = lambda raised: self._complaints.append(f"nobody caught {raised.exc_value!r}")
        threading.excepthook = lambda raised: self._complaints.append(f"a thread died of {raised.exc_value!r}")
        warnings.simplefilter("ignore", RuntimeWarning)  # coroutines that are never awaited
        gc.disable()
        flamelet.start(builtins=builtins, task_trees=task_trees)
        flamelet.stop()

    def run(
        self,
        programs: Sequence[Program],
        *,
        blame: bool = True,
        alter: Callable[[Mapping[str, Observed]], None] | None = None,
    ) -> list[Case]:
        """Run each, and compare. No two that this process runs may have the same seed. blame: find which of them made
        flamelet lose something. alter: breaks what was seen, to show that it would be noticed."""
        cases = [self._prepare(program) for program in programs]
        _ext.start(builtins=self._builtins)
        for case in cases:
            if not case.too_long:
                self._run_one(case)
        _ext.stop()
        recording = self.recording()
        observed = observe(recording.picture, {case.program.file: case.rendered for case in cases})
        if alter:
            alter(observed)
        for case in cases:
            if case.expected:
                case.wrong += compare(case, observed[case.program.file])
                case.off += compare_times(case, observed[case.program.file])
        lost = recording.picture.status.lost
        more = {name: n - self._lost.get(name, 0) for name, n in lost.items() if n != self._lost.get(name, 0)}
        self._lost = dict(lost)
        gc.collect()
        if more and blame:
            self._blame([case for case in cases if not case.too_long], more)
        return cases

    def _blame(self, cases: Sequence[Case], lost: Mapping[str, int]) -> None:
        """One of the cases made flamelet lose something; which, shows when they are run again."""
        if len(cases) == 1:
            cases[0].wrong.append(f"flamelet lost {dict(lost)}")
            return
        half = len(cases) // 2
        blamed = False
        for part in (cases[:half], cases[half:]):
            again = self.run([fresh(case.program) for case in part])
            for case, copy in zip(part, again, strict=True):
                if any("flamelet lost" in line for line in copy.wrong):
                    blamed = True
                    case.wrong += [line for line in copy.wrong if line not in case.wrong]
        if not blamed:
            cases[0].wrong.append(f"flamelet lost {dict(lost)} in this or one of the next {len(cases)}, once")

    def is_off_again(self, case: Case, tries: int = 2) -> bool:
        """Whether its times are wrong each time. Once may be the machine: a thread that loses its processor between a
        reading of the program's and the next of flamelet's is nobody's fault."""
        for _ in range(tries):
            (copy,) = self.run([fresh(case.program)], blame=False)
            if copy.wrong or not copy.off:
                return False
        return True

    def recording(self) -> Recording:
        return read_lines(recording_lines("generated"))

    def _prepare(self, program: Program) -> Case:
        case = Case(program)
        try:
            case.expected = self._predict(program)
        except TooLong:
            return case
        case.rendered = render(program)
        names = self._names(case)
        for name, (text, file) in case.rendered.modules.items():
            names[name] = compile(text, file, "exec")
        exec(compile(case.rendered.source, program.file, "exec"), names)
        case.run = partial(names["enter"], names["main"])
        return case

    def _names(self, case: Case) -> dict[str, Any]:
        """What a program finds as global names."""
        return {
            "L": threading.local(),
            "NOTHING": (),
            "ONE": (0,),
            "Error": Error,
            "E0": E0,
            "E1": E1,
            "GreenletExit": greenlet.GreenletExit,
            "greenlet": greenlet.greenlet,
            "getcurrent": greenlet.getcurrent,
            "Thread": threading.Thread,
            "coroutine": types.coroutine,
            "partial": partial,
            "monotonic": time.monotonic,
            "thread_time": time.thread_time,
            "sleep": time.sleep,
            "label": flamelet.label,
            "stop": _ext.stop,
            "start": partial(_ext.start, builtins=self._builtins),
            "is_running": _ext.is_running,
            "burnt": case.burnt,
            "around_burn": case.around_burn,
            "slept": case.slept,
        }

    def _run_one(self, case: Case) -> None:
        before = _thread._count()
        try:
            if case.program.own_thread:
                thread = threading.Thread(target=case.run)
                thread.start()
                thread.join()
            else:
                case.run()
        except BaseException as error:
            case.wrong.append(f"the program died of {error!r}")
        while _thread._count() > before:  # the last instructions of a thread that was joined
            time.sleep(0.0001)
        case.wrong += self._complaints
        self._complaints.clear()


def compare(case: Case, observed: Observed) -> list[str]:
    """What of the program flamelet saw otherwise; nothing where all is well."""
    assert case.expected
    wrong: list[str] = []
    expected = case.expected.calls
    for label, path in sorted(expected.keys() | observed.calls.keys()):
        want, got = expected.get((label, path)), observed.calls.get((label, path))
        if want != got and (got or want is not None or (label, path) not in case.expected.maybe):
            text = f"label {label}: " if label else ""
            wrong.append(f"{text}{' > '.join(path)}: {_calls(got)}, should be {_calls(want)}")
    for key in sorted(case.expected.tasks.keys() | observed.tasks.keys()):
        if key[0] != "enter":
            tasks, seen = case.expected.tasks.get(key, [0, 0]), observed.tasks.get(key, [0, 0])
            if tasks != seen:
                wrong.append(f"tasks of {key[0]}, label {key[1]}: {seen} began and ended, should be {tasks}")
    return wrong


def _calls(number: int | None) -> str:
    return "not there" if number is None else f"{number} calls"


def compare_times(case: Case, observed: Observed) -> list[str]:
    """What flamelet measured lies between what the program measured inside and outside of the same function."""
    burn, block = observed.times["burn"], observed.times["block"]
    between = (
        # What a hypervisor takes away is no CPU time to the kernel, so that is no upper bound.
        ("cpu of burn()", sum(case.burnt), burn.cpu, sum(case.around_burn)),
        ("wall time of burn()", sum(case.burnt), burn.cpu + burn.blocked, sum(case.around_burn)),
        ("wall time of block()", sum(case.slept), block.cpu + block.blocked, inf),
    )
    return [
        f"{name}: {value / 1e9:.6f} s, but the program measured {least:.6f} to {most:.6f} s"
        for name, least, value, most in between
        if not least - _slack(case, least) <= value / 1e9 <= most + _slack(case, most)
    ]


def _slack(case: Case, seconds: float) -> float:
    """How much two clocks may differ: 1 %, and 20 us for each reading."""
    return 0.01 * seconds + 20e-6 * (1 + len(case.burnt) + len(case.slept)) if seconds < inf else 0


def source_of(program: Program) -> str:
    """The program's own functions that it uses, as text."""
    lines = render(program).source.split("\n")
    keep: list[str] = []
    names = {f"f{number}" for number in used(program)} | {"main"}
    on = False
    for line in lines:
        if not line.startswith(" "):
            on = line.removeprefix("async ").removeprefix("def ").split("(")[0] in names
        if on:
            keep.append(line)
    return "\n".join(keep)
