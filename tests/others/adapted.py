"""Tests that assert that nobody else is there: they are told so. And such as kill the interpreter where anybody is.

Of the former only what these assertions ask is changed, in each setting alike; what the tests test is not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_IDS = (2, 3, 4)  # of sys.monitoring, which test_monitoring takes
monitoring: Any = getattr(sys, "monitoring", None)  # since 3.12


@contextmanager
def ids_taken(suite: str, module: str) -> Iterator[None]:
    """Around flamelet's start: it leaves alone what the tests want for themselves."""
    ids = _IDS if monitoring and (suite, module) == ("cpython", "test_monitoring") else ()
    for tool in ids:
        monitoring.use_tool_id(tool, "the tests")
    yield
    for tool in ids:
        monitoring.free_tool_id(tool)


def adapt(suite: str, module: str, *, on: bool) -> None:
    """Before the tests of a module begin. on: flamelet is."""
    if (suite, module) == ("cpython", "test_monitoring"):
        _test_monitoring()
    if on and sys.version_info >= (3, 15) and (suite, module) == ("cpython", "test_code"):
        # None of those after it would run. It is a known difference.
        deadly: Any = import_module("test.test_code").CodeTest.test_invalid_bytecode
        deadly.__unittest_skip__, deadly.__unittest_skip_why__ = True, "kills the interpreter"


def _test_monitoring() -> None:
    """Asserts before, within and after its tests that no events are left over, whichever tool's, and takes the ids 2, 3
    and 4. flamelet takes 4, or 5 where 4 is taken: so it is taken while it starts, and those assertions do not see 5.
    """
    module = import_module("test.test_monitoring")

    base = module.MonitoringTestBase
    for name in ("setUp", "tearDown"):
        setattr(base, name, _without_flamelets_events(getattr(base, name)))
    set_up = base.setUp

    def set_up_and_clean(self: Any) -> None:
        # A test that fails leaves its events on, for which all the others would fail.
        self.addCleanup(_free, _IDS)
        set_up(self)

    base.setUp = set_up_and_clean
    # Nothing but assertions calls it. It gives the tools of each event as bits.
    all_events = monitoring._all_events

    def all_but_flamelets() -> dict[str, int]:
        ours = sum(1 << tool for tool in range(6) if monitoring.get_tool(tool) == "flamelet")
        return {event: tools & ~ours for event, tools in all_events().items() if tools & ~ours}

    monitoring._all_events = all_but_flamelets


def _without_flamelets_events(method: Callable[[Any], None]) -> Callable[[Any], None]:
    def changed(self: Any) -> None:
        get_events = monitoring.get_events
        monitoring.get_events = lambda tool: 0 if monitoring.get_tool(tool) == "flamelet" else get_events(tool)
        try:
            method(self)
        finally:
            monitoring.get_events = get_events

    return changed


def _free(tools: tuple[int, ...]) -> None:
    for tool in tools:
        if monitoring.get_tool(tool):
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
