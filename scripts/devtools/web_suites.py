"""vitest on the page's packages."""

from functools import partial

from devtools.checkout import RESULTS, WEB
from devtools.node import install_modules
from devtools.results import Result, from_junit, of_run
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment


def suites(machine: Machine) -> list[Suite]:
    return [Suite("web", "web", partial(_run, machine))]


def _run(machine: Machine, transcript: Transcript) -> Result:
    node = machine.node(transcript)
    install_modules(WEB, node, transcript)
    report = RESULTS / "web.xml"
    report.unlink(missing_ok=True)
    command = ["npx", "--no", "vitest", "run", "--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"]
    return of_run(transcript.run(command, cwd=WEB, env=environment(*node)), from_junit(report))
