"""The matrix of traps: cells from JUnit reports, what is wrong with it."""

from pathlib import Path

import pytest

from devtools import traps

CASE = '<testcase name="{name}"><properties><property name="trap" value="{trap}"/></properties>{end}</testcase>'


def report(*cases: tuple[int, str]) -> str:
    text = "".join(CASE.format(name=f"test_{i}", trap=trap, end=end) for i, (trap, end) in enumerate(cases))
    return f"<testsuites><testsuite>{text}</testsuite></testsuites>"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Reports of all versions in which each trap has passed."""
    monkeypatch.setattr(traps, "RESULTS", tmp_path)
    monkeypatch.setattr(traps, "MATRIX", tmp_path / "traps.md")
    for name in ("py-3.11", "py-3.12", "py-3.13", "py-next-3.14", "py-next-3.15"):
        (tmp_path / f"{name}.xml").write_text(report(*((trap, "") for trap in traps.TRAPS)))
    return tmp_path


def test_all_is_well(results: Path) -> None:
    # GIVEN tests that pass, WHEN the matrix is made, THEN it says so, and holds when it is compared
    assert traps.bring_up_to_date(write=True) == []
    assert "225 cells: 225 passed whole" in (results / "traps.md").read_text()
    assert traps.bring_up_to_date(write=False) == []


def test_it_is_out_of_date(results: Path) -> None:
    traps.bring_up_to_date(write=True)
    skipped = report((1, '<skipped message="no such thing here"/>'), *((trap, "") for trap in traps.TRAPS))
    (results / "py-3.11.xml").write_text(skipped)
    (complaint,) = traps.bring_up_to_date(write=False)
    assert complaint.startswith("docs/traps.md is not what these tests came to")
    assert traps.bring_up_to_date(write=True) == []
    text = (results / "traps.md").read_text()
    assert "| 1 | parked before the start, returns after it | passed [1] | passed |" in text
    assert "[1] skipped: no such thing here" in text


def test_a_trap_that_failed_or_has_no_test(results: Path) -> None:
    (results / "py-3.12.xml").write_text(report((1, "<failure/>"), (1, ""), *((t, "") for t in range(3, 46))))
    assert traps.bring_up_to_date(write=True) == [
        "trap 1 on Python 3.12: failed",
        "trap 2 on Python 3.12: without a test",
    ]
    (results / "py-next-3.15.xml").unlink()
    assert traps.bring_up_to_date(write=True) == ["no report of Python 3.15"]
