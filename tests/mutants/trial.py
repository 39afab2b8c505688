"""Runs the tests that reach a mutant, until one fails.

A test that fails has killed the mutant when it fails a second time, alone, and passes without the mutant: a test that
the machine's load makes fail is no proof. Tests that measure time have three tries here, as they have in scripts/test.
A crash is a failure; so is a test that takes several times as long as without a mutant.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from processes import Ended, run
from reach import HERE, Reach, Test, pytest_command
from statements import Mutant
from workspace import Python, Workspace, environment_of_tests, install

# Of the C programs those whose findings are held against the machine's clock.
_CLOCK = {"test_clock", "test_cpu_clock", "test_recorder", "test_server", "test_server_life", "test_stress"}
_SHORT = 3.0  # seconds; shorter C programs go before all others


@dataclass(frozen=True)
class Verdict:
    """killed: by which test, and how: "failed", "crashed", "hung". tests: how many reach the statement; left_out: so
    many of these were too slow for our patience."""

    killed: bool
    tests: int
    left_out: int = 0
    by: str = ""
    how: str = ""


@dataclass(frozen=True)
class _Failure:
    test: Test
    how: str


class Experience:
    """What the workers of a run learn: which tests fail without a mutant, and which kill. Used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sound: dict[tuple[str, str], bool] = {}
        self._kills: Counter[tuple[str, str]] = Counter()

    def is_sound(self, test: Test, python: str, ask: Callable[[], bool]) -> bool:
        """Whether it passes without a mutant: asked once."""
        key = (test.name, python)
        with self._lock:
            known = self._sound.get(key)
        if known is None:
            known = ask()
            with self._lock:
                self._sound[key] = known
        return known

    def killed(self, mutant: Mutant, test: Test) -> None:
        with self._lock:
            self._kills[mutant.file, test.name] += 1

    def in_order(self, mutant: Mutant, tests: Sequence[Test]) -> list[Test]:
        """Those first that have killed mutants of the same file, then the fastest."""
        with self._lock:
            return sorted(tests, key=lambda test: (-self._kills[mutant.file, test.name], test.seconds))

    def unsound(self) -> list[str]:
        with self._lock:
            return sorted(name for (name, _), sound in self._sound.items() if not sound)


class Trial:
    """One worker's."""

    def __init__(self, workspace: Workspace, reach: Reach, experience: Experience, patience: float) -> None:
        """patience: seconds of Python tests for a mutant, as they take with counters; the first are always run."""
        self._patience = patience
        self._workspace = workspace
        self._reach = reach
        self._experience = experience
        self._progress = workspace.folder / "progress"
        self._scratch = workspace.folder / "tmp"

    def judge(self, mutant: Mutant, python: Python) -> Verdict:
        """The mutant has been put into the workspace, for this Python. Raises BrokenOff."""
        # What tests reach is known for the newest Python alone.
        is_newest = python == self._workspace.pythons[0]
        tests = self._reach.of(mutant.statement) if is_newest else self._reach.of_files("py")
        groups = self._groups(mutant, tests)
        for group in groups:
            failure = self._run_c(group[0], python) if group[0].kind == "c" else self._run_python(group, python)
            if failure is not None:
                self._experience.killed(mutant, failure.test)
                return Verdict(True, len(tests), 0, failure.test.name, failure.how)
        return Verdict(False, len(tests), len(tests) - sum(map(len, groups)))

    def _groups(self, mutant: Mutant, tests: Sequence[Test]) -> list[list[Test]]:
        """What is run at once, in its order: a C program, or all the Python tests."""
        ordered = self._experience.in_order(mutant, tests)
        short = [[test] for test in ordered if test.kind == "c" and test.seconds < _SHORT]
        long = [[test] for test in ordered if test.kind == "c" and test.seconds >= _SHORT]
        python = self._as_patience_has_it([test for test in ordered if test.kind == "py"])
        rest = [*long, python] if python else long
        return [*short, *sorted(rest, key=lambda group: sum(test.seconds for test in group))]

    def _as_patience_has_it(self, tests: Sequence[Test]) -> list[Test]:
        sums = accumulate(test.seconds for test in tests)
        return [test for test, until in zip(tests, sums, strict=True) if test is tests[0] or until <= self._patience]

    def _run_c(self, test: Test, python: Python) -> _Failure | None:
        if not self._workspace.c.try_to_make(test.name):
            return None
        program = self._workspace.c.folder / "tests" / "c" / test.name
        ended = self._run_program(program, test)
        tries = 3 if test.name in _CLOCK else 2
        for _ in range(tries - 1):
            if ended.code == 0:
                return None
            if ended.code is not None:
                ended = self._run_program(program, test)
        if ended.code == 0:
            return None
        whole = self._workspace.whole_programs / test.name
        if not self._experience.is_sound(test, python.minor, lambda: self._run_program(whole, test).code == 0):
            return None
        return _Failure(test, _how(ended, "ERROR: AddressSanitizer"))

    def _run_program(self, program: Path, test: Test) -> Ended:
        limit = 20 + 8 * test.seconds
        return run([program], cwd=self._workspace.checkout, limit=limit, env=environment_of_tests())

    def _run_python(self, tests: Sequence[Test], python: Python) -> _Failure | None:
        left = list(tests)
        while left:
            failure = self._run_pytest(left, python)
            if failure is None:
                return None
            again = failure if failure.how == "hung" else self._run_pytest([failure.test], python)
            if again is not None and self._experience.is_sound(
                failure.test,
                python.minor,
                lambda test=failure.test: self._passes_whole(test, python),  # type: ignore[misc]
            ):
                return again
            left = left[left.index(failure.test) + 1 :]
        return None

    def _passes_whole(self, test: Test, python: Python) -> bool:
        venv = self._workspace.venv(python)
        mutated = self._workspace.folder / "mutated.so"
        install(venv.extension, mutated)
        install(venv.whole_extension, venv.extension)
        try:
            return self._run_pytest([test], python) is None
        finally:
            install(mutated, venv.extension)

    def _run_pytest(self, tests: Sequence[Test], python: Python) -> _Failure | None:
        """The first that fails."""
        venv = self._workspace.venv(python)
        self._progress.write_text("")
        names = self._workspace.folder / "tests.txt"
        names.write_text("".join(f"{test.name}\n" for test in tests))
        by_name = {test.name: test for test in tests}
        watch = _Watch(self._progress, by_name)
        ended = run(
            [*pytest_command(venv.python, self._scratch, ["-x", f"@{names}"])],
            cwd=self._workspace.checkout,
            limit=60 + sum(30 + 8 * test.seconds for test in tests),
            env=environment_of_tests(venv, MUTANTS_PROGRESS=str(self._progress), PYTHONPATH=str(HERE / "plugin")),
            is_late=watch.is_late,
        )
        if ended.code in (0, 5):
            return None
        watch.read()
        name = watch.failed or watch.running
        return _Failure(by_name.get(name, tests[0]), "failed" if watch.failed else _how(ended))


class _Watch:
    """Reads which test runs, and for how long it has."""

    def __init__(self, progress: Path, tests: dict[str, Test]) -> None:
        self._progress = progress
        self._tests = tests
        self._since = time.monotonic()
        self.running = ""
        self.failed = ""

    def read(self) -> None:
        running = ""
        for row in self._progress.read_text(encoding="utf-8").splitlines():
            word, _, name = row.partition(" ")
            if word == "start":
                running = name
            elif word == "fail":
                self.failed = name
        if running != self.running:
            self.running = running
            self._since = time.monotonic()

    def is_late(self) -> bool:
        self.read()
        test = self._tests.get(self.running)
        return time.monotonic() - self._since > (60 if test is None else 30 + 8 * test.seconds)


def _how(ended: Ended, crash: str = "") -> str:
    if ended.code is None:
        return "hung"
    return "crashed" if ended.code < 0 or (crash and crash in ended.output) else "failed"
