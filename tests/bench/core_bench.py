"""Builds core_bench.c with the core's own sources, and runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

CORE = Path(__file__).parents[2] / "core"
SOURCE = Path(__file__).with_name("core_bench.c")
_FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-pthread")


class BuildError(Exception):
    """It can't be built or run here; the message says why."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="flamelet-bench-core-")


@cache
def _program() -> Path:
    """Built once, in a folder of its own that goes with this process."""
    if shutil.which("cc") is None:
        raise BuildError("no C compiler found: install one (Debian: gcc)")
    program = Path(_folder().name) / "core_bench"
    command = [
        "cc",
        *_FLAGS,
        "-iquote",
        str(CORE),
        str(SOURCE),
        *map(str, sorted(CORE.glob("*.c"))),
        "-o",
        str(program),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(f"core_bench.c does not compile:\n{result.stderr.strip()[-1500:]}")
    return program


def run(clock: str, milliseconds: int, tasks: int) -> dict[str, float]:
    """clock: "rseq" or "short". milliseconds: of CPU time for each measurement. tasks: parked ones. The figures as
    core_bench.c names them. Raises BuildError."""
    command = [str(_program()), clock, str(milliseconds), str(tasks)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(result.stderr.strip() or f"core_bench ended with {result.returncode}")
    figures: dict[str, float] = json.loads(result.stdout)
    return figures
