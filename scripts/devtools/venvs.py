"""Virtual environments inside the checkout, made again only when what they are made from has changed."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from devtools.checkout import ROOT, Stamp, fingerprint
from devtools.pythons import Python
from devtools.transcript import Transcript, environment

PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


class Venv:
    """A virtual environment; `ensure` makes it."""

    def __init__(
        self,
        name: str,
        python: Python,
        requirements: Sequence[Path],
        packages: Sequence[str] = (),
        within: Callable[[Sequence[str | Path]], list[str | Path]] = list,
    ) -> None:
        """name: the folder, from the checkout. requirements: pip's requirement files. packages: as pip takes them.
        within: what makes of a command the one that runs it where the Python is, if that is not right here."""
        self.folder = ROOT / name
        self.bin = self.folder / "bin"
        self.python = self.bin / "python"
        self.base = python
        self._requirements = requirements
        self._packages = packages
        self._within = within

    def command(self, words: Sequence[str | Path]) -> list[str | Path]:
        """What runs these words where the venv's Python is."""
        return self._within(words)

    def ensure(self, transcript: Transcript) -> None:
        """Raises CommandFailed."""
        files = fingerprint(*_with_included(self._requirements))
        stamp = Stamp(
            self.folder / "flamelet-requirements", f"{self.base.path} {self.base.full} {self._packages} {files}"
        )
        if stamp.is_current():
            return
        stamp.remove()
        transcript.check(self.command([self.base.path, "-m", "venv", "--clear", self.folder]), env=environment())
        wanted = [*self._packages, *(word for file in self._requirements for word in ("-r", file))]
        transcript.check(self.command([self.python, *PIP, "install", *wanted]), env=environment())
        stamp.write()


def _with_included(requirements: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for file in requirements:
        lines = file.read_text().split("\n")
        included = [file.parent / line.removeprefix("-r ") for line in lines if line.startswith("-r ")]
        files += [file, *_with_included(included)]
    return files
