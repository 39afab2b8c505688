"""The linters, and what else can be said of the files without running them."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from devtools import tracked_files
from devtools.c_suites import configure_c
from devtools.checkout import BUILD, E2E, ROOT, WEB
from devtools.results import Result
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment

_SHIPPED = ("core/", "server/", "pyshim/ext/")
_SHELL = ("scripts/demo", "scripts/test", "scripts/machine.sh", ".ci/run")


def suites(machine: Machine) -> list[Suite]:
    return [
        Suite("lint", "lint-c", partial(_lint_c, machine)),
        Suite("lint", "lint-py", partial(_lint_python, machine)),
        Suite("lint", "lint-web", partial(_lint_web, machine)),
        Suite("lint", "lint-files", _lint_files),
    ]


class _Checks:
    """Runs linters one after the other; each is a test that passes or fails."""

    def __init__(self, transcript: Transcript, env: Mapping[str, str]) -> None:
        self.result = Result()
        self._transcript = transcript
        self._env = env

    def run(self, *command: str | Path, cwd: Path = ROOT, **variables: str) -> None:
        self.add(self._transcript.run(command, env={**self._env, **variables}, cwd=cwd) == 0)

    def add(self, good: bool) -> None:
        self.result += Result(passed=int(good), failed=int(not good))


def _lint_c(machine: Machine, transcript: Transcript) -> Result:
    # A build of everything with clang: the extension's warnings are errors too, and clang-tidy learns the flags.
    machine.page(transcript)
    venv = machine.tools(machine.newest, transcript)
    env = environment(venv.bin, *machine.node(transcript))
    folder = BUILD / "lint-c"
    options = ("-DFLAMELET_EXTENSION=ON", "-DFLAMELET_PAGE=OFF", f"-DPython_EXECUTABLE={venv.python}")
    configure_c(folder, "clang", transcript, *options, env=env)
    sources = [name for name in tracked_files.names() if name.endswith(".c")]
    # Not the tests: the analyser takes no notice of cmocka's assertions.
    compiled = [name for name in sources if name.startswith(_SHIPPED)]
    headers = [name for name in tracked_files.names() if name.endswith(".h")]
    jobs = str(os.cpu_count() or 1)

    checks = _Checks(transcript, env)
    checks.run("ninja", "-C", folder)
    checks.run("clang-format", "--dry-run", "-Werror", *sources, *headers)
    # It takes regular expressions.
    checks.run("run-clang-tidy", "-quiet", "-p", folder, "-j", jobs, *(f"/{name}$" for name in compiled))
    cppcheck = (
        "cppcheck",
        "--enable=warning,performance,portability",
        "--inline-suppr",
        "--error-exitcode=1",
        "--quiet",
    )
    # Without Python's headers, which it would check too; what it has to know of them is told here.
    python = (f"-DPY_VERSION_HEX=0x03{machine.newest.version[1]:02x}0000", "-DPy_RETURN_NONE=return Py_None")
    how = ("--std=c11", "-D_GNU_SOURCE", *python, "-j", jobs)
    checks.run(*cppcheck, *how, *(f"-I{name}" for name in _SHIPPED), *_SHIPPED)
    return checks.result


def _lint_python(machine: Machine, transcript: Transcript) -> Result:
    venv = machine.tools(machine.newest, transcript)
    checks = _Checks(transcript, environment(venv.bin))
    checks.run("ruff", "check")
    checks.run("ruff", "format", "--check")
    checks.run("mypy")
    checks.run("mypy", "scripts/devtools", "tests/scripts", MYPYPATH="scripts")
    checks.run("mypy", "tests/real", MYPYPATH="tests/real")
    checks.run("mypy", "tests/mutants", MYPYPATH="tests/mutants:tests/mutants/plugin")
    return checks.result


def _lint_web(machine: Machine, transcript: Transcript) -> Result:
    checks = _Checks(transcript, environment(*machine.node(transcript)))
    for folder in (WEB, E2E):
        machine.modules(folder, transcript)
        checks.run("npx", "--no", "biome", "ci", ".", cwd=folder)
        checks.run("npm", "run", "types", cwd=folder)
    return checks.result


def _lint_files(transcript: Transcript) -> Result:
    checks = _Checks(transcript, environment())
    checks.run("shellcheck", "-x", *_SHELL)
    for title, complaints in (
        ("paths of one machine in tracked files", tracked_files.paths_of_one_machine()),
        ("addresses of registries in lock files", tracked_files.registries_in_lock_files()),
    ):
        transcript.note("\n".join([f"{title}: {len(complaints)}", *complaints]))
        checks.add(not complaints)
    return checks.result
