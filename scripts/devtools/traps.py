"""docs/traps.md: what the tests of each trap came to on each Python, made from their JUnit reports."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from devtools.checkout import RESULTS, ROOT

MATRIX = ROOT / "docs" / "traps.md"
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
TRAPS = {
    1: "parked before the start, returns after it",
    2: "start inside a greenlet that is not main",
    3: "start in one thread, parked greenlets in another",
    4: "parked endless worker that is never entered again",
    5: "stop while parked, resumed later",
    6: "a thousand starts and stops",
    7: "addresses used again by 100,000 short greenlets",
    8: "a thread ends with parked greenlets",
    9: "last reference dropped in its own thread, with `finally`",
    10: "last reference dropped by another thread",
    11: "a greenlet that refuses to die",
    12: "an exception thrown into a greenlet that has not begun",
    13: "switch to, or throw into, the dead or itself",
    14: "an exception escapes to the parent, past a dead one",
    15: "nested parents, parent changed",
    16: "a function written in C as `run`",
    17: "a switch inside a generator, sort key, `__del__`, `with`",
    18: "generators closed, thrown into, collected; coroutines cancelled",
    19: "frames unwound on both sides of a switch",
    20: "the program takes the switch tracer away",
    21: "gevent's `assert_switches` and monitor thread",
    22: "tracers come and go in any order",
    23: "thread pool that takes the profile function away",
    24: "cProfile, coverage, `sys.setprofile` at once",
    25: "another tool's callback switches",
    26: "everything that can be called, with C functions shown",
    27: "C functions that raise; recursion of one code object",
    28: "code made by `exec`, freed, its address used again",
    29: "fork, and gevent's fork and subprocess",
    30: "the server answers while the hub is held, in all three ways of patching",
    31: "gevent's names and ids stay unmade",
    32: "without gevent's greenlet tree",
    33: "eventlet's hub replaced",
    34: "SQLAlchemy's greenlet across an await",
    35: "main parked under a dispatcher, as in Playwright",
    36: "greenlet imported after the start",
    37: "the interpreter ends with the server alive",
    38: "sampler at a million switches a second",
    39: "parked stacks a thousand frames deep",
    40: "ten thousand parked greenlets",
    41: "memory at its end",
    42: "two threads with a hub each",
    43: "an exception leaves a frame that was parked before the start",
    44: "parked greenlets hidden by `gc.freeze()`",
    45: "a wait inside `with lock:`",
}

Cell = str
Column = dict[int, Cell]


def column_of(report: Path) -> Column:
    """What a run came to: by trap, "passed", "failed", "skipped: REASON", or "passed; not yet: REASON"."""
    verdicts: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for case in ET.parse(report).getroot().iter("testcase"):
        for trap in case.iterfind("./properties/property[@name='trap']"):
            verdicts[int(trap.get("value") or 0)].append(_verdict(case))
    return {trap: _cell(found) for trap, found in verdicts.items()}


def _verdict(case: ET.Element) -> tuple[str, str]:
    skip = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed", ""
    if skip is not None:
        return ("not yet" if skip.get("type") == "pytest.xfail" else "skipped"), skip.get(
            "message"
        ) or "no reason given"
    return "passed", ""


def _cell(found: list[tuple[str, str]]) -> Cell:
    kinds = [kind for kind, _ in found]
    if "failed" in kinds:
        return "failed"
    reasons = [f"{kind}: {'; '.join(_reasons(found, kind))}" for kind in ("not yet", "skipped") if kind in kinds]
    return "; ".join((["passed"] if "passed" in kinds else []) + reasons)


def _reasons(found: list[tuple[str, str]], kind: str) -> list[str]:
    return list(dict.fromkeys(reason for of_kind, reason in found if of_kind == kind))


def render(columns: Mapping[str, Column]) -> str:
    """The matrix as a page. Reasons are numbered below it."""
    notes: dict[str, int] = {}

    def short(cell: Cell) -> str:
        first, _, reason = cell.partition(": ") if not cell.startswith("passed; ") else ("passed, ", "", cell[8:])
        if cell.startswith("passed; "):
            return f"passed [{notes.setdefault(reason, len(notes) + 1)}]"
        return f"[{notes.setdefault(cell, len(notes) + 1)}]" if reason else first

    rows = [
        f"| {trap} | {TRAPS[trap]} | "
        + " | ".join(short(columns[version].get(trap, "-")) for version in VERSIONS)
        + " |"
        for trap in TRAPS
    ]
    head = f"| | trap | {' | '.join(VERSIONS)} |\n|---|---|{'---|' * len(VERSIONS)}"
    cells = [columns[version].get(trap, "-") for version in VERSIONS for trap in TRAPS]
    sums = {kind: sum(kind in cell for cell in cells) for kind in ("not yet", "skipped")}
    whole = sum(cell == "passed" for cell in cells)
    return "\n".join(
        [
            "# Traps",
            "",
            "What greenlet programs get into, and what a profiler can get wrong there. tests/py/traps shows each with",
            "a real program, with and without flamelet. Made by `scripts/test py next`; docs/internals.md says what",
            "is known of each.",
            "",
            head,
            *rows,
            "",
            f"{len(cells)} cells: {whole} passed whole; {sums['not yet']} with a known fault, {sums['skipped']} "
            "with something skipped:",
            "",
            *(f"[{number}] {text}  " for text, number in notes.items()),
            "",
        ]
    ).replace("  \n", "\n\n")


def bring_up_to_date(*, write: bool) -> list[str]:
    """docs/traps.md after a run on all versions: written anew, or only compared. Returns what is wrong."""
    columns: dict[str, Column] = {}
    for version in VERSIONS:
        reports = [RESULTS / f"py-{name}{version}.xml" for name in ("", "next-")]
        report = next((file for file in reports if file.is_file()), None)
        if report is None:
            return [f"no report of Python {version}"]
        columns[version] = column_of(report)
    made = render(columns)
    if write:
        MATRIX.write_text(made, encoding="utf-8")
    complaints = [
        f"trap {trap} on Python {version}: {columns[version].get(trap, 'without a test')}"
        for version in VERSIONS
        for trap in TRAPS
        if columns[version].get(trap, "failed") == "failed"
    ]
    if not MATRIX.is_file() or MATRIX.read_text(encoding="utf-8") != made:
        complaints.append("docs/traps.md is not what these tests came to: run scripts/test py next, and commit it")
    return complaints
