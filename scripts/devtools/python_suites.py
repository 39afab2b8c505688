"""pytest: the package once for each supported Python, the scripts with the newest."""

from functools import partial

from devtools.checkout import RESULTS, ROOT
from devtools.pythons import Python
from devtools.results import Result, from_junit, of_run
from devtools.suites import Machine, Suite
from devtools.transcript import Transcript, environment
from devtools.venvs import Venv

# The benchmarks' own tests take minutes and say the same everywhere: long-bench runs them on one Python, `next` on the
# newest.
TESTS = ["tests/py", "--ignore-glob=*/test_bench_*.py"]
BENCHMARKS = [str(file.relative_to(ROOT)) for file in sorted((ROOT / "tests" / "py").glob("test_bench_*.py"))]


def suites(machine: Machine) -> list[Suite]:
    return [
        *(Suite("py", f"py-{python.minor}", partial(_run, machine, python)) for python in machine.pythons.values()),
        Suite("py", "py-scripts", partial(_run_scripts, machine)),
    ]


def _run(machine: Machine, python: Python, transcript: Transcript) -> Result:
    venv = machine.flamelet(python, transcript)
    return run_pytest(venv, f"py-{python.minor}", TESTS, transcript)


def _run_scripts(machine: Machine, transcript: Transcript) -> Result:
    return run_pytest(
        machine.tools(machine.newest, transcript), "py-scripts", ["tests/scripts", "tests/mutants"], transcript
    )


def run_pytest(venv: Venv, suite: str, tests: list[str], transcript: Transcript, **variables: str) -> Result:
    """pytest on `tests`, with what the venv has and these variables set."""
    report = RESULTS / f"{suite}.xml"
    report.unlink(missing_ok=True)
    # Two of these run at a time, which one cache would mix up.
    command = venv.command([venv.python, "-m", "pytest", "-p", "no:cacheprovider", f"--junit-xml={report}", *tests])
    return of_run(transcript.run(command, env=environment(venv.bin, **variables)), from_junit(report))
