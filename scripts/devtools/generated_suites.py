"""Generated programs against their oracle, on each Python that is here and on those of `next`."""

from functools import partial
from pathlib import Path

from devtools import next_suites
from devtools.pythons import Python
from devtools.results import Result
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript
from devtools.venvs import Venv

# The same ones at each run, some 20 s: a run fails for what was changed, not for its luck. New ones: tests/generated.
_FIRST, _PROGRAMS = 20_000_000, 2000


def suites(machine: Machine) -> list[Suite]:
    pythons = machine.pythons.values()
    here = [Suite("generated", f"gen-{python.minor}", partial(_run, machine, python)) for python in pythons]
    newest = next_suites.NEWEST
    return [*here, *(Suite("next", f"gen-next-{version}", partial(_run_next, machine, version)) for version in newest)]


def _run(machine: Machine, python: Python, transcript: Transcript) -> Result:
    return _run_programs(machine.flamelet(python, transcript), transcript)


def _run_next(machine: Machine, version: str, transcript: Transcript) -> Result:
    return _run_programs(next_suites.flamelet(machine, version, transcript), transcript)


def _run_programs(venv: Venv, transcript: Transcript) -> Result:
    command: list[str | Path] = [venv.python, "tests/generated/run.py"]
    command += ["--first", str(_FIRST), "--count", str(_PROGRAMS)]
    failed = transcript.run(venv.command(command)) != 0
    return Result(passed=int(not failed), failed=int(failed))
