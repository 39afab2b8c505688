"""What became of the mutants, kept in a file so that a later run can go on, and how it is told."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from statements import Mutant, all_mutants
from trial import Verdict

WANTED = 0.85  # the share that must be killed


@dataclass(frozen=True)
class Row:
    """One mutant that was tried. line: as it was then."""

    key: str
    file: str
    line: int
    function: str
    what: str
    killed: bool
    tests: int
    left_out: int
    by: str
    how: str
    seconds: float

    @staticmethod
    def of(mutant: Mutant, verdict: Verdict, seconds: float) -> Row:
        statement = mutant.statement
        where = (statement.file, statement.first_line, statement.function)
        return Row(mutant.key, *where, mutant.what, **asdict(verdict), seconds=round(seconds, 1))

    def line_of_it(self) -> str:
        if self.killed:
            end = f"{self.how} {self.by}"
        else:
            some = f" ({self.left_out} more were left out)" if self.left_out else ""
            end = f"SURVIVED {self.tests - self.left_out} tests{some}" if self.tests else "SURVIVED: no test reaches it"
        return f"{self.file}:{self.line} {self.function}: {self.what}: {end} ({self.seconds:.0f} s)"


class Results:
    """The rows of a run, in a file that is whole at any time."""

    def __init__(self, file: Path, seed: int, rows: Sequence[Row] = ()) -> None:
        self.file = file
        self.seed = seed
        self.rows = list(rows)

    @staticmethod
    def read(file: Path) -> Results:
        """Raises FileNotFoundError."""
        content = json.loads(file.read_text())
        return Results(file, content["seed"], [Row(**row) for row in content["mutants"]])

    def add(self, row: Row) -> None:
        """In place of what was known of the same mutant."""
        self.rows = [*(known for known in self.rows if known.key != row.key), row]
        self.write()

    def write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps({"seed": self.seed, "mutants": [asdict(row) for row in self.rows]}, indent=1) + "\n")
        new.replace(self.file)

    @property
    def survivors(self) -> list[Row]:
        return sorted((row for row in self.rows if not row.killed), key=lambda row: (row.file, row.line))

    @property
    def share(self) -> float:
        """Of the mutants, those that were killed; 0 where there is none."""
        return (len(self.rows) - len(self.survivors)) / len(self.rows) if self.rows else 0.0

    @property
    def is_good(self) -> bool:
        return self.share >= WANTED

    def told(self) -> str:
        """The table, the survivors, and the share in the last line."""
        drawn = Counter(row.file for row in self.rows)
        survived = Counter(row.file for row in self.survivors)
        lines = [f"{'file':36}{'mutants':>8}{'killed':>8}"]
        lines += [f"{file:36}{drawn[file]:8}{drawn[file] - survived[file]:8}" for file in sorted(drawn)]
        lines += ["", f"survivors: {len(self.survivors)}", *(row.line_of_it() for row in self.survivors), ""]
        killed = len(self.rows) - len(self.survivors)
        verdict = "" if self.is_good else f", less than {WANTED:.0%}"
        lines.append(f"seed {self.seed}: {killed} of {len(self.rows)} mutants killed, {self.share:.1%}{verdict}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can tell from the original, and why. Found again by its text, wherever it stands."""

    file: str
    function: str
    what: str
    reason: str

    def is_of(self, mutant: Mutant) -> bool:
        where = (mutant.file, mutant.statement.function, mutant.what)
        return where == (self.file, self.function, self.what)


def read_equivalents(file: Path) -> list[Equivalent]:
    return [Equivalent(**row) for row in tomllib.loads(file.read_text()).get("mutant", [])]


def is_still_there(entry: Equivalent, root: Path) -> bool:
    """Whether the sources still have the statement that the entry is about."""
    return any(entry.is_of(mutant) for mutant in all_mutants(root, entry.file))
