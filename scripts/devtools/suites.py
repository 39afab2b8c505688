"""What a suite is, and what all suites share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devtools.checkout import ROOT
from devtools.node import find_node
from devtools.package import install_flamelet
from devtools.pythons import Python
from devtools.results import Result
from devtools.transcript import Transcript
from devtools.venvs import Venv

REQUIREMENTS = [ROOT / "requirements-dev.txt", ROOT / "examples" / "shop" / "requirements.txt"]


@dataclass(frozen=True)
class Suite:
    """`run` sets up what the suite needs and runs it; it raises CommandFailed where the setup does not succeed.

    The name is the part, or begins with it and a dash: "c-gcc" of part "c".
    """

    part: str
    name: str
    run: Callable[[Transcript], Result]


class Machine:
    """The Pythons that are here, and what the suites have made with them so far."""

    def __init__(self, pythons: dict[str, Python]) -> None:
        self.pythons = pythons  # usable ones by version, oldest first, at least one
        self._node: list[Path] | None = None

    @property
    def newest(self) -> Python:
        return list(self.pythons.values())[-1]

    def node(self, transcript: Transcript) -> list[Path]:
        """What must stand first on PATH for `node` and `npm`."""
        if self._node is None:
            self._node = find_node(self.newest, transcript)
        return self._node

    def tools(self, python: Python, transcript: Transcript) -> Venv:
        """A venv with what the tests and linters need, without flamelet."""
        venv = Venv(f".venvs/{python.minor}", python, REQUIREMENTS)
        venv.ensure(transcript)
        return venv

    def flamelet(self, python: Python, transcript: Transcript) -> Venv:
        """The same venv with flamelet in it, compiled with warnings as errors."""
        venv = self.tools(python, transcript)
        install_flamelet(venv, self.node(transcript), transcript, "cmake.define.FLAMELET_WERROR=ON")
        return venv
