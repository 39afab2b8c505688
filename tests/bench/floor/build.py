"""Compiles floor.c for the running interpreter and imports it."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Final

SOURCE: Final = Path(__file__).with_name("floor.c")
WARNINGS: Final = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes")


class BuildError(Exception):
    """floor.c can't be built here; the message names the mend."""


def load(extra_flags: tuple[str, ...] = ()) -> ModuleType:
    """Returns the extension module `_floor`, freshly built.

    It takes a second and leaves nothing behind: the library is built in a directory of its own, which is removed once
    the module is imported. So there is no stale build and no path that somebody else could have prepared.
    Raises BuildError.
    """
    with tempfile.TemporaryDirectory(prefix="flamelet-bench-floor-") as directory:
        library = Path(directory) / f"_floor{sysconfig.get_config_var('EXT_SUFFIX')}"
        _compile(library, extra_flags)
        spec = importlib.util.spec_from_file_location("_floor", library)
        if spec is None or spec.loader is None:
            raise BuildError(f"this Python can't import extension modules named {library.name}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def _compile(library: Path, extra_flags: tuple[str, ...]) -> None:
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise BuildError("Python.h is missing: install this Python's headers (Debian: python3-dev)")
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        # The name that this Python was built with; it may have been built on another machine.
        compiler = ["cc"]
        if shutil.which("cc") is None:
            raise BuildError("no C compiler found: install one (Debian: gcc)")
    command = [*compiler, "-std=c11", "-O2", *WARNINGS, *extra_flags, "-fPIC", "-shared"]
    command += ["-isystem", str(headers), str(SOURCE), "-o", str(library)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(f"floor.c does not compile: {shlex.join(command)}\n{result.stderr.strip()}")
