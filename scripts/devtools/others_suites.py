"""Others' tests under flamelet, on each supported Python: CPython's, greenlet's, gevent's (tests/others)."""

from functools import partial
from pathlib import Path

from devtools.checkout import RESULTS
from devtools.pythons import Python
from devtools.results import Result, from_junit, of_run
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment


def suites(machine: Machine) -> list[Suite]:
    return [
        Suite("others", f"others-{python.minor}", partial(_run, machine, python)) for python in machine.pythons.values()
    ]


def _run(machine: Machine, python: Python, transcript: Transcript) -> Result:
    venv = machine.flamelet(python, transcript)
    report = RESULTS / f"others-{python.minor}.xml"
    report.unlink(missing_ok=True)
    command: list[str | Path] = [venv.python, "tests/others/run_others.py", "--report", report]
    return of_run(transcript.run(command, env=environment(venv.bin)), from_junit(report))
