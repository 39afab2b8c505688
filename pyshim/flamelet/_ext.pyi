"""The C extension: hooks, core and server. Private; flamelet's Python modules are its only callers.

All functions need the GIL and are called from any thread. Errors that a user can cause are ``RuntimeError`` or
``OSError`` with a message that names the mend.
"""

from collections.abc import Callable, Sequence

def start(
    *,
    builtins: bool = False,
    threshold_ns: int = 0,
    node_bytes: int = 0,
    clock: str = "auto",
    cpu_clock: str = "auto",
    seed: bool = True,
    task_trees: str = "long",
) -> None:
    """Switch events on. The first call makes the session of this process; later ones go on with it (the options of the
    session, all but ``builtins``, are then ignored). No-op while running.

    builtins: C functions too. threshold_ns, node_bytes: 0 is the default (100 ms; 46 MiB, 64 with what finds the
    nodes). clock: "auto", "tsc" or "monotonic". cpu_clock: "auto", "rseq" or "short". seed: frames that are on the
    stacks already show at their place (False for the launcher, whose own frames are below the program's). task_trees:
    "long", "watched" or "all": which tasks have a call tree of their own.
    RuntimeError: a forced clock does not exist here; another profiler took every monitoring tool id.
    """

def set_filters(include: Sequence[str], exclude: Sequence[str], stdlib: Sequence[str], /) -> None:
    """Which Python code is shown from here on (filters.h). stdlib: the folders whose code is hidden. While running,
    profiling is off for a moment, and the frames that are on the stacks are told anew. RuntimeError: see start()."""

def stop() -> None:
    """Switch events off and let trace time stand still. No-op when not running."""

def end() -> None:
    """The program has ended: stop, and tell clients so. Nothing can be started after it."""

def is_running() -> bool: ...

class Label:
    def __enter__(self) -> Label: ...
    def __exit__(self, *unused: object) -> None: ...

def label(name: str | None, /) -> Label:
    """The current task has this label from here on; None takes it away. TypeError for anything else."""

def recording(program: str, python: str, version: str) -> bytes:
    """The whole picture as the lines of a recording (protocol.md), UTF-8, not compressed. RuntimeError before the first
    start."""

def record(path: str, temporary: str, program: str, python: str, version: str) -> None:
    """Let a native thread write a recording that grows while the program runs: first under the temporary name, which
    must not exist yet, and from its first picture on under the other one. RuntimeError before the first start."""

def end_record() -> int:
    """End that, if it was begun. The errno for which it could not go on, or 0. What was written stays."""

def serve(port: int, program: str, python: str, version: str, runtime: str) -> tuple[int, str]:
    """Start the server's thread on 127.0.0.1; 0 takes a free port. Returns (port, token). runtime: the folder in which
    others find this process (server/discovery.h), made where it is missing. OSError with errno EADDRINUSE when the port
    is in use; RuntimeError when it serves already or nothing was started yet."""

def unserve() -> None:
    """Tell clients that the program has ended, close, join the server's thread (at most about a second)."""

def serving() -> tuple[int, str] | None:
    """(port, token) while this process serves; a followed child that is to serve later does not yet."""

def follow(
    *,
    program: str,
    python: str,
    version: str,
    prefix: str | None,
    runtime: str,
    serve: bool,
    always: bool,
    after_child: Callable[[object], object],
) -> None:
    """See that children that come from forks are followed (following.h). prefix: their recordings are
    ``PREFIX.PID.flamelet``; None for none. serve: with a server on a free port. always: a child that ends within a
    second has a recording too. after_child: what multiprocessing calls, with itself, in each child of its own."""

def before_fork() -> None:
    """End our threads for the moment of a fork: CPython warns of forks in a process of several threads."""

def after_fork_in_parent() -> None: ...
def after_fork_in_child() -> None: ...
def followed_recording() -> str | None:
    """Where this process, a followed child, is to write its recording at its end; empty where it has none, or too short
    a life. None in every other process."""

def followed_is_recorded() -> None:
    """This process, a followed child, has a recording now."""

def followed_children() -> list[tuple[int, bool, bool]]:
    """All followed processes that came from this one: (pid, has served, has a recording), in the order in which they
    began."""

def clocks() -> tuple[str, str, int]:
    """(wall counter, cpu clock, ns that one reading costs)."""

def debug_hold(seconds: float) -> None:
    """Burn CPU in C with the GIL held: for tests that show that the server goes on answering. 0 to 60 s."""

def debug_gil(tid: int, looks: int) -> list[tuple[int, str]]:
    """What a thread that does not hold the GIL sees of it, for tests: one row per look, 1 ms apart. Each is the native
    id of the thread that holds it (0: none, or unknown), and whether thread ``tid`` waits for it: "yes", "no" or
    "unknown". looks: 0 to 1000."""
