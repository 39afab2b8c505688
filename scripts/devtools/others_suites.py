"""Others' tests under flamelet (tests/others): CPython's, greenlet's and gevent's on each supported Python, and
CPython's on those of `next`."""

from functools import partial

from devtools import next_suites
from devtools.checkout import RESULTS
from devtools.pythons import Python
from devtools.results import Result, from_junit, of_run
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment
from devtools.venvs import Venv


def suites(machine: Machine) -> list[Suite]:
    pythons = machine.pythons.values()
    here = [Suite("others", f"others-{python.minor}", partial(_run, machine, python)) for python in pythons]
    newest = [
        Suite("others", f"others-next-{version}", partial(_run_next, machine, version))
        for version in next_suites.NEWEST
    ]
    return [*here, *newest]


def _run(machine: Machine, python: Python, transcript: Transcript) -> Result:
    return _run_others(machine.flamelet(python, transcript), f"others-{python.minor}", [], transcript)


def _run_next(machine: Machine, version: str, transcript: Transcript) -> Result:
    """Without greenlet's tests and gevent's, which need more packages."""
    venv = next_suites.flamelet(machine, version, transcript)
    return _run_others(venv, f"others-next-{version}", ["cpython"], transcript)


def _run_others(venv: Venv, suite: str, names: list[str], transcript: Transcript) -> Result:
    report = RESULTS / f"{suite}.xml"
    report.unlink(missing_ok=True)
    command = venv.command([venv.python, "tests/others/run_others.py", "--report", report, *names])
    return of_run(transcript.run(command, env=environment(venv.bin)), from_junit(report))
