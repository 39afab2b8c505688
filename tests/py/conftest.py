"""Fixtures of the Python tests, and what is checked after each of them. They run where flamelet is installed:
`python -m pytest tests/py`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import invariants
from flamelet.errors import FlameletError
from flamelet.recording import Recording, read_recording
from tries import pytest_runtest_teardown

if TYPE_CHECKING:
    from both import Both

__all__ = ["pytest_runtest_teardown"]
pytest.register_assert_rewrite("both")  # its asserts are told like a test's


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "trap(*numbers): shows what happens in these traps, by number")
    config.addinivalue_line(
        "markers", "no_invariants: its recording is broken on purpose, or too large to be checked in a moment"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The JUnit report tells which trap a test is of: docs/traps.md is made from that."""
    for item in items:
        for mark in item.iter_markers("trap"):
            item.user_properties += [("trap", number) for number in mark.args]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file into the test's folder: write("a/b.py", "text"). The text may be indented."""

    def write_file(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def both(tmp_path: Path, write: Callable[..., Path]) -> Both:
    """Runs a program with and without flamelet (both.py)."""
    from both import Both

    return Both(tmp_path, write)


@pytest.fixture(autouse=True)
def recordings_make_sense(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Whatever a test recorded, its numbers must fit together (invariants.py)."""
    yield
    if request.node.get_closest_marker("no_invariants"):
        return
    found: list[tuple[str, Recording]] = []
    for file in sorted(tmp_path.rglob("*.flamelet")):
        try:
            found.append((file.name, read_recording(str(file))))
        except FlameletError:
            continue  # of a program that was killed, or a name that was only tried
    assert invariants.of_all(found) == []
