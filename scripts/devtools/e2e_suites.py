"""The page in Chromium, on the shop under `flamelet run`."""

from functools import partial

from devtools.checkout import E2E, RESULTS
from devtools.results import Result, from_junit, of_run
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment


def suites(machine: Machine) -> list[Suite]:
    return [Suite("e2e", "e2e", partial(_run, machine), alone=True)]


def _run(machine: Machine, transcript: Transcript) -> Result:
    venv = machine.flamelet(machine.newest, transcript)
    machine.modules(E2E, transcript)
    report = RESULTS / "e2e.xml"
    report.unlink(missing_ok=True)
    # The tests run `flamelet` from PATH.
    env = environment(venv.bin, *machine.node(transcript), PLAYWRIGHT_JUNIT_OUTPUT_FILE=str(report))
    command = ["npx", "--no", "playwright", "test", "--reporter=list,junit"]
    return of_run(transcript.run(command, cwd=E2E, env=env), from_junit(report))
