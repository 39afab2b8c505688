"""scripts/demo: makes a venv with flamelet and what the shop needs, then becomes `flamelet run` on the shop."""

import argparse
import os
import sys
import time
import tomllib
from pathlib import Path

from devtools.checkout import ROOT
from devtools.locking import one_at_a_time
from devtools.node import find_node
from devtools.package import install_flamelet
from devtools.pythons import Python, find_pythons
from devtools.transcript import CommandFailed, Transcript, environment
from devtools.venvs import Venv

_SHOP = Path("examples", "shop")  # from the checkout, as the page and the summary then name it


def main() -> None:
    run_options, shop_options = _parse()
    usable = [python for python in find_pythons().values() if not python.lacks]
    if not usable:
        sys.exit("no Python here can build flamelet")
    began = time.monotonic()
    try:
        with one_at_a_time():
            venv = _set_up(usable[-1])
    except CommandFailed as error:
        sys.exit(str(error))
    print(f"demo: ready after {time.monotonic() - began:.1f} s (Python {usable[-1].full})", file=sys.stderr, flush=True)
    command = [str(venv.bin / "flamelet"), "run", *run_options, str(_SHOP / "shop.py"), *shop_options]
    os.chdir(ROOT)
    os.execve(command[0], command, environment(venv.bin))  # from here on, Ctrl-C and the exit code are its own


def _set_up(python: Python) -> Venv:
    transcript = Transcript("demo")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    venv = Venv(".venv", python, [ROOT / _SHOP / "requirements.txt"], project["build-system"]["requires"])
    if not venv.folder.exists():
        where = transcript.path.relative_to(ROOT)
        print(f"demo: setting up, a minute or two the first time (details: {where})", file=sys.stderr, flush=True)
    venv.ensure(transcript)
    install_flamelet(venv, find_node(python, transcript), transcript)
    return venv


def _parse() -> tuple[list[str], list[str]]:
    """The options of `flamelet run`, and those of the shop."""
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Build flamelet and start the shop of examples/ under `flamelet run`. Ctrl-C ends it.",
    )
    parser.add_argument("--seconds", type=float, help="end after this time and print the summary")
    parser.add_argument("--seed", type=int, help="draws the shop's mistake: the same one for the same number")
    parser.add_argument("--port", type=int, help="of the live view; any free one without it")
    parser.add_argument("--open", action="store_true", help="open the live view in the browser")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a recording")
    options = parser.parse_args()
    if options.seconds is not None and not options.seconds > 0:
        parser.error("--seconds must be more than 0")
    run = ["--open"] if options.open else []
    run += [word for name in ("port", "output") for word in _option(name, getattr(options, name))]
    shop = [word for name in ("seconds", "seed") for word in _option(name, getattr(options, name))]
    return run, shop


def _option(name: str, value: object) -> list[str]:
    return [] if value is None else ["-o" if name == "output" else f"--{name}", str(value)]


if __name__ == "__main__":
    main()
