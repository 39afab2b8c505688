"""Profiling from within a program: start, stop, profile, snapshot.

A process has one session. It begins with the first `start()`; a later `start()` goes on with it, and what was seen
before stays. Little is imported here, so that importing flamelet takes a few milliseconds: not even typing.
"""

from __future__ import annotations

import atexit
import os
import sys

from . import _ext
from .errors import FlameletError, UsageError
from .filters import set_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import NoReturn

    from .snapshots import Snapshot

TASK_TREES = ("long", "watched", "all")
DEFAULT_THRESHOLD = 0.1
"""Seconds for which a hub may be held before that counts as long."""


class Session:
    """What `start()` gives: where the session can be looked at.

    url: of the live view, with the token that opens it; None where nothing is served.
    """

    __slots__ = ("url",)

    def __init__(self, url: str | None) -> None:
        self.url = url

    def __repr__(self) -> str:
        return f"Session(url={self.url!r})"


def start(
    *,
    serve: bool = False,
    port: int = 0,
    builtins: bool = False,
    threshold: float = DEFAULT_THRESHOLD,
    task_trees: str = "long",
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    stdlib: bool | None = None,
) -> Session:
    """Profile every call and switch of this process from here on. While profiling is on already, nothing changes.

    serve: a live view on 127.0.0.1, until the program ends. port: 0 takes a free one. builtins: functions written in C
    too, at a higher cost. threshold: seconds, above 0 and up to 3600; who holds a hub longer is listed (it belongs to
    the session: only the first start sets it). task_trees: which tasks have a call tree of their own beside that of
    their group: those that live "long" (from about a second on) or are watched, only those that are "watched", or "all"
    (likewise the first start's). include, exclude, stdlib: what `set_filters()` takes; where none is given, the filters
    stay as they are.

    Prints nothing. FlameletError where the port is in use, a setting is wrong, or other tools left no room.
    """
    if not _ext.is_running() and not (include is None and exclude is None and stdlib is None):
        set_filters(include=include or (), exclude=exclude or (), stdlib=stdlib is not False)
    begin(builtins=builtins, threshold=threshold, seed=True, task_trees=task_trees)
    return Session(serve_session(port, program_name()) if serve else _url(_ext.serving()))


def stop() -> None:
    """Stop profiling. What was seen stays, for `snapshot()` and the live view; a later `start()` goes on with it."""
    _ext.stop()


def is_running() -> bool:
    """Whether profiling is on."""
    return _ext.is_running()


class profile:  # noqa: N801 (used as a function: `with flamelet.profile():`)
    """Profiles a block: `with flamelet.profile() as session:`. Takes what `start()` takes.

    Where profiling was on already it stays on after the block.
    """

    def __init__(
        self,
        *,
        serve: bool = False,
        port: int = 0,
        builtins: bool = False,
        threshold: float = DEFAULT_THRESHOLD,
        task_trees: str = "long",
        include: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        stdlib: bool | None = None,
    ) -> None:
        self._start: Callable[[], Session] = lambda: start(
            serve=serve,
            port=port,
            builtins=builtins,
            threshold=threshold,
            task_trees=task_trees,
            include=include,
            exclude=exclude,
            stdlib=stdlib,
        )
        self._was_running = False

    def __enter__(self) -> Session:
        self._was_running = _ext.is_running()
        return self._start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._was_running:
            _ext.stop()


def snapshot() -> Snapshot:
    """Everything that is known up to now, as rows. Profiling goes on meanwhile.

    FlameletError where nothing was profiled yet.
    """
    from .recording import read_lines
    from .snapshots import make_snapshot

    return make_snapshot(read_lines(recording_lines(program_name())))


def recording_lines(program: str) -> bytes:
    """The lines of a recording of the session as it is now, UTF-8, not compressed. FlameletError before the first
    start."""
    from . import __version__

    try:
        return _ext.recording(program, python_version(), __version__)
    except RuntimeError as error:
        raise FlameletError(_text(error)) from None


def begin(*, builtins: bool, threshold: float, seed: bool, task_trees: str = "long") -> None:
    """Switch events on, with the clocks that the environment asks for. seed: frames that are on the stack show too."""
    if not 0 < threshold <= 3600:
        raise UsageError(f"threshold is {threshold!r}; it is a number of seconds above 0 and up to 3600")
    if task_trees not in TASK_TREES:
        raise UsageError(f"task_trees is {task_trees!r}; it can be {', '.join(TASK_TREES[:-1])} or {TASK_TREES[-1]}")
    try:
        _ext.start(
            builtins=builtins,
            threshold_ns=max(1, round(threshold * 1e9)),
            clock=_setting("FLAMELET_CLOCK", ("auto", "tsc", "monotonic")),
            cpu_clock=_setting("FLAMELET_CPU_CLOCK", ("auto", "rseq", "short")),
            seed=seed,
            task_trees=task_trees,
        )
    except RuntimeError as error:
        raise FlameletError(_text(error)) from None
    _end_with_the_program()


def prepare(*, builtins: bool, threshold: float, task_trees: str) -> None:
    """Make the session, with events off again: what is wrong with it shows before a program runs."""
    begin(builtins=builtins, threshold=threshold, seed=False, task_trees=task_trees)
    _ext.stop()


def serve_session(port: int, program: str) -> str:
    """Serve the session, or find that it is served already. Returns the URL. UsageError where the port can't be had."""
    from . import __version__

    if not 0 <= port <= 65535:
        raise UsageError(f"port is {port}; it is a number from 0 (any free one) to 65535")
    url = _url(_ext.serving())
    if url is None:
        try:
            url = _url(_ext.serve(port, program, python_version(), __version__, runtime_folder()))
            attend_forks()
        except OSError as error:
            _refuse_port(port, error)
        except RuntimeError as error:
            # Two threads may have come here at once; the other one's server is as good.
            url = _url(_ext.serving())
            if url is None:
                raise FlameletError(_text(error)) from None
    assert url is not None
    return url


def runtime_folder() -> str:
    """Where the processes of this user that serve are found (protocol.md, "flamelet/processes")."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(base) and os.path.isdir(base):
        return os.path.join(base, "flamelet")
    return f"/tmp/flamelet-{os.getuid()}"


def program_name() -> str:
    """What this process runs, as it was started, in printable text."""
    argv = getattr(sys, "argv", None)
    name = argv[0] if argv else ""
    return encodable(name if isinstance(name, str) and name else "python")


def encodable(name: str) -> str:
    """The name with NUL, and what has no UTF-8, as escapes: a form that C strings can hold."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def python_version() -> str:
    return sys.version.split()[0]


def _url(serving: tuple[int, str] | None) -> str | None:
    """The address of the live view. The token stands in the fragment, which reaches no log and no server."""
    return f"http://127.0.0.1:{serving[0]}/#t={serving[1]}" if serving else None


def _setting(name: str, choices: tuple[str, ...]) -> str:
    value = os.environ.get(name, "") or choices[0]
    if value not in choices:
        raise UsageError(f"{name} is {value!r}; it can be {', '.join(choices[:-1])} or {choices[-1]}")
    return value


def _refuse_port(port: int, error: OSError) -> NoReturn:
    import errno

    if error.errno == errno.EADDRINUSE:
        raise UsageError(f"port {port} is in use: give another one, or none to take any that is free") from None
    raise UsageError(f"port {port} can't be listened on: {error.strerror or error}") from None


def _text(error: Exception) -> str:
    """An error of the extension without the prefix that ours gets anyway."""
    return str(error).removeprefix("flamelet: ")


_attends_forks = False


def attend_forks() -> None:
    """See that no fork of the program meets a thread of ours, and that its children are followed where that is wanted.
    Once: the child of a fork inherits it. In C alone: an exception of a signal handler that came up in our code would
    be lost."""
    global _attends_forks  # noqa: PLW0603 (such a hook cannot be taken back)
    if not _attends_forks:
        _attends_forks = True
        os.register_at_fork(
            before=_ext.before_fork,
            after_in_parent=_ext.after_fork_in_parent,
            after_in_child=_ext.after_fork_in_child,
        )


_ended_by: int | None = None


def _end_with_the_program() -> None:
    """See that the session ends before the interpreter does. Once per process, so again in the child of a fork."""
    global _ended_by  # noqa: PLW0603 (a process has one end)
    if _ended_by != os.getpid():
        _ended_by = os.getpid()
        atexit.register(_end, _ended_by)


def _end(pid: int) -> None:
    # A forked child runs the exit handlers of its parent too: that session is not its own.
    if os.getpid() == pid:
        _ext.end()
        _ext.unserve()
