"""The fixture that runs a program with and without flamelet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.register_assert_rewrite("both")

from both import Both  # noqa: E402 (its asserts are to be told like a test's)


@pytest.fixture
def both(tmp_path: Path, write: Callable[..., Path]) -> Both:
    return Both(tmp_path, write)
