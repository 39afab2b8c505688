"""The marker of the traps, and the fixture that runs a program with and without flamelet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from both import Both


@pytest.fixture
def both(tmp_path: Path, write: Callable[..., Path]) -> Both:
    return Both(tmp_path, write)
