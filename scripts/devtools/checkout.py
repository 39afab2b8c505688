"""Where things are in the checkout, and whether they have changed."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"  # everything that is made and can be deleted, but for the venvs
LOGS = BUILD / "logs"
RESULTS = BUILD / "results"  # what the test runners write for us to count
WEB = ROOT / "web"
E2E = ROOT / "tests" / "e2e"

_MADE = {"node_modules", "dist", "__pycache__"}


def fingerprint(*paths: Path) -> str:
    """A hash of the files' names and contents; of a folder, of all files in it that are not made by a build."""
    digest = hashlib.sha256()
    for path in paths:
        for file in _files(path):
            content = file.read_bytes()
            digest.update(f"{file.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _MADE and not name.startswith("."))
        for name in sorted(names):
            yield Path(folder, name)


class Stamp:
    """Remembers, in a file, from what a thing was made, so that it is made again only when that has changed."""

    def __init__(self, file: Path, made_from: str) -> None:
        self._file = file
        self._made_from = made_from

    def is_current(self) -> bool:
        return self._file.is_file() and self._file.read_text() == self._made_from

    def remove(self) -> None:
        """Before the work, so that nobody takes a half-made thing for a whole one."""
        self._file.unlink(missing_ok=True)

    def write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(self._made_from)
