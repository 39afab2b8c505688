"""Which supported Pythons are on this machine: pyenv's and those on PATH."""

import json
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from devtools.checkout import ROOT

_PROBE = """
import importlib.util, json, os, sys, sysconfig
print(json.dumps({
    "path": os.path.realpath(sys.executable),
    "version": sys.version_info[:3],
    "supported": sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"),
    "in_venv": sys.prefix != sys.base_prefix,
    "headers": os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")),
    "venv": all(map(importlib.util.find_spec, ("venv", "ensurepip"))),
}))
"""


@dataclass(frozen=True)
class Python:
    path: Path
    version: tuple[int, int, int]
    lacks: str  # what it would need to build flamelet, empty when nothing

    @property
    def minor(self) -> str:
        """As in "3.12"."""
        return f"{self.version[0]}.{self.version[1]}"

    @property
    def full(self) -> str:
        return ".".join(map(str, self.version))


def supported_versions() -> list[str]:
    """As in ["3.11", "3.12"], oldest first; pyproject.toml says which."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)]
    return [f"3.{minor}" for minor in sorted(map(int, minors))]


def find_pythons() -> dict[str, Python]:
    """The best of each supported version that is here, by version, oldest first. It may lack something."""
    found: dict[str, Python] = {}
    for version in supported_versions():
        here = [python for path in _candidates(version) if (python := _probe(path)) and python.minor == version]
        if here:
            found[version] = max(here, key=lambda python: (not python.lacks, python.version, python.path))
    return found


def _candidates(version: str) -> set[Path]:
    folders = [*os.get_exec_path(), "/usr/local/bin", "/usr/bin"]
    paths = [shutil.which(name, path=folder) for folder in folders for name in (f"python{version}", "python3")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return {Path(path) for path in paths if path} | set(pyenv.glob(f"versions/{version}.*/bin/python{version}"))


def _probe(path: Path) -> Python | None:
    try:
        # -I: neither the working folder nor PYTHONPATH may change what it finds.
        run = subprocess.run([path, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=30, check=True)
        facts = json.loads(run.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None  # such as pyenv's shim for a version that is not chosen
    if not facts["supported"] or facts["in_venv"]:
        return None
    major, minor, micro = facts["version"]
    packages = [package for there, package in ((facts["headers"], "dev"), (facts["venv"], "venv")) if not there]
    lacks = " and ".join(f"python{major}.{minor}-{package}" for package in packages)
    return Python(Path(facts["path"]), (major, minor, micro), lacks)
