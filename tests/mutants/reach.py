"""Which tests reach which lines, and how long each takes: from a build with gcov's counters, in which each test is run
once. What was found is kept, for each C program and Python test file, until its sources change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from processes import run
from statements import FOLDERS, Statement
from workspace import Build, BuildFailed, Python, copy_sources, environment_of_tests, fingerprint, install, make_venv

HERE = Path(__file__).parent
_SHIPPED = ("CMakeLists.txt", "cmake", *FOLDERS)
_LIMIT = 900.0  # seconds for the tests of a file


@dataclass(frozen=True)
class Test:
    """name: a C program, or pytest's name of a Python test. seconds: with counters, on this machine.
    lines: of each file, those that it reached."""

    __test__ = False

    kind: str  # "c", "py"
    name: str
    seconds: float
    lines: dict[str, frozenset[int]]


class Reach:
    """The tests, and what each reaches."""

    def __init__(self, tests: Iterable[Test]) -> None:
        self.tests = sorted(tests, key=lambda test: test.seconds)
        self._with_code: dict[str, set[int]] = {}
        for test in self.tests:
            for file, lines in test.lines.items():
                self._with_code.setdefault(file, set()).update(lines)

    def of(self, statement: Statement) -> list[Test]:
        """The tests that reach it, fastest first. A statement of several lines is reached where one of them is."""
        lines = range(statement.first_line, statement.last_line + 1)
        return [test for test in self.tests if not test.lines.get(statement.file, frozenset()).isdisjoint(lines)]

    def of_files(self, kind: str) -> list[Test]:
        """All tests of a kind that reach anything, fastest first."""
        return [test for test in self.tests if test.kind == kind and test.lines]


class Counting:
    """The build with counters."""

    def __init__(self, checkout: Path, folder: Path, python: Python, tell: Callable[[str], None]) -> None:
        self._checkout = checkout
        self._folder = folder
        self._python = python
        self._tell = tell
        self._build = Build(folder / "build")
        self._notes: dict[str, Path] = {}
        self._is_built = False

    def reach(self) -> Reach:
        """Runs the tests of which nothing is known yet. Raises BuildFailed, BrokenOff."""
        programs = sorted(file.stem for file in (self._checkout / "tests" / "c").glob("test_*.c"))
        files = (self._checkout / "tests" / "py").rglob("test_*.py")
        tests: list[Test] = []
        for program in programs:
            tests += self._known_or_counted("c", f"tests/c/{program}.c", self._count_program)
        for file in sorted(file for file in files if "test_bench_" not in file.name):
            tests += self._known_or_counted("py", file.relative_to(self._checkout).as_posix(), self._count_python)
        return Reach(tests)

    def _known_or_counted(self, kind: str, file: str, count: Callable[[str], list[Test]]) -> list[Test]:
        kept = self._folder / "reach" / f"{file.replace('/', '-')}.json"
        made_from = self._made_from(kind, file)
        if kept.exists():
            known = json.loads(kept.read_text())
            if known["made from"] == made_from:
                return [Test(kind, row["name"], row["seconds"], _sets(row["lines"])) for row in known["tests"]]
        if not self._is_built:
            self._make()
        tests = count(file)
        self._tell(f"reach: {file}: {len(tests)} tests")
        kept.parent.mkdir(parents=True, exist_ok=True)
        rows = [
            {"name": test.name, "seconds": test.seconds, "lines": {name: sorted(of) for name, of in test.lines.items()}}
            for test in tests
        ]
        kept.write_text(json.dumps({"made from": made_from, "tests": rows}))
        return tests

    def _made_from(self, kind: str, file: str) -> str:
        helpers = [
            helper.relative_to(self._checkout).as_posix()
            for helper in sorted((self._checkout / "tests" / kind).rglob("*.[chp]*"))
            if helper.suffix in (".c", ".h", ".py") and not helper.name.startswith("test_")
        ]
        package = ("pyshim/flamelet",) if kind == "py" else ()
        return fingerprint(self._checkout, [*_SHIPPED, *package, *helpers, file])

    def _make(self) -> None:
        self._tell("reach: building with counters")
        source = self._folder / "source"
        copy_sources(self._checkout, source)
        venv = make_venv(self._folder, self._python, self._checkout)
        self._build.configure(
            source,
            "-DFLAMELET_TESTS=ON",
            f"-DPython_EXECUTABLE={self._python.path}",
            f"-DCMAKE_C_FLAGS=-O0 --coverage -include {HERE / 'exit_dumps.h'}",
        )
        self._build.make()
        install(self._build.extension(), venv.extension)
        self._notes = {str(file.with_suffix("")): file for file in self._build.folder.rglob("*.gcno")}
        for left in self._build.folder.rglob("*.gcda"):
            left.unlink()
        self._venv = venv
        self._is_built = True

    def _count_program(self, file: str) -> list[Test]:
        name = Path(file).stem
        if not (self._build.folder / "tests" / "c" / name).exists():
            return []  # for another build
        counters = self._folder / "counters"
        shutil.rmtree(counters, ignore_errors=True)
        command = [self._build.folder / "tests" / "c" / name]
        ended = run(command, cwd=self._checkout, limit=_LIMIT, env=environment_of_tests(GCOV_PREFIX=str(counters)))
        if ended.code != 0:
            self._tell(f"reach: {name} fails without a mutant ({ended.code})")
        return [Test("c", name, round(ended.seconds, 3), self._lines(counters))]

    def _count_python(self, file: str) -> list[Test]:
        counters = self._folder / "counters"
        shutil.rmtree(counters, ignore_errors=True)
        progress = self._folder / "progress"
        progress.write_text("")
        command = pytest_command(self._venv.python, self._folder / "tmp", [file])
        env = environment_of_tests(
            self._venv,
            MUTANTS_PROGRESS=str(progress),
            MUTANTS_COVER=str(counters),
            PYTHONPATH=str(HERE / "plugin"),
        )
        ended = run(command, cwd=self._checkout, limit=_LIMIT, env=env)
        names, skipped, seconds = _read(progress)
        if not names:
            self._tell(f"reach: {file}: no test ran ({ended.code}): {ended.output[-500:]}")
        shared = self._lines(counters / "shared")
        tests: list[Test] = []
        for number, name in enumerate(names):
            lines = self._lines(counters / str(number))
            if name in skipped:
                continue
            both = {path: lines.get(path, frozenset()) | shared.get(path, frozenset()) for path in {*lines, *shared}}
            tests.append(Test("py", name, seconds.get(name, 60.0), both))
        shutil.rmtree(counters, ignore_errors=True)
        return tests

    def _lines(self, counters: Path) -> dict[str, frozenset[int]]:
        """Of the shipped files, the lines that were reached, by counters below the folder."""
        data = sorted(counters.rglob("*.gcda"))
        found: dict[str, set[int]] = {}
        if not data:
            return {}
        for file in data:
            original = "/" + file.relative_to(counters).with_suffix("").as_posix()
            note = self._notes.get(original)
            if note is not None and not file.with_suffix(".gcno").exists():
                file.with_suffix(".gcno").symlink_to(note)
        ended = run(["gcov", "-j", "-t", *data], cwd=counters)
        source = f"{self._folder / 'source'}/"
        for row in ended.output.splitlines():
            if not row.startswith("{"):
                continue
            # What gcov complains about may follow on the same line.
            for part in json.JSONDecoder().raw_decode(row)[0]["files"]:
                name = part["file"].removeprefix(source)
                if name.startswith(FOLDERS):
                    reached = (line["line_number"] for line in part["lines"] if line["count"] > 0)
                    found.setdefault(name, set()).update(reached)
        return {name: frozenset(lines) for name, lines in found.items() if lines}


def pytest_command(python: Path, scratch: Path, tests: Sequence[str]) -> list[str | Path]:
    options = ["-q", "-p", "no:cacheprovider", "-p", "mutants_plugin", f"--basetemp={scratch}"]
    return [python, "-m", "pytest", *options, *tests]


def _sets(lines: dict[str, list[int]]) -> dict[str, frozenset[int]]:
    return {name: frozenset(numbers) for name, numbers in lines.items()}


def _read(progress: Path) -> tuple[list[str], set[str], dict[str, float]]:
    """The tests in their order, those that were skipped, and how long each took."""
    names: list[str] = []
    skipped: set[str] = set()
    seconds: dict[str, float] = {}
    for row in progress.read_text(encoding="utf-8").splitlines():
        word, _, rest = row.partition(" ")
        if word == "start":
            names.append(rest)
        elif word == "skip":
            skipped.add(rest)
        elif word == "end":
            name, _, took = rest.rpartition(" ")
            seconds[name] = float(took)
    return names, skipped, seconds


__all__ = ["BuildFailed", "Counting", "Reach", "Test", "pytest_command"]
