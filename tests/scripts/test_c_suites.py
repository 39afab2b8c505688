"""devtools.c_suites: which failures get another try, and how that is counted."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from devtools.c_suites import may_be_tried_again, try_again
from devtools.results import Result
from devtools.transcript import Transcript

FAILED = "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] test_rate\n"


class Runs:
    """What a transcript's run() answers, one after the other."""

    def __init__(self, codes: Iterable[int]) -> None:
        self.codes = list(codes)
        self.commands: list[list[str]] = []

    def run(self, command: list[str], env: Mapping[str, str] | None = None) -> int:
        self.commands.append(command)
        return self.codes.pop(0)


@pytest.mark.parametrize(
    ("failed", "may"),
    [
        ({}, False),
        ({"test_cpu_clock": FAILED}, True),
        ({"test_cpu_clock": FAILED, "test_server": FAILED}, True),
        ({"test_cpu_clock": FAILED, "test_node": FAILED}, False),
        ({"test_cpu_clock": "[ RUN      ] test_rate\n"}, False),
        ({"test_stress": FAILED + "WARNING: ThreadSanitizer: data race\n"}, False),
    ],
    ids=["none", "clock", "two", "not of the clock", "a crash", "a race"],
)
def test_only_what_is_measured_is_tried_again(failed: dict[str, str], may: bool) -> None:
    # GIVEN programs that failed WHEN one of them may not be the machine's fault THEN none gets another try
    assert may_be_tried_again(failed) is may


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        ([0], Result(12, 0, late=Counter({"test_server": 1}))),
        ([8, 0], Result(12, 0, late=Counter({"test_server": 1}))),
        ([8, 8], Result(11, 1)),
    ],
    ids=["second", "third", "never"],
)
def test_a_late_pass_is_counted(codes: list[int], wanted: Result) -> None:
    # GIVEN one test of twelve that failed WHEN its program is tried again THEN a pass is told as late, and that is all
    runs = Runs(codes)
    assert try_again(["ctest"], Result(11, 1), {"test_server": FAILED}, cast(Transcript, runs)) == wanted
    assert runs.commands == [["ctest", "-R", "^(test_server)$"]] * len(codes)
