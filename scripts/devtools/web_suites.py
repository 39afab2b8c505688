"""vitest on the page's packages, and on the built page in Chromium with a made-up program."""

from functools import partial

from devtools.checkout import RESULTS, WEB
from devtools.results import Result, from_junit, of_run
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment


def suites(machine: Machine) -> list[Suite]:
    return [
        Suite("web", "web-unit", partial(_run, "web-unit", machine)),
        Suite("web", "web-browser", partial(_run_in_browser, machine)),
    ]


def _run_in_browser(machine: Machine, transcript: Transcript) -> Result:
    machine.page(transcript)
    return _run("web-browser", machine, transcript, "--config", "app/browser/vitest.config.ts")


def _run(name: str, machine: Machine, transcript: Transcript, *options: str) -> Result:
    machine.modules(WEB, transcript)
    report = RESULTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    reporters = ("--reporter=default", "--reporter=junit", f"--outputFile.junit={report}")
    command = ["npx", "--no", "vitest", "run", *options, *reporters]
    exit_code = transcript.run(command, cwd=WEB, env=environment(*machine.node(transcript)))
    return of_run(exit_code, from_junit(report))
