"""scripts/test: sets up, runs the suites, prints a line for each at the end, and their sum as the last line."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from devtools import (
    c_suites,
    e2e_suites,
    generated_suites,
    lint_suites,
    long_c_suites,
    long_suites,
    mutants_suites,
    next_suites,
    others_suites,
    python_suites,
    real_suites,
    traps,
    web_suites,
)
from devtools.checkout import LOGS, RESULTS, ROOT
from devtools.locking import one_at_a_time
from devtools.pythons import Python, find_pythons, supported_versions
from devtools.results import COULD_NOT_RUN, Result
from devtools.suites import Machine, Suite
from devtools.transcript import CommandFailed, Transcript, broken_off

_PARTS = {
    "c": "core and server without Python, under gcc, clang and the sanitizers",
    "py": "the Python package, on each supported Python that is here",
    "web": "the page's packages",
    "e2e": "the page in Chromium, on a running program",
    "lint": "formatters, linters, type checkers",
}
# Parts that `all` leaves out.
_MORE_PARTS = {
    "long": "fuzzing, arm64, pytest under sanitizers and debug builds, the benchmarks' tests",
    "generated": "programs made from seeds, against what an oracle says of them",
    "others": "the tests of CPython, greenlet and gevent, with flamelet started",
    "next": "the Python package on Debian's newest interpreters, in a chroot: needs root",
    "mutants": "statements of the C code altered, one at a time: 85% of that must make a test fail; takes hours",
    "real": "gunicorn, Celery with Redis, Flask-SocketIO and SQLAlchemy asyncio, with and without flamelet",
}


@dataclass(frozen=True)
class _Outcome:
    suite: str
    result: Result
    seconds: float

    def line(self) -> str:
        verdict = "FAILED" if self.result.failed else "ok"
        return f"{self.suite:16}{verdict:8}{self.result.counts():40}{self.seconds:7.1f} s"


def main() -> int:
    options = _parse()
    # An exception, so that the command that runs is ended with us.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    pythons = find_pythons()
    usable = {version: python for version, python in pythons.items() if not python.lacks}
    _print_pythons(pythons)
    if not usable:
        print("no Python here can build flamelet", file=sys.stderr)
        return 1
    suites = _suites(Machine(usable), options)
    names = [name for given in options.names or ["all"] for name in (_PARTS if given == "all" else [given])]
    if unknown := [name for name in names if name not in _all_names(suites)]:
        print(f"no part or suite {unknown[0]!r}; there are: all, {', '.join(_all_names(suites))}", file=sys.stderr)
        return 2
    chosen = [suite for suite in suites if suite.part in names or suite.name in names]

    with one_at_a_time():
        RESULTS.mkdir(parents=True, exist_ok=True)
        outcomes = _run_all(chosen, jobs=1 if options.verbose else options.jobs, verbose=options.verbose)
    if "py" in names and os.environ.get("CI") == "true":
        ran = {*usable, *(suite.name.removeprefix("py-next-") for suite in chosen if suite.part == "next")}
        missing = [version for version in supported_versions() if version not in ran]
        outcomes += [_Outcome(f"py-{version}", COULD_NOT_RUN, 0) for version in missing]
    if {"py", "next"} <= set(names):
        outcomes.append(_traps())
    return _print_summary(outcomes)


def _traps() -> _Outcome:
    """The matrix of traps, which a run makes anew and CI only compares."""
    complaints = traps.bring_up_to_date(write=os.environ.get("CI") != "true")
    print("\n".join(complaints))
    return _Outcome("traps", Result(passed=int(not complaints), failed=len(complaints)), 0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Set up and run the tests. All output is in build/logs.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="parts:\n"
        + "\n".join(f"  {part:11}{text}" for part, text in _PARTS.items())
        + "\nwhat `all` leaves out:\n"
        + "\n".join(f"  {part:11}{text}" for part, text in _MORE_PARTS.items()),
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help='parts, or suites such as "c-asan"; default: all')
    parser.add_argument("-v", "--verbose", action="store_true", help="show all output while the suites run")
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="suites, or mutants, at a time (default 2; suites with -v: 1)"
    )
    mutants = parser.add_argument_group("mutants")
    mutants.add_argument("--count", metavar="N", help="how many (default 200)")
    mutants.add_argument("--seed", metavar="S", help="draw the same mutants again (default: others each time)")
    mutants.add_argument("--only", action="append", default=[], metavar="FILE", help="of this file alone; repeatable")
    mutants.add_argument("--patience", metavar="S", help="leave out the slowest Python tests, after S seconds of them")
    mutants.add_argument("--resume", action="store_true", help="go on with the last run")
    mutants.add_argument("--survivors", action="store_true", help="try the last run's survivors again")
    return parser.parse_args()


def _for_mutants(options: argparse.Namespace) -> list[str]:
    given = [f"--jobs={options.jobs}", *(f"--only={file}" for file in options.only)]
    given += [
        f"--{name}={value}" for name in ("count", "seed", "patience") if (value := getattr(options, name)) is not None
    ]
    return [*given, *(f"--{name}" for name in ("resume", "survivors") if getattr(options, name))]


def _suites(machine: Machine, options: argparse.Namespace) -> list[Suite]:
    return [
        *c_suites.suites(),
        *python_suites.suites(machine),
        *web_suites.suites(machine),
        *e2e_suites.suites(machine),
        *lint_suites.suites(machine),
        *long_suites.suites(machine),
        *long_c_suites.suites(),
        *generated_suites.suites(machine),
        *others_suites.suites(machine),
        *next_suites.suites(machine),
        *real_suites.suites(machine),
        *mutants_suites.suites(machine, _for_mutants(options)),
    ]


def _all_names(suites: Iterable[Suite]) -> list[str]:
    return list(dict.fromkeys([*_PARTS, *_MORE_PARTS, *(suite.name for suite in suites)]))


def _print_pythons(pythons: dict[str, Python]) -> None:
    for version in supported_versions():
        python = pythons.get(version)
        if python is None:
            hint = "; `scripts/test next` brings one" if version in next_suites.VERSIONS else ""
            print(f"python {version}: not found{hint}")
        elif python.lacks:
            print(f"python {version}: not used, {python.path} needs {python.lacks}")
        else:
            print(f"python {version}: {python.path} ({python.full})")
    sys.stdout.flush()


def _run_all(suites: Sequence[Suite], *, jobs: int, verbose: bool) -> list[_Outcome]:
    """`jobs` suites at a time, then those that must be alone."""
    run = partial(_run, verbose=verbose)
    together = [suite for suite in suites if not suite.alone]
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        try:
            outcomes = list(pool.map(run, together))
        except BaseException:
            broken_off.set()
            pool.shutdown(cancel_futures=True)
            raise
    outcomes += [run(suite) for suite in suites if suite.alone]
    return sorted(outcomes, key=lambda outcome: [suite.name for suite in suites].index(outcome.suite))


def _run(suite: Suite, *, verbose: bool) -> _Outcome:
    print(f"--- {suite.name}", flush=True)
    transcript = Transcript(suite.name, verbose=verbose)
    began = time.monotonic()
    try:
        result = suite.run(transcript)
        trouble = transcript.tail(100)
    except CommandFailed as error:
        result = COULD_NOT_RUN
        trouble = str(error)
    outcome = _Outcome(suite.name, result, time.monotonic() - began)
    if result.failed and not verbose:
        print(f"{trouble}\n(all of it: {transcript.path.relative_to(ROOT)})\n{outcome.line()}", flush=True)
    else:
        print(outcome.line(), flush=True)
    return outcome


def _print_summary(outcomes: Sequence[_Outcome]) -> int:
    total = sum((outcome.result for outcome in outcomes), start=Result())
    print(f"\n{'=' * 70}")
    for outcome in outcomes:
        print(outcome.line())
    for reason, times in sorted(total.skipped.items()):
        print(f"skipped {times}: {reason}")
    for name, times in sorted(total.late.items()):
        print(f"passed at a later try only {times}: {name}")
    print(f"logs: {LOGS.relative_to(ROOT)}")
    print(total.counts())
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
