"""Tests that assert that nobody else is there: they are told so.

Only what these assertions ask is changed, in each setting alike; what the tests test is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def test_monitoring() -> None:
    """Asserts before, within and after its tests that no events are left over, whichever tool's, and takes the ids 2, 3
    and 4. flamelet takes 4, or 5 where 4 is taken: so it is taken while it starts, and those assertions do not see 5.
    """
    from test import test_monitoring as module

    base = module.MonitoringTestBase
    for name in ("setUp", "tearDown"):
        setattr(base, name, _without_flamelets_events(getattr(base, name)))
    set_up = base.setUp

    def set_up_and_clean(self: Any) -> None:
        # A test that fails leaves its events on, for which all the others would fail.
        self.addCleanup(_free, TAKEN["test_monitoring"])
        set_up(self)

    base.setUp = set_up_and_clean
    # Nothing but assertions calls it. It gives the tools of each event as bits.
    all_events = sys.monitoring._all_events  # type: ignore[attr-defined]

    def all_but_flamelets() -> dict[str, int]:
        ours = sum(1 << tool for tool in range(6) if sys.monitoring.get_tool(tool) == "flamelet")
        return {event: tools & ~ours for event, tools in all_events().items() if tools & ~ours}

    sys.monitoring._all_events = all_but_flamelets  # type: ignore[attr-defined]


def _without_flamelets_events(method: Callable[[Any], None]) -> Callable[[Any], None]:
    def changed(self: Any) -> None:
        monitoring = sys.monitoring
        get_events = monitoring.get_events
        monitoring.get_events = lambda tool: 0 if monitoring.get_tool(tool) == "flamelet" else get_events(tool)
        try:
            method(self)
        finally:
            monitoring.get_events = get_events

    return changed


def _free(tools: tuple[int, ...]) -> None:
    for tool in tools:
        if sys.monitoring.get_tool(tool):
            sys.monitoring.set_events(tool, 0)
            sys.monitoring.free_tool_id(tool)


TAKEN = {"test_monitoring": (2, 3, 4)}
"""Ids of sys.monitoring that must be free when the tests of a module begin."""
BEFORE = {"test_monitoring": test_monitoring}
"""What is done before the tests of a module begin."""
