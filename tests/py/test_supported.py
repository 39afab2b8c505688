"""Interpreters that flamelet does not run on get told so, before anything else can go wrong."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flamelet
from flamelet._supported import complaint
from running import PYTHON, run

PACKAGE = Path(flamelet.__file__).parent

INTERPRETERS = {
    "too old": ((3, 10, 13), "cpython", "", "flamelet needs CPython 3.11 or newer; this is 3.10.13"),
    "much too old": ((2, 7, 18), "cpython", "", "flamelet needs CPython 3.11 or newer; this is 2.7.18"),
    "free-threaded": ((3, 13, 0), "cpython", "t", "does not support free-threaded builds of CPython yet"),
    "free-threaded debug": ((3, 14, 1), "cpython", "td", "does not support free-threaded builds"),
    "other": ((3, 11, 9), "pypy", "", "flamelet needs CPython; this is pypy"),
}


@pytest.mark.parametrize("name", INTERPRETERS)
def test_interpreters_that_are_refused(name: str) -> None:
    *interpreter, message = INTERPRETERS[name]
    assert message in complaint(*interpreter)  # type: ignore[arg-type] # a tuple and two strings


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 12, 1), (3, 13, 0)])
def test_interpreters_that_are_welcome(version: tuple[int, int, int]) -> None:
    assert complaint(version, "cpython", "") == ""
    assert complaint(version, "cpython", "d") == ""


@pytest.mark.parametrize("how", [["-c", "import flamelet"], ["-m", "flamelet", "run", "x.py"]])
def test_message_comes_before_everything_else(how: list[str], tmp_path: Path) -> None:
    # GIVEN an interpreter that takes itself for an old one
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 10, 13, 'final', 0)\n")
    # WHEN flamelet is imported, or called
    finished = run(PYTHON, *how, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    # THEN it says so; the command does it in one line
    assert finished.code == 1
    assert "flamelet needs CPython 3.11 or newer; this is 3.10.13" in finished.errors.splitlines()[-1]
    if how[0] == "-m":
        assert "Traceback" not in finished.errors


def test_old_pythons_can_read_the_check() -> None:
    # GIVEN the two files that an old interpreter gets to see
    for name in ("__init__.py", "_supported.py"):
        source = (PACKAGE / name).read_text(encoding="utf-8")
        # THEN they hold nothing that is newer than Python 3.7, the oldest that ast can imitate
        ast.parse(source, feature_version=(3, 7))
        assert "from __future__" not in source


def old_pythons() -> list[str]:
    """Whatever older interpreters this machine has, of those that start."""
    found = [shutil.which(f"python3.{minor}") for minor in range(6, 11)]
    found += [str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python")]
    old = []
    for path in filter(None, found):
        done = subprocess.run(
            [path, "-c", "import sys; print(sys.version_info < (3, 11))"], capture_output=True, check=False
        )
        if done.stdout == b"True\n":
            old.append(path)
    return old


OLD = old_pythons()


@pytest.mark.skipif(not OLD, reason="no older Python on this machine")
@pytest.mark.parametrize("python", OLD)
def test_on_old_pythons(python: str, tmp_path: Path) -> None:
    # GIVEN a Python that is really too old
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-S", "-m", "flamelet", "--version"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    # WHEN flamelet is called
    # THEN it says in one line what it needs
    assert done.returncode == 1
    assert "flamelet needs CPython 3.11 or newer; this is 3." in done.stderr
    assert "Traceback" not in done.stderr


def test_subinterpreters_are_refused(tmp_path: Path) -> None:
    # GIVEN a subinterpreter
    modules = ("_interpreters", "_xxsubinterpreters")
    code = (
        "import importlib\n"
        f"for name in {modules!r}:\n"
        "    try: interpreters = importlib.import_module(name)\n"
        "    except ImportError: continue\n"
        "    break\n"
        "number = interpreters.create()\n"
        "text = 'try: import flamelet\\nexcept ImportError as error: print(error, flush=True)'\n"
        "print(interpreters.run_string(number, text))\n"
    )
    # WHEN flamelet is imported there
    finished = run((*PYTHON, "-W", "ignore"), "-c", code, cwd=tmp_path)
    # THEN it says that it works in the main interpreter only
    assert "main interpreter" in finished.text or "does not support loading in subinterpreters" in finished.text
    assert sys.version_info >= (3, 11)
