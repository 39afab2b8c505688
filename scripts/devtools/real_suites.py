"""Programs that nobody here wrote, with and without flamelet: tests/real, in a venv that has them."""

from functools import partial

from devtools.checkout import ROOT
from devtools.python_suites import run_pytest
from devtools.results import Result
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript
from devtools.venvs import Venv


def suites(machine: Machine) -> list[Suite]:
    # What the programs took is measured: nothing else of ours may be in the way.
    return [Suite("real", "real", partial(_run, machine), alone=True)]


def _run(machine: Machine, transcript: Transcript) -> Result:
    venv = Venv(".venvs/real", machine.newest, [ROOT / "tests" / "real" / "requirements.txt"])
    venv.ensure(transcript)
    machine.install(venv, transcript, "cmake.define.FLAMELET_WERROR=ON")
    return run_pytest(venv, "real", ["tests/real"], transcript)
