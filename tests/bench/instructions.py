#!/usr/bin/env python3
"""The same costs as instruction counts, which neither neighbours nor frequencies change: valgrind's callgrind counts.

Needs valgrind. Of flamelet's two CPU clocks only the one of short intervals works there. Under valgrind every interval
is long, so each event asks the kernel for the CPU time, which hardly any does otherwise: what that takes is counted,
and taken off again, where the extension has its symbols.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

if sys.version_info < (3, 11):  # noqa: UP036 (this file is run by whatever `python` is)
    sys.exit("instructions.py: flamelet runs on CPython 3.11 and newer; this is " + sys.version.split()[0])

import machine
from tools import all_tools
from workloads import all_workloads

NO_TOOL = "none"
# By workload, the tools that it is counted under.
COUNTED = {
    "calls": ("floor", "flamelet-short", "cprofile"),
    "resumes": ("floor", "flamelet-short", "cprofile"),
    "c-calls": ("floor-builtins", "flamelet-builtins-short", "cprofile"),
    "switches-1": ("tracer", "flamelet-short"),
}
# Where an event goes that has to ask the kernel; the way it goes otherwise has some twenty instructions.
SLOW_WAY = "fl__move_slow"


class Count(NamedTuple):
    """Instructions of a whole process, and those of them that it spent on the slow way; -1: there is no such symbol."""

    all: int
    slow: int


class CountError(Exception):
    """valgrind, or what it ran, failed; the message has its last words."""


def count(workload: str, tool: str, operations: int) -> Count:
    with tempfile.TemporaryDirectory(prefix="flamelet-bench-instructions-") as folder:
        profile = Path(folder) / "profile"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", sys.executable, "-S", __file__]
        command += ["--child", workload, tool, str(operations)]
        # The same hashes each time; no site, which would search and import; so the packages are on the path already.
        env = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        _run(command, env)
        table = _run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(profile)], dict(os.environ))
    total = re.search(r"^\s*([\d,]+) .*PROGRAM TOTALS", table, re.MULTILINE)
    if total is None:
        raise CountError("callgrind_annotate printed no total")
    slow = re.search(rf"^\s*([\d,]+) .*:{SLOW_WAY}( |$)", table, re.MULTILINE)
    return Count(_number(total[1]), _number(slow[1]) if slow else -1)


def _run(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        raise CountError(f"{command[0]} failed:\n{done.stderr.strip()[-800:]}")
    return done.stdout


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def per_operation(workload: str, tool: str, operations: int) -> tuple[float, bool]:
    """Instructions of one operation, and whether the slow way is in them. From two processes of which one does more:
    what both do, starting the interpreter for one, is in no figure."""
    few, many = count(workload, tool, operations), count(workload, tool, 3 * operations)
    with_slow_way = tool.startswith("flamelet") and many.slow < 0
    slow = 0 if many.slow < 0 else many.slow - max(few.slow, 0)
    return (many.all - few.all - slow) / (2 * operations), with_slow_way


def child(workload_name: str, tool_name: str, operations: int) -> None:
    """Runs the workload under the tool, and nothing else."""
    workload = next(workload for workload in all_workloads() if workload.name == workload_name)
    tool = next((tool for tool in all_tools() if tool.name == tool_name), None)
    if tool is not None:
        if missing := tool.missing():
            sys.exit(missing)
        tool.start()
    workload.run(workload.warm_up)
    workload.run(operations)
    os._exit(0)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--child"]:
        child(arguments[1], arguments[2], int(arguments[3]))
    parser = argparse.ArgumentParser(prog="instructions.py", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--only", action="append", choices=COUNTED, help="count this workload; may be given again")
    parser.add_argument("--operations", type=int, default=5000, metavar="N", help="the fewer of two (default: 5000)")
    parser.add_argument("--json", action="store_true", help="the rows, for other programs")
    options = parser.parse_args(arguments)
    if options.operations < 1:
        parser.error("--operations must be at least 1")
    if not (shutil.which("valgrind") and shutil.which("callgrind_annotate")):
        sys.exit("instructions.py: valgrind is not installed (Debian: apt-get install valgrind)")
    titles = {tool.name: tool.title for tool in all_tools()}
    operations = {workload.name: workload.operation for workload in all_workloads()}
    rows = []
    for workload in options.only or COUNTED:
        print(f"instructions.py: {operations[workload]}", file=sys.stderr, flush=True)
        try:
            none, _ = per_operation(workload, NO_TOOL, options.operations)
            rows.append({"workload": workload, "tool": NO_TOOL, "instructions": none, "upper_bound": False})
            for tool in COUNTED[workload]:
                whole, bound = per_operation(workload, tool, options.operations)
                rows.append({"workload": workload, "tool": tool, "instructions": whole - none, "upper_bound": bound})
        except CountError as error:
            sys.exit(f"instructions.py: {workload}: {error}")
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    print(f"CPython {sys.version.split()[0]} ({machine.python_build()}), {machine.now()}\n")
    print("| per | under | instructions |\n| --- | --- | ---: |")
    for row in rows:
        title = "no tool: the whole cost" if row["tool"] == NO_TOOL else f"{titles[str(row['tool'])]} adds"
        sign = "<= " if row["upper_bound"] else ""
        print(f"| {operations[str(row['workload'])]} | {title} | {sign}{row['instructions']:,.0f} |")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
