"""pytest on the newest interpreters that Debian has, in a Debian of their own."""

from functools import partial
from pathlib import Path

from devtools.checkout import ROOT
from devtools.chroot import Chroot
from devtools.python_suites import BENCHMARKS, TESTS, run_pytest
from devtools.pythons import Python
from devtools.results import Result
from devtools.suites import Machine, Suite
from devtools.transcript import CommandFailed, Transcript
from devtools.venvs import Venv

VERSIONS = ("3.13", "3.14", "3.15")
# Those of which only this Debian has one: what runs once for each version runs here, too.
NEWEST = ("3.14", "3.15")
_FOLDER = ROOT / ".cache" / "next"
_SUITE = "sid"
# What builds flamelet, and packages from PyPI that have no wheel for the newest yet.
_TOOLS = ["gcc", "g++", "cmake", "ninja-build", "pkg-config", "ca-certificates"]
_LIBRARIES = ["libwebsockets-dev", "libjansson-dev", "zlib1g-dev"]
_PYTHONS = [f"python{version}{part}" for version in VERSIONS for part in ("", "-dev", "-venv")]
_THEIR_TESTS = [f"libpython{version}-testsuite" for version in NEWEST]
_FULL_VERSION = "import platform; print('this is', platform.python_version())"


def suites(machine: Machine) -> list[Suite]:
    return [
        *(Suite("next", name_of(version), partial(_run, machine, version)) for version in VERSIONS),
        *(Suite("next", f"bench-next-{version}", partial(_run_benchmarks, machine, version)) for version in NEWEST),
    ]


def name_of(version: str) -> str:
    """Of the suite of this version, as "3.14"."""
    return f"py-next-{version}"


def _run(machine: Machine, version: str, transcript: Transcript) -> Result:
    return run_pytest(flamelet(machine, version, transcript), name_of(version), TESTS, transcript)


def _run_benchmarks(machine: Machine, version: str, transcript: Transcript) -> Result:
    return run_pytest(flamelet(machine, version, transcript), f"bench-next-{version}", BENCHMARKS, transcript)


def flamelet(machine: Machine, version: str, transcript: Transcript) -> Venv:
    """The venv of this version, "3.14" for instance, with the tests' tools and flamelet in it."""
    debian = Chroot(_FOLDER / "debian", _SUITE, [*_TOOLS, *_LIBRARIES, *_PYTHONS, *_THEIR_TESTS])
    major, minor = map(int, version.split("."))
    python = Python(Path(f"/usr/bin/python{version}"), (major, minor, 0), lacks="")
    # Not in the folder of the Debian: what is built stays when that is made anew.
    venv = Venv(f".cache/next/{version}", python, [ROOT / "requirements-test.txt"], within=debian.command)
    machine.page(transcript)  # there is no Node in there
    with machine.lock("next"):
        debian.ensure(transcript)
        venv.ensure(transcript)
    if transcript.run(venv.command([venv.python, "-c", _FULL_VERSION])) != 0:
        raise CommandFailed(f"{venv.python} does not run in {debian.folder}; remove {_FOLDER} to make both anew")
    machine.install(venv, transcript, "cmake.define.FLAMELET_WERROR=ON", node=[])
    return venv
