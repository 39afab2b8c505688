"""Tests that may be tried again (`flaky`), because neighbours on the machine may disturb what they measure."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """The report tells of a test that needs more than one try; scripts/test counts those that passed so."""
    tries = getattr(item, "execution_count", 1)
    if tries > 1:
        item.user_properties[:] = [*(kept for kept in item.user_properties if kept[0] != "tries"), ("tries", tries)]
