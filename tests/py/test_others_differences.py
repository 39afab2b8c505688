"""tests/others: what counts as a difference between a test without flamelet and the same with it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "others"))

import lists
import outcomes
from differences import Verdict, compare
from lists import Known, Module
from outcomes import END, SEEN, Run

MODULE = Module("gevent", "test__x")


def known(*tests: str, varies: bool = False) -> Known:
    return Known("gevent", "test__x", tests, ("3.12",), ("on",), varies, "a cause")


def verdicts(under: dict[str, str], without: dict[str, str], *entries: Known) -> dict[str, Verdict]:
    cases = compare(MODULE, "3.12", "on", Run(under), Run(without), entries)
    return {case.test: case.verdict for case in cases}


@pytest.mark.parametrize(
    ("without", "under", "verdict"),
    [
        ("passed", "passed", Verdict.SAME),
        ("skipped", "skipped", Verdict.SAME),
        ("passed", "failed", Verdict.DIFFERS),
        ("passed", "skipped", Verdict.DIFFERS),
        ("expected failure", "failed", Verdict.DIFFERS),
        ("failed", "failed", Verdict.USELESS),
        ("failed", "passed", Verdict.SAME),
    ],
)
def test_one_test(without: str, under: str, verdict: Verdict) -> None:
    # GIVEN what became of a test without flamelet, and with it
    # THEN this is what counts
    assert verdicts({"A.test": under}, {"A.test": without}) == {"A.test": verdict}


def test_a_test_that_is_missing_differs() -> None:
    # GIVEN a test that ran without flamelet only, as after a death of the process
    assert verdicts({}, {"A.test": "passed"}) == {"A.test": Verdict.DIFFERS}


def test_what_flamelet_alone_must_pass() -> None:
    # GIVEN that flamelet did not see each test begin, which is not asked without it
    assert verdicts({SEEN: "failed"}, {}) == {SEEN: Verdict.DIFFERS}


def test_listed_differences() -> None:
    # GIVEN a listed test that differs, one that does not, and one that is not there
    entry = known("A.test_1", "A.test_2", "A.test_3")
    found = verdicts(
        {"A.test_1": "failed", "A.test_2": "passed"}, dict.fromkeys(["A.test_1", "A.test_2"], "passed"), entry
    )
    # THEN only the first one is as the list says
    assert found == {"A.test_1": Verdict.KNOWN, "A.test_2": Verdict.AGREES, "A.test_3": Verdict.AGREES}
    # AND one that is marked as varying may pass
    assert verdicts({"A.test_2": "passed"}, {"A.test_2": "passed"}, known("A.*", varies=True)) == {
        "A.test_2": Verdict.SAME
    }


def test_the_lists_can_be_read() -> None:
    # GIVEN the lists as they are
    listed = lists.read()
    # THEN each suite has modules, and each known difference a cause
    assert {module.suite for module in listed.modules} == set(lists.SUITES)
    assert all(len(entry.cause) > 30 for entry in listed.known)


def test_a_process_that_dies_is_an_outcome() -> None:
    # GIVEN a module that is no module, so that its process ends with an error before any test
    run = outcomes.run_module(Module("gevent", "test__there_is_none"), "off")
    # THEN that is its end
    assert run.tests == {END: "failed"}
    assert "exit code is 1" in run.troubles[END]
    # WHEN one has no time to end
    run = outcomes.run_module(Module("gevent", "test__event"), "off", limit=0.01)
    # THEN that is
    assert run.tests[END] == "failed"
    assert "nothing for" in run.troubles[END]
