#!/usr/bin/env python3
"""What flamelet costs, next to what others cost: one table, measured in one run.

Needs a C compiler, this Python's headers and `python -m pip install -r tests/bench/requirements.txt`; what is missing
is named, and the rest is measured. README.md beside this file says how it is done.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

# Before the imports below, at which an older Python would stop with a traceback.
if sys.version_info < (3, 11):  # noqa: UP036 (this file is run by whatever `python` is)
    sys.exit("overhead.py: flamelet runs on CPython 3.11 and newer; this is " + sys.version.split()[0])

import machine
import report
from measure import CrashError, measure_all
from results import SCHEMA, PythonResult, Report, Settings
from tools import all_tools
from workloads import all_workloads

_Number = TypeVar("_Number", int, float)
# Of rounds, and of milliseconds in one: far above use, low enough that nothing overflows.
_LARGEST = 100_000


def main(arguments: list[str]) -> int:
    """Prints the table; returns 1 when something that is installed did not work, else 0."""
    options = _parse(arguments)
    settings: Settings = {"rounds": options.rounds, "round_ms": options.round_ms, "clock": options.clock}
    result: Report = {
        "schema": SCHEMA,
        "date": machine.now(),
        "machine": machine.describe(),
        "settings": settings,
        "pythons": [],
    }
    if options.python:
        for python in options.python:
            result["pythons"].append(_measure_under(python, options, settings))
    else:
        workloads = [w for w in all_workloads() if not options.only or w.name in options.only]
        try:
            result["pythons"].append(measure_all(workloads, all_tools(), settings, _progress))
        except CrashError as error:
            sys.exit(f"overhead.py: {error}")
    if options.format == "json":
        print(json.dumps(result, indent=1))
    else:
        print(report.as_markdown(result) if options.format == "markdown" else report.as_text(result))
    rows = [row for python in result["pythons"] for workload in python["workloads"] for row in workload["tools"]]
    return 1 if any(row["status"] == "failed" for row in rows) else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    names = [workload.name for workload in all_workloads()]
    parser = argparse.ArgumentParser(prog="overhead.py", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--python",
        action="append",
        metavar="PATH",
        help="measure under this interpreter; again for each further one (default: the one that runs this)",
    )
    parser.add_argument("--only", action="append", choices=names, help="measure this workload; may be given again")
    parser.add_argument("--rounds", type=_positive(int), default=40, help="pairs of rounds per tool (default: 40)")
    parser.add_argument(
        "--round-ms", type=_positive(float), default=10.0, metavar="MS", help="length of a round (default: 10)"
    )
    parser.add_argument(
        "--clock",
        choices=("cpu", "wall"),
        default="cpu",
        help="what the table shows; cpu, the default, is that of the whole process and is not misled by neighbours",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", dest="format", action="store_const", const="json", help="every round, see results.py")
    output.add_argument("--markdown", dest="format", action="store_const", const="markdown", help="for docs/")
    parser.set_defaults(format="text")
    return parser.parse_args(arguments)


def _positive(kind: Callable[[str], _Number]) -> Callable[[str], _Number]:
    def parse(text: str) -> _Number:
        try:
            value = kind(text)
        except ValueError:
            value = kind("0")
        if not 0 < value <= _LARGEST:
            words = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"give {words} above 0, at most {_LARGEST}, not {text!r}")
        return value

    return parse


def _measure_under(python: str, options: argparse.Namespace, settings: Settings) -> PythonResult:
    """Runs this file with another interpreter."""
    command = [python, str(Path(__file__).resolve()), "--json", f"--rounds={settings['rounds']}"]
    command += [f"--round-ms={settings['round_ms']}", f"--clock={settings['clock']}"]
    command += [f"--only={name}" for name in options.only or ()]
    _progress(f"under {python}")
    try:
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        sys.exit(f"overhead.py: can't run --python {python}: {error.strerror}")
    try:
        result = json.loads(child.stdout)
    except ValueError:
        sys.exit(f"overhead.py: --python {python} gave no result (exit status {child.returncode}); its words are above")
    # Written by this same file a moment ago.
    return cast(Report, result)["pythons"][0]


def _progress(text: str) -> None:
    print(f"overhead.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
