"""What is measured: each profiler, and the empty receivers that show what an event costs at all.

To add one, write a class derived from `Tool` and name it in `all_tools()` and in the workloads that it is for.
"""

from __future__ import annotations

import cProfile
import importlib
import os
import sys
from abc import ABC, abstractmethod
from types import CodeType, ModuleType
from typing import Any

from floor import build

REQUIREMENTS = "python -m pip install -r tests/bench/requirements.txt"


class ToolError(Exception):
    """A tool that is installed does not work as it should; measuring it would give a false figure."""


class UnsupportedError(Exception):
    """A tool refuses to work on this machine, in its own words."""


class Tool(ABC):
    """Something that can be switched on and off in a process, again and again.

    name: the key in JSON and in a workload's list. title: the table's words for it.
    process: tools with the same one share a measuring process. Its name means nothing.
    """

    name: str
    title: str
    process = "shared"

    def missing(self) -> str:
        """What keeps it from running here and how to mend that; "" when nothing."""
        return ""

    @abstractmethod
    def start(self) -> None:
        """Switches it on. Raises UnsupportedError, or ToolError when its hooks are not in place after that."""

    @abstractmethod
    def stop(self) -> None:
        """Switches it off and keeps what it recorded until `reset`."""

    def reset(self) -> None:
        """Forgets what it recorded, so that no round pays for the one before."""
        return

    def calls_of(self, code: CodeType) -> int | None:
        """How many calls of `code` it has recorded so far, while it is off; None for a tool that records nothing."""
        return None


_CALL_EVENTS = ("PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND")
# The last two come with CALL and cannot be asked for alone.
_C_EVENTS = ("CALL", "C_RETURN", "C_RAISE")


class Floor(Tool):
    """Empty callbacks on the events that flamelet needs; with C functions those of their calls, too."""

    def __init__(self, extension: Extension, *, with_builtins: bool = False) -> None:
        self.name = "floor-builtins" if with_builtins else "floor"
        self.title = f"empty callbacks{', C functions too' if with_builtins else ''} (the floor)"
        self._extension = extension
        self._events = (*_CALL_EVENTS, *_C_EVENTS) if with_builtins else _CALL_EVENTS

    def missing(self) -> str:
        return self._extension.missing()

    if sys.version_info >= (3, 12):
        # flamelet takes 4, 3, then 5; 0 to 2 belong to debuggers, coverage and cProfile.
        _TOOL_ID = 4

        def start(self) -> None:
            monitoring = sys.monitoring
            monitoring.use_tool_id(self._TOOL_ID, "flamelet-bench-floor")
            event_set = 0
            for name in self._events:
                event: int = getattr(monitoring.events, name)
                monitoring.register_callback(self._TOOL_ID, event, self._extension.module.Callback())
                event_set |= 0 if name.startswith("C_") else event
            monitoring.set_events(self._TOOL_ID, event_set)
            if monitoring.get_events(self._TOOL_ID) != event_set:
                raise ToolError("sys.monitoring did not take the floor's events")

        def stop(self) -> None:
            monitoring = sys.monitoring
            monitoring.set_events(self._TOOL_ID, 0)
            for name in self._events:
                monitoring.register_callback(self._TOOL_ID, getattr(monitoring.events, name), None)
            monitoring.free_tool_id(self._TOOL_ID)

    else:

        def start(self) -> None:
            self._extension.module.set_profile()
            if sys.getprofile() is not self._extension.module:
                raise ToolError("the interpreter did not take the floor's profile function")

        def stop(self) -> None:
            self._extension.module.clear_profile()


class Tracer(Tool):
    """An empty C callable as greenlet's tracer, and no other hook."""

    name = "tracer"
    title = "empty C tracer (the floor)"

    def __init__(self, extension: Extension) -> None:
        self._extension = extension

    def missing(self) -> str:
        return self._extension.missing() or _missing_package("greenlet")

    def start(self) -> None:
        greenlet = importlib.import_module("greenlet")
        tracer = self._extension.module.Callback()
        greenlet.settrace(tracer)
        if greenlet.gettrace() is not tracer:
            raise ToolError("greenlet did not take the empty tracer")

    def stop(self) -> None:
        importlib.import_module("greenlet").settrace(None)


class Flamelet(Tool):
    """flamelet as `flamelet run` has it, less the server: every call, exact.

    clock: "rseq" or "short", the way in which it knows the thread's CPU time. It is chosen once for the life of a
    process, so each way has a process of its own.
    """

    _CLOCK_VARIABLE = "FLAMELET_CPU_CLOCK"

    def __init__(self, clock: str, *, builtins: bool = False) -> None:
        self.name = f"flamelet-builtins-{clock}" if builtins else f"flamelet-{clock}"
        self.title = f"flamelet ({clock})"
        self._builtins = builtins
        self.process = self.name
        self._clock = clock
        self._started = False

    def missing(self) -> str:
        try:
            importlib.import_module("flamelet")
        except ImportError as error:
            return f"flamelet can't be imported ({error}): python -m pip install . in the checkout"
        return ""

    def start(self) -> None:
        flamelet = importlib.import_module("flamelet")
        os.environ[self._CLOCK_VARIABLE] = self._clock
        try:
            flamelet.start(serve=False, builtins=self._builtins)
        except flamelet.FlameletError as error:  # the clock that we force may not exist here
            raise UnsupportedError(str(error)) from error
        finally:
            del os.environ[self._CLOCK_VARIABLE]
        self._started = True

    def stop(self) -> None:
        importlib.import_module("flamelet").stop()

    def calls_of(self, code: CodeType) -> int | None:
        if not self._started:
            return 0
        snapshot = importlib.import_module("flamelet").snapshot()
        if snapshot.clock.partition("+")[2] != self._clock:  # "tsc+rseq": the wall counter, then the CPU clock
            raise ToolError(f"flamelet runs with the clock {snapshot.clock}, not with {self._clock}")
        rows = [row for row in snapshot.functions if (row.file, row.line) == (code.co_filename, code.co_firstlineno)]
        return sum(int(row.calls) for row in rows)


class CProfile(Tool):
    """The standard library's profiler, as `python -m cProfile` has it."""

    name = "cprofile"
    title = "cProfile"

    def __init__(self) -> None:
        self._profile = cProfile.Profile()

    def start(self) -> None:
        self._profile = cProfile.Profile()
        self._profile.enable()

    def stop(self) -> None:
        self._profile.disable()

    def reset(self) -> None:
        self._profile = cProfile.Profile()

    def calls_of(self, code: CodeType) -> int | None:
        return sum(int(entry.callcount) for entry in self._profile.getstats() if entry.code is code)


class Yappi(Tool):
    """yappi, by default with the context backend that a greenlet program needs.

    clock: "wall" or "cpu". backend: "greenlet" or "native_thread".
    """

    def __init__(self, name: str, title: str, clock: str, backend: str = "greenlet", *, builtins: bool = False) -> None:
        self.name = name
        self.title = title
        self._clock = clock
        self._backend = backend
        self._builtins = builtins

    def missing(self) -> str:
        # Its greenlet backend imports greenlet.
        return _missing_package("yappi") or (_missing_package("greenlet") if self._backend == "greenlet" else "")

    def start(self) -> None:
        yappi = importlib.import_module("yappi")
        # Clock and backend can be set only while there are no stats.
        yappi.clear_stats()
        yappi.set_context_backend(self._backend)
        yappi.set_clock_type(self._clock)
        yappi.start(builtins=self._builtins)

    def stop(self) -> None:
        importlib.import_module("yappi").stop()

    def reset(self) -> None:
        importlib.import_module("yappi").clear_stats()

    def calls_of(self, code: CodeType) -> int | None:
        stats = importlib.import_module("yappi").get_func_stats()
        place = (code.co_filename, code.co_firstlineno)
        return sum(int(stat.ncall) for stat in stats if (stat.module, stat.lineno) == place)


class Extension:
    """The floor's C module: built once, at the first question."""

    def __init__(self) -> None:
        self._module: ModuleType | None = None
        self._complaint = ""

    def missing(self) -> str:
        if self._module is None and not self._complaint:
            try:
                self._module = build.load()
            except build.BuildError as error:
                self._complaint = f"the floor extension can't be built: {error}"
        return self._complaint

    @property
    def module(self) -> Any:
        """Only where missing() gave ""."""
        assert self._module is not None, "missing() was not asked before"
        return self._module


def _missing_package(package: str) -> str:
    try:
        importlib.import_module(package)
    except ImportError as error:
        return f"{package} can't be imported ({error}): {REQUIREMENTS}"
    return ""


def all_tools() -> tuple[Tool, ...]:
    """Every tool that a workload may name. Building the floor is left until somebody asks for it."""
    extension = Extension()
    return (
        Floor(extension),
        Floor(extension, with_builtins=True),
        Tracer(extension),
        *(Flamelet(clock, builtins=builtins) for clock in ("rseq", "short") for builtins in (False, True)),
        CProfile(),
        Yappi("yappi-wall", "yappi, wall", "wall"),
        Yappi("yappi-cpu", "yappi, cpu", "cpu"),
        Yappi("yappi-wall-builtins", "yappi, wall", "wall", builtins=True),
        Yappi("yappi-wall-native", "yappi, wall, native threads", "wall", "native_thread"),
        Yappi("yappi-cpu-native", "yappi, cpu, native threads", "cpu", "native_thread"),
    )
