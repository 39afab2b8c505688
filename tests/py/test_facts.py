"""Facts about greenlet, gevent and CPython that the hooks rely on, each by itself and without flamelet.

docs/internals.md lists them with the code that depends on each. When one of these fails on a new version, that code is
where to look first.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import greenlet
import pytest

monitoring: Any = getattr(sys, "monitoring", None)
HAVE_MONITORING = sys.version_info >= (3, 12)
with_monitoring = pytest.mark.skipif(not HAVE_MONITORING, reason="sys.monitoring came with 3.12")
Event = tuple[str, str]


@contextmanager
def tracer(function: Callable[..., Any]) -> Iterator[None]:
    before = greenlet.settrace(function)
    try:
        yield
    finally:
        greenlet.settrace(before)


def in_thread(function: Callable[[], Any]) -> Any:
    """What the function returns in a thread of its own."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


# ----------------------------------------------------------------------------------------------------------- switches


def test_slots_of_greenlets_c_api() -> None:
    # GIVEN greenlet's capsule
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get_pointer(greenlet._greenlet._C_API, b"greenlet._C_API")
    slots = (ctypes.c_void_p * 12).from_address(address)
    # THEN the slots that are used do what they are called for: type, current one, started and not ended, parent
    assert slots[0] == id(greenlet.greenlet)
    current = ctypes.PYFUNCTYPE(ctypes.py_object)(slots[4])  # type: ignore[arg-type]
    active = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(slots[10])  # type: ignore[arg-type]
    parent = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(slots[11])  # type: ignore[arg-type]
    main = greenlet.getcurrent()
    child = greenlet.greenlet(main.switch)
    assert current() is main
    assert parent(child) is main
    assert (active(main), active(child)) == (1, 0)
    child.switch()
    assert active(child) == 1
    child.switch()
    assert active(child) == 0


def test_the_tracer_runs_after_the_switch_in_the_target_and_before_its_first_frame() -> None:
    # GIVEN a tracer that looks where it is
    seen: list[tuple[str, bool, bool]] = []

    def trace(event: str, pair: tuple[Any, Any]) -> None:
        seen.append((event, greenlet.getcurrent() is pair[1], sys._getframe().f_back is None))

    def run() -> None:
        main.switch()

    main = greenlet.getcurrent()
    child = greenlet.greenlet(run)
    with tracer(trace):
        child.switch()
        child.switch()
    # THEN it is in the target, which has no frame when it begins, and its own when it goes on; its end is a switch too
    assert seen == [
        ("switch", True, True),
        ("switch", True, False),
        ("switch", True, False),
        ("switch", True, False),
    ]
    assert child.dead


def test_a_tracer_belongs_to_its_thread() -> None:
    # GIVEN a tracer of this thread
    with tracer(lambda event, pair: None):
        # THEN other threads have none, and can't take it away
        assert in_thread(greenlet.gettrace) is None
        in_thread(lambda: greenlet.settrace(None))
        assert greenlet.gettrace() is not None


def test_a_tracer_can_take_itself_away() -> None:
    # GIVEN a tracer that calls settrace(None)
    seen: list[str] = []

    def trace(event: str, pair: tuple[Any, Any]) -> None:
        seen.append(event)
        greenlet.settrace(None)

    with tracer(trace):
        greenlet.greenlet(lambda: None).switch()
        # THEN it is called no more
        assert seen == ["switch"]
        assert greenlet.gettrace() is None


def test_a_tracer_that_raises_is_removed_and_its_error_thrown_into_the_target() -> None:
    # GIVEN a tracer that raises
    def trace(event: str, pair: tuple[Any, Any]) -> None:
        raise ValueError("of the tracer")

    with tracer(trace):
        # THEN the program gets the error, and the tracer is gone
        with pytest.raises(ValueError, match="of the tracer"):
            greenlet.greenlet(lambda: None).switch()
        assert greenlet.gettrace() is None


def test_what_a_tracer_runs_has_no_events() -> None:
    # GIVEN a tracer in Python, and a profile function
    seen: list[str] = []

    def inside() -> None:
        pass

    def trace(event: str, pair: tuple[Any, Any]) -> None:
        inside()

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        seen.append(frame.f_code.co_name)

    with tracer(trace):
        sys.setprofile(profile)
        greenlet.greenlet(time.monotonic).switch()
        sys.setprofile(None)
    # THEN its calls are not told
    assert "inside" not in seen
    assert "trace" not in seen


def test_states_of_a_greenlet_without_its_own_attributes() -> None:
    # GIVEN a class that says what it likes about its being dead, as gevent's does
    class Lies(greenlet.greenlet):
        dead = True

        def __bool__(self) -> bool:
            return False

    main = greenlet.getcurrent()
    child = Lies(main.switch)
    child.switch()
    # THEN the C API's answer is another one, and gr_frame is there where it is parked in Python code only
    assert child.gr_frame is None
    parked: Any = greenlet.greenlet(lambda: (main.switch(), None))
    parked.switch()
    assert parked.gr_frame.f_code.co_name == "<lambda>"


def test_the_stack_of_a_parked_greenlet_is_complete() -> None:
    # GIVEN a greenlet that is parked some frames deep, below a builtin
    def deep(n: int) -> Any:
        if n:
            max([n], key=lambda _: deep(n - 1) or 0)
        else:
            main.switch()

    main = greenlet.getcurrent()
    child = greenlet.greenlet(deep)
    child.switch(3)
    frame, names = child.gr_frame, []
    while frame:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    # THEN f_back leads to its entry function, and no further
    assert names == ["deep", *["<lambda>", "deep"] * 3]


def test_addresses_of_greenlets_are_used_again() -> None:
    # GIVEN greenlets one after the other
    addresses = set()
    for _ in range(1000):
        child = greenlet.greenlet(lambda: None)
        child.switch()
        addresses.add(id(child))
        del child
    # THEN an address alone says nothing
    assert len(addresses) < 100


# ---------------------------------------------------------------------------------------------------------- monitoring


class Monitor:
    """sys.monitoring's events on code of this file, while the block lasts."""

    def __init__(self, *names: str, on: bool = True) -> None:
        self.events: list[Event] = []
        self.names = names
        self.on = on

    def __enter__(self) -> Monitor:
        self.bits = {name: getattr(monitoring.events, name) for name in self.names}
        monitoring.use_tool_id(4, "test_facts")
        for name, bit in self.bits.items():
            monitoring.register_callback(4, bit, lambda code, *rest, name=name: self.take(name, code, rest))
        if self.on:
            self.switch_on()
        return self

    def switch_on(self) -> None:
        together = ("C_RETURN", "C_RAISE")
        monitoring.set_events(4, sum(bit for name, bit in self.bits.items() if name not in together))

    def take(self, name: str, code: types.CodeType, rest: tuple[Any, ...]) -> None:
        if code.co_filename == __file__:
            what = getattr(rest[1], "__name__", "?") if name in ("CALL", "C_RETURN", "C_RAISE") else code.co_name
            self.events.append((name, what))

    def __exit__(self, *error: object) -> None:
        monitoring.set_events(4, 0)
        for bit in self.bits.values():
            monitoring.register_callback(4, bit, None)
        monitoring.free_tool_id(4)

    def of(self, name: str) -> list[str]:
        """The events of this code, or callable."""
        return [event for event, what in self.events if what == name]


def parked_greenlet() -> Any:
    """Parked in code that nothing else runs."""
    main = greenlet.getcurrent()
    scope: dict[str, Any] = {"main": main}
    exec(compile("def parked_here(): main.switch()", __file__, "exec"), scope)
    child = greenlet.greenlet(scope["parked_here"])
    child.switch()
    return child


@with_monitoring
def test_a_parked_frame_delivers_no_events_unless_its_code_is_woken() -> None:
    # GIVEN two greenlets that are parked when events are switched on
    sleeps, woken = parked_greenlet(), parked_greenlet()
    # WHEN the code of one gets a local event, which is taken back at once
    with Monitor("PY_RETURN", on=False) as monitor:
        code = woken.gr_frame.f_code
        monitor.switch_on()
        monitoring.set_local_events(4, code, monitoring.events.PY_RETURN)
        monitoring.set_local_events(4, code, 0)
        sleeps.switch()
        first = monitor.of("parked_here")
        woken.switch()
        second = monitor.of("parked_here")
    # THEN that one tells of its return, the other one does not
    assert (first, second) == ([], ["PY_RETURN"])


@with_monitoring
def test_a_parked_frame_goes_on_delivering_after_events_are_off() -> None:
    # GIVEN a greenlet that is parked when events are switched off
    with Monitor("PY_START", "PY_RETURN") as monitor:
        child = parked_greenlet()
        monitoring.set_events(4, 0)
        child.switch()
        # THEN it tells of its return all the same: callbacks have to be taken away, too
        assert monitor.of("parked_here") == ["PY_START", "PY_RETURN"]


@with_monitoring
def test_which_calls_are_told() -> None:
    # GIVEN calls of all kinds
    class Made:
        def __init__(self) -> None:
            pass

    class Block:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *error: object) -> None:
            pass

    def python() -> None:
        pass

    def unpacked(argument: str) -> None:
        pass

    arguments = ("",)

    def calls() -> None:
        python()
        unpacked(*arguments)
        len("")
        len(*arguments)
        Made()
        with Block():
            pass

    with Monitor("CALL", "C_RETURN") as monitor:
        calls()
    # THEN Python functions have no C_RETURN, C functions and classes do
    assert monitor.of("python") == ["CALL"]
    assert monitor.of("Made") == ["CALL", "C_RETURN"]
    assert monitor.of("len") == ["CALL", "C_RETURN"] * 2
    # AND a call of a Python function with unpacked arguments is told since 3.13 only
    assert monitor.of("unpacked") == (["CALL"] if sys.version_info >= (3, 13) else [])
    # AND `with` tells of entering since 3.14 only
    assert monitor.of("__enter__") == (["CALL"] if sys.version_info >= (3, 14) else [])
    # AND of leaving it always, with a C_RETURN of a function that is none up to 3.13
    assert monitor.of("__exit__")[0] == "CALL"


@with_monitoring
def test_a_throw_through_a_chain_of_generators_is_told_of_the_innermost_only() -> None:
    # GIVEN a generator that waits for another one
    def inner() -> Iterator[int]:
        try:
            yield 1
        except ValueError:
            yield 2

    def outer() -> Iterator[int]:
        yield from inner()

    generator = outer()
    next(generator)
    with Monitor("PY_THROW", "PY_YIELD") as monitor:
        assert generator.throw(ValueError) == 2  # type: ignore[attr-defined]
    # THEN the outer one has no events, though it is on the stack
    assert monitor.events == [("PY_THROW", "inner"), ("PY_YIELD", "inner")]


@with_monitoring
def test_ids_that_other_tools_use() -> None:
    # THEN the ones that are tried first are nobody's by convention
    assert {monitoring.DEBUGGER_ID, monitoring.COVERAGE_ID, monitoring.PROFILER_ID} == {0, 1, 2}
    assert monitoring.OPTIMIZER_ID == 5


@with_monitoring
def test_asyncio_says_in_a_callback_which_task_runs() -> None:
    import asyncio

    # GIVEN a callback that asks for the current task
    seen: list[tuple[str, str]] = []

    def started(code: types.CodeType, offset: int) -> None:
        if code.co_name in ("one", "two"):
            task = asyncio.current_task()
            seen.append((code.co_name, task.get_name() if task else ""))

    async def one() -> None:
        await asyncio.sleep(0)

    async def two() -> None:
        await asyncio.create_task(one(), name="ONE")

    async def main() -> None:
        await asyncio.create_task(two(), name="TWO")

    monitoring.use_tool_id(4, "test_facts")
    bits = [monitoring.events.PY_START, monitoring.events.PY_RESUME]
    for bit in bits:
        monitoring.register_callback(4, bit, started)
    monitoring.set_events(4, sum(bits))
    asyncio.run(main())
    monitoring.set_events(4, 0)
    for bit in bits:
        monitoring.register_callback(4, bit, None)
    monitoring.free_tool_id(4)
    # THEN it is right at the start of a coroutine and when it goes on
    assert seen == [("two", "TWO"), ("one", "ONE"), ("one", "ONE"), ("two", "TWO")]


# ------------------------------------------------------------------------------------------------------------ the rest


@pytest.mark.skipif(HAVE_MONITORING, reason="from 3.12 on sys.monitoring is used")
def test_a_thread_of_the_low_level_module_is_not_reached_by_setprofile() -> None:
    import _thread

    # GIVEN a profile function for this thread and all later ones
    seen: list[str] = []
    done = threading.Event()

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        seen.append(frame.f_code.co_name)

    def low_level() -> None:
        done.set()

    threading.setprofile(profile)
    sys.setprofile(profile)
    _thread.start_new_thread(low_level, ())
    done.wait(10)
    sys.setprofile(None)
    threading.setprofile(None)
    # THEN a raw thread has none
    assert "low_level" not in seen


def test_frozen_objects_are_hidden_from_the_collector() -> None:
    # GIVEN a greenlet, and the heap frozen as pre-fork servers do it
    child = greenlet.greenlet(lambda: None)
    gc.freeze()
    # THEN get_objects() does not have it, so it is not how greenlets are found
    hidden = not any(found is child for found in gc.get_objects())
    gc.unfreeze()
    assert hidden
    assert any(found is child for found in gc.get_objects())


def test_code_objects_are_freed_and_their_addresses_used_again() -> None:
    # GIVEN functions that are made and dropped
    addresses = set()
    for _ in range(1000):
        scope: dict[str, Any] = {}
        exec("def fresh(): return None", scope)
        addresses.add(id(scope["fresh"].__code__))
    # THEN an address alone says nothing
    assert len(addresses) < 1000
