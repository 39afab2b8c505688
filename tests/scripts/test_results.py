"""What a suite counts for, from the runners' reports."""

from collections import Counter
from pathlib import Path

import pytest

from devtools.results import Result, failed_programs, from_ctest, from_junit, of_run

CMOCKA = """\
[==========] Running 3 test(s).
[ RUN      ] test_a
[       OK ] test_a
[==========] 3 test(s) run.
[  PASSED  ] {passed} test(s).
"""
FAILED = "[  FAILED  ] 2 test(s), listed below:\n[  FAILED  ] test_b\n[  FAILED  ] test_c\n\n 2 FAILED TEST(S)\n"


def ctest_report(folder: Path, status: str, output: str) -> Path:
    file = folder / "report.xml"
    file.write_text(
        f'<testsuite><testcase name="test_x" status="{status}"><system-out>{output}</system-out></testcase></testsuite>'
    )
    return file


def test_cmocka_tests_are_counted_not_programs(tmp_path: Path) -> None:
    # GIVEN ctest's report of a program with three tests WHEN it is read THEN three have passed
    assert from_ctest(ctest_report(tmp_path, "run", CMOCKA.format(passed=3))) == Result(passed=3)


def test_cmocka_failures_are_counted(tmp_path: Path) -> None:
    # GIVEN one that passed and two that failed WHEN the report is read THEN the list below the count adds nothing
    report = ctest_report(tmp_path, "fail", CMOCKA.format(passed=1) + FAILED)
    assert from_ctest(report) == Result(passed=1, failed=2)


def test_the_programs_that_failed_are_told(tmp_path: Path) -> None:
    # GIVEN ctest's report WHEN a program failed THEN its name and words are told, and nothing where none did
    assert failed_programs(ctest_report(tmp_path, "run", CMOCKA.format(passed=3))) == {}
    assert failed_programs(ctest_report(tmp_path, "fail", FAILED)) == {"test_x": FAILED}


@pytest.mark.parametrize(
    ("output", "passed"),
    [("[ RUN      ] test_a\n", 0), (CMOCKA.format(passed=3) + "ERROR: LeakSanitizer\n", 3)],
    ids=["crash", "leak found at the end"],
)
def test_a_program_that_fails_after_its_tests_fails(tmp_path: Path, output: str, passed: int) -> None:
    # GIVEN a program without a failed test that ctest calls failed WHEN the report is read THEN there is a failure
    assert from_ctest(ctest_report(tmp_path, "fail", output)) == Result(passed=passed, failed=1)


def test_junit(tmp_path: Path) -> None:
    # GIVEN a report with each outcome WHEN it is read THEN each is counted, and a skipped one keeps its reason
    file = tmp_path / "report.xml"
    file.write_text(
        "<testsuites><testsuite>"
        "<testcase name='a'/><testcase name='b'><failure/></testcase><testcase name='c'><error/></testcase>"
        "<testcase name='d'><skipped message='no such clock here'/></testcase><testcase name='e'><skipped/></testcase>"
        "<testcase name='f' classname='t'/>"
        "<testcase name='f' classname='t'><properties><property name='tries' value='2'/></properties></testcase>"
        "</testsuite></testsuites>"
    )
    skipped = Counter({"no such clock here": 1, "no reason given": 1})
    result = from_junit(file)
    assert result == Result(passed=2, failed=2, skipped=skipped, late=Counter({"t.f": 1}))
    # AND what passed at a later try only is told
    assert result.counts() == "2 passed, 2 failed, 2 skipped, 1 late"


@pytest.mark.parametrize("text", [None, "<testsuite><testcase na"], ids=["none", "cut off"])
def test_no_report(tmp_path: Path, text: str | None) -> None:
    # GIVEN a runner that was ended before it wrote its report WHEN that is read THEN there is nothing, and no error
    file = tmp_path / "report.xml"
    if text is not None:
        file.write_text(text)
    assert from_junit(file) == Result()


@pytest.mark.parametrize(
    ("exit_code", "result", "failed"),
    [
        (0, Result(passed=2), 0),
        (1, Result(passed=2), 1),
        (1, Result(passed=2, failed=1), 1),
        (0, Result(), 1),
        (0, Result(skipped=Counter({"why": 3})), 1),
        (-9, Result(), 1),
    ],
    ids=["good", "exit code alone", "told already", "nothing ran", "all skipped", "killed"],
)
def test_a_runner_is_not_believed_blindly(exit_code: int, result: Result, failed: int) -> None:
    # GIVEN what a runner's report says WHEN its exit code says otherwise, or nothing ran, THEN that is a failure
    assert of_run(exit_code, result).failed == failed


def test_closing_line() -> None:
    # GIVEN results of two suites WHEN they are added THEN the sum reads as CI expects it
    total = Result(passed=2, skipped=Counter(a=1)) + Result(failed=1, skipped=Counter(a=1, b=1))
    assert total.counts() == "2 passed, 1 failed, 3 skipped"
