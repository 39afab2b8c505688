"""What is run, and what is known to differ: modules.toml and known.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).parent
SUITES = {"cpython": "test", "greenlet": "greenlet.tests", "gevent": "gevent.tests"}  # name: package
SETTINGS = ("on", "builtins")


class WrongList(Exception):
    """One of the lists contradicts itself. Says where."""


@dataclass(frozen=True)
class Module:
    """One module of a suite.

    restart: flamelet is started anew before each test where a thread has one profile function only (up to 3.11): the
    tests set theirs and take it away, and where nothing switches nothing tells of that. slow: runs under "builtins"
    only, which has all the events of the other setting.
    """

    suite: str
    name: str
    restart: bool = False
    slow: bool = False

    def __str__(self) -> str:
        return f"{self.suite} {self.name}"


@dataclass(frozen=True)
class Known:
    """A difference with its cause. tests: patterns (fnmatch) for names without the module's.

    varies: it is not there in each run. Others must be, for each test that a pattern fits: else the entry is old.
    """

    suite: str
    module: str
    tests: tuple[str, ...]
    pythons: tuple[str, ...]
    settings: tuple[str, ...]
    varies: bool
    cause: str

    def fits(self, module: Module, python: str, setting: str) -> bool:
        return (self.suite, self.module) == (module.suite, module.name) and (
            python in self.pythons and setting in self.settings
        )

    def pattern(self, test: str) -> str | None:
        """The pattern that fits the test."""
        return next((pattern for pattern in self.tests if fnmatchcase(test, pattern)), None)


@dataclass(frozen=True)
class Lists:
    modules: list[Module]
    left_out: dict[Module, str]  # with the reason
    known: list[Known]


def read(folder: Path = HERE) -> Lists:
    """Raises WrongList."""
    tables = tomllib.loads((folder / "modules.toml").read_text(encoding="utf-8"))
    left_out: dict[Module, str] = {}
    modules: list[Module] = []
    for suite in SUITES:
        for entry in tables[suite].get("left_out", []):
            left_out.update({Module(suite, name): entry["reason"] for name in entry["modules"]})
        names = tables[suite]["modules"]
        restart, slow = tables[suite].get("restart", []), tables[suite].get("slow", [])
        if twice := {name for name in names if names.count(name) > 1 or Module(suite, name) in left_out}:
            raise WrongList(f"modules.toml names twice, of {suite}: {', '.join(sorted(twice))}")
        if unknown := {*restart, *slow} - set(names):
            raise WrongList(f"modules.toml marks what it does not run: {', '.join(sorted(unknown))}")
        modules += [Module(suite, name, name in restart, name in slow) for name in names]
    known = [_known(entry) for entry in tomllib.loads((folder / "known.toml").read_text(encoding="utf-8"))["known"]]
    for entry in known:
        if (entry.suite, entry.module) not in {(module.suite, module.name) for module in modules}:
            raise WrongList(f"known.toml has {entry.suite} {entry.module}, which is not run")
    return Lists(modules, left_out, known)


def _known(entry: dict[str, object]) -> Known:
    def words(key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = entry.get(key, default)
        if not isinstance(value, list | tuple) or not value:
            raise WrongList(f"known.toml: {key} of {entry.get('module')} is {value!r}")
        return tuple(map(str, value))

    for key in ("suite", "module", "cause"):
        if not entry.get(key):
            raise WrongList(f"known.toml: no {key} in {entry}")
    return Known(
        str(entry["suite"]),
        str(entry["module"]),
        words("tests"),
        words("pythons"),
        words("settings", SETTINGS),
        entry.get("varies") is True,
        " ".join(str(entry["cause"]).split()),
    )
