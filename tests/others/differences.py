"""What flamelet changed: the outcome of each test with it beside the one without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from lists import Known, Module
from outcomes import Run

_LONGEST = 1500  # characters of a traceback that are shown: its end


class Verdict(Enum):
    SAME = "same"
    KNOWN = "known difference"
    DIFFERS = "differs"  # and is not listed
    AGREES = "listed as a difference, and is none"
    USELESS = "fails without flamelet, too"


@dataclass(frozen=True)
class Case:
    """One test under one setting. text: the cause of a known difference, what went wrong otherwise."""

    test: str
    verdict: Verdict
    text: str = ""

    @property
    def wrong(self) -> bool:
        return self.verdict in (Verdict.DIFFERS, Verdict.AGREES)


def compare(
    module: Module, python: str, setting: str, under: Run, without: Run | None, known: Sequence[Known]
) -> list[Case]:
    """Case for each test of both runs, and for each pattern of a listed difference that no test fits.

    under: with flamelet. without: may be None where everything passed under flamelet: it cannot have been better.
    """
    entries = [entry for entry in known if entry.fits(module, python, setting)]
    base = under.tests if without is None else without.tests
    used: set[str] = set()
    cases = []
    for test in sorted({*under.tests, *base}):
        entry, pattern = next(((each, found) for each in entries if (found := each.pattern(test))), (None, None))
        if pattern:
            used.add(pattern)
        cases.append(_case(test, under, base, entry))
    cases += [
        Case(pattern, Verdict.AGREES, "there is no such test")
        for entry in entries
        for pattern in entry.tests
        if pattern not in used and not entry.varies
    ]
    return cases


def _case(test: str, under: Run, base: dict[str, str], entry: Known | None) -> Case:
    now = under.tests.get(test, "not run")
    # What only runs with flamelet have (outcomes.SEEN) has to pass.
    before = base.get(test, "passed")
    if now == before or now == "passed":
        if before == "failed" and now == "failed":
            return Case(test, Verdict.USELESS)
        if entry and not entry.varies:
            return Case(test, Verdict.AGREES, entry.cause)
        return Case(test, Verdict.SAME)
    if before == "failed":
        return Case(test, Verdict.USELESS)
    if entry:
        return Case(test, Verdict.KNOWN, entry.cause)
    trouble = under.troubles.get(test, "")[-_LONGEST:]
    return Case(test, Verdict.DIFFERS, f"{before} without flamelet, {now} with it\n{trouble}")
