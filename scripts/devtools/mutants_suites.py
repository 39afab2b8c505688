"""Statements of the C code altered one at a time, and how many of these a test notices (tests/mutants)."""

from collections import Counter
from functools import partial
from pathlib import Path

from devtools.checkout import BUILD
from devtools.results import COULD_NOT_RUN, Result
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment

_LIMIT = 24 * 3600.0  # seconds: 200 mutants are a matter of hours
_SUMMARY = BUILD / "mutants" / "summary.txt"


def suites(machine: Machine, options: list[str]) -> list[Suite]:
    """options: for tests/mutants/run_mutants.py."""
    return [Suite("mutants", "mutants", partial(_run, machine, options), alone=True)]


def _run(machine: Machine, options: list[str], transcript: Transcript) -> Result:
    # The oldest as well: some code is compiled for it alone.
    pythons = list(dict.fromkeys([machine.newest, next(iter(machine.pythons.values()))]))
    venvs = [machine.tools(python, transcript) for python in pythons]
    machine.page(transcript)
    _SUMMARY.unlink(missing_ok=True)
    command: list[str | Path] = [venvs[0].python, "tests/mutants/run_mutants.py", *options]
    for venv in venvs:
        command += ["--python", venv.python]
    code = transcript.run(command, env=environment(venvs[0].bin), limit=_LIMIT)
    if not _SUMMARY.is_file():
        return COULD_NOT_RUN
    told = _SUMMARY.read_text()
    print(told, end="", flush=True)
    return result_of(code, told)


def result_of(code: int, told: str) -> Result:
    """Of the exit code and the last line of what was told, "seed 1: 172 of 200 mutants killed, ..."."""
    words = told.rstrip().rpartition("\n")[2].split()
    killed, tried = int(words[2]), int(words[4])
    left = tried - killed
    if code:
        return Result(passed=killed, failed=max(left, 1))
    return Result(passed=killed, skipped=Counter({"a mutant that no test notices": left} if left else {}))
