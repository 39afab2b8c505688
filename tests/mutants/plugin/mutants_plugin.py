"""pytest's side: tells which test runs, which failed, and counts lines for each test.

MUTANTS_PROGRESS: the file that gets a line "start TEST", "skip TEST", "fail TEST", "end TEST SECONDS" for each event.
MUTANTS_COVER: a folder; gcov's counters of the test go to COVER/N, N from 0 in the order of "start", those of fixtures
that several tests share to COVER/shared.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_progress = Path(os.environ["MUTANTS_PROGRESS"])
_cover = os.environ.get("MUTANTS_COVER")
_tests: list[str] = []


def _tell(word: str, *rest: object) -> None:
    with _progress.open("a", encoding="utf-8") as file:
        file.write(" ".join(map(str, (word, *rest))) + "\n")


def _count_into(name: str) -> None:
    if _cover is not None:
        os.environ["GCOV_PREFIX"] = str(Path(_cover, name))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _count_into(str(len(_tests)))
    _tests.append(item.nodeid)
    _tell("start", item.nodeid)
    began = time.monotonic()
    try:
        return (yield)
    finally:
        _tell("end", item.nodeid, f"{time.monotonic() - began:.3f}")
        _count_into("shared")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    if fixturedef.scope == "function":
        return (yield)
    before = os.environ.get("GCOV_PREFIX")
    _count_into("shared")
    try:
        return (yield)
    finally:
        if _cover is not None and before is not None:
            os.environ["GCOV_PREFIX"] = before


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.outcome in ("failed", "skipped"):
        _tell({"failed": "fail", "skipped": "skip"}[report.outcome], report.nodeid)


def pytest_sessionstart() -> None:
    _count_into("shared")
