"""Which interpreters flamelet runs on. Written so that Python 3.6 can read it, and say that it is too old."""

import sys

OLDEST = (3, 11)


def complaint(version: "tuple[int, ...]", implementation: str, abiflags: str) -> str:
    """Why such an interpreter cannot be profiled; an empty string where it can.

    version: at least major, minor and micro. abiflags: as in `sys.abiflags`; a free-threaded build has a "t" there.
    """
    if implementation != "cpython":
        return f"flamelet needs CPython; this is {implementation}"
    if tuple(version[:2]) < OLDEST:
        return f"flamelet needs CPython {OLDEST[0]}.{OLDEST[1]} or newer; this is {'.'.join(map(str, version[:3]))}"
    if "t" in abiflags:
        return "flamelet does not support free-threaded builds of CPython yet: use the ordinary build"
    return ""


def check() -> None:
    """ImportError on an interpreter that flamelet does not run on."""
    problem = complaint(tuple(sys.version_info[:3]), sys.implementation.name, getattr(sys, "abiflags", ""))
    if problem:
        # With the name, `python -m flamelet` makes one line of it.
        raise ImportError(problem, name="flamelet")


def explain(error: ImportError) -> None:
    """Another ImportError instead of the interpreter's own, where that does not name the mend."""
    if "subinterpreters" in str(error):
        raise ImportError(
            "flamelet works in the main interpreter only: import it there, not in a subinterpreter", name="flamelet"
        ) from None
