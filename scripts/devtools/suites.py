"""What a suite is, and what all suites share."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from devtools.checkout import BUILD, ROOT, WEB, Stamp, fingerprint
from devtools.node import find_node, install_modules
from devtools.package import install_flamelet
from devtools.pythons import Python
from devtools.results import Result
from devtools.transcript import Transcript, environment
from devtools.venvs import Venv

REQUIREMENTS = [ROOT / "requirements-dev.txt", ROOT / "examples" / "shop" / "requirements.txt"]


@dataclass(frozen=True)
class Suite:
    """`run` sets up what the suite needs and runs it; it raises CommandFailed where the setup does not succeed.

    The name begins with that of the part: "c-gcc" of part "c"; those of "next" with "py-next".
    `alone`: nothing else may run meanwhile.
    """

    part: str
    name: str
    run: Callable[[Transcript], Result]
    alone: bool = False


class Machine:
    """The Pythons that are here, and what the suites have made with them so far. Used by several threads.

    Each method makes what it returns, unless that is there already; it raises CommandFailed.
    """

    def __init__(self, pythons: dict[str, Python]) -> None:
        self.pythons = pythons  # usable ones by version, oldest first, at least one
        self._node: list[Path] | None = None
        self._locks: dict[str, Lock] = defaultdict(Lock)

    @property
    def newest(self) -> Python:
        return list(self.pythons.values())[-1]

    def node(self, transcript: Transcript) -> list[Path]:
        """What must stand first on PATH for `node` and `npm`."""
        with self._locks["node"]:
            if self._node is None:
                self._node = find_node(self.newest, transcript)
            return self._node

    def modules(self, folder: Path, transcript: Transcript) -> None:
        """The folder's node_modules."""
        node = self.node(transcript)
        with self._locks[str(folder)]:
            install_modules(folder, node, transcript)

    def page(self, transcript: Transcript) -> None:
        """web/app/dist. CMake would build it too, but several builds may be under way at a time."""
        self.modules(WEB, transcript)
        with self._locks["page"]:
            stamp = Stamp(BUILD / "page", fingerprint(WEB))
            if not (stamp.is_current() and (WEB / "app" / "dist" / "index.html").is_file()):
                transcript.check(["npm", "run", "build"], cwd=WEB, env=environment(*self.node(transcript)))
                stamp.write()

    def tools(self, python: Python, transcript: Transcript) -> Venv:
        """A venv with what the tests and linters need, without flamelet."""
        venv = Venv(f".venvs/{python.minor}", python, REQUIREMENTS)
        with self._locks[python.minor]:
            venv.ensure(transcript)
        return venv

    def flamelet(self, python: Python, transcript: Transcript) -> Venv:
        """The same venv with flamelet in it, compiled with warnings as errors."""
        venv = self.tools(python, transcript)
        self.install(venv, transcript, "cmake.define.FLAMELET_WERROR=ON")
        return venv

    def install(self, venv: Venv, transcript: Transcript, *settings: str, node: Sequence[Path] | None = None) -> None:
        """flamelet into the venv. settings: scikit-build-core's. node: as node() gives it, if not that."""
        self.page(transcript)
        # Several builds at a time, and a page that is served meanwhile: none of them may make it anew.
        settings = ("cmake.define.FLAMELET_PAGE=OFF", *settings)
        with self._locks[str(venv.folder)]:
            install_flamelet(venv, self.node(transcript) if node is None else list(node), transcript, *settings)

    def lock(self, name: str) -> Lock:
        """One of the machine's, for what several suites make."""
        return self._locks[name]
