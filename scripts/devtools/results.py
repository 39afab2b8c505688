"""What a suite came to, and how it is read from the test runners' files."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Result:
    """Counts of tests; `skipped` has the reason of each skipped one, `late` the name of each that passed at a later
    try only: tests against the machine's clock have more than one (`flaky` in tests/py)."""

    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Result") -> "Result":
        return Result(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.late + other.late,
        )

    def counts(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed, {self.skipped.total()} skipped"
        return f"{text}, {self.late.total()} late" if self.late else text


COULD_NOT_RUN = Result(failed=1)


def of_run(exit_code: int, result: Result) -> Result:
    """The result, doubted: a runner that says it failed, or ran nothing, counts as a failure of its own."""
    if (exit_code and not result.failed) or not (result.passed + result.failed):
        return result + Result(failed=1)
    return result


def from_junit(file: Path) -> Result:
    """Of a JUnit report, as pytest, vitest and Playwright write it. A missing report is an empty result."""
    result = Result()
    retried: set[tuple[str | None, str | None]] = set()
    # Backwards: pytest reports each try, the last one counts.
    for case in reversed(_cases(file)):
        name = (case.get("classname"), case.get("name"))
        tried_again = case.find("properties/property[@name='tries']") is not None
        if name in retried:
            continue
        if tried_again:
            retried.add(name)
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        elif skip is not None:
            result.skipped[skip.get("message") or "no reason given"] += 1
        else:
            result.passed += 1
            if tried_again:
                result.late[".".join(filter(None, name))] += 1
    return result


def from_ctest(file: Path) -> Result:
    """Of ctest's JUnit report: there a case is a cmocka program, and its output tells of its tests."""
    result = Result()
    for program in _cases(file):
        output = program.findtext("system-out") or ""
        passed, failed, skipped = (_cmocka_count(word, output) for word in ("PASSED", "FAILED", "SKIPPED"))
        result.passed += passed
        result.failed += failed
        if skipped:
            result.skipped[f"skipped by {program.get('name')}; see its output"] += skipped
        if program.get("status") != "run" and not failed:
            result.failed += 1  # it crashed, hung, or a sanitizer found something
    return result


def failed_programs(file: Path) -> dict[str, str]:
    """Of ctest's JUnit report: the programs that failed, with what they wrote."""
    cases = [case for case in _cases(file) if case.get("status") != "run"]
    return {case.get("name", ""): case.findtext("system-out") or "" for case in cases}


def _cases(file: Path) -> list[ET.Element]:
    """None where there is no report, or only the beginning of one: the runner was ended."""
    try:
        return list(ET.parse(file).getroot().iter("testcase"))
    except (FileNotFoundError, ET.ParseError):
        return []


def _cmocka_count(word: str, output: str) -> int:
    # cmocka pads the words to eight characters: "[  PASSED  ] 12 test(s)."
    return sum(map(int, re.findall(rf"^\[ +{word} +\] .*?(\d+) test\(s\)", output, re.MULTILINE)))
