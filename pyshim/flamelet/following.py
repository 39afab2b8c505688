"""The children of a program under `flamelet run`, followed: those that come from a fork.

In a child everything begins in C, at the fork (`ext/following.h`). Here is how it ends, and what its parent says of it.
A program that another one starts anew (`subprocess`, multiprocessing's spawn and forkserver) is not followed: it would
have to be changed for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

from . import _ext, recording, session

MODES = ("auto", "always", "never")
_LISTED = 8


def follow(program: str, file: recording.RecordingFile | None, *, serve: bool, mode: str) -> None:
    """Follow the children of this process from here on, by a recording beside `file`, by a server, or both. mode: of
    MODES; "auto" keeps nothing of children that live for less than a second, "always" does."""
    from . import __version__

    if mode == "never" or (file is None and not serve):
        return
    _ext.follow(
        program=program,
        python=session.python_version(),
        version=__version__,
        prefix=file.prefix if file else None,
        runtime=session.runtime_folder(),
        serve=serve,
        always=mode == "always",
        after_child=_in_children_of_multiprocessing(program),
    )
    session.attend_forks()


def finish_child(program: str) -> None:
    """In a child that was followed: the last words of its recording, and of its server. Says nothing. Any other
    process: no-op."""
    if _ext.followed_recording() is None:
        return
    _ext.end()
    _ext.end_record()
    path = _ext.followed_recording()
    if path:
        recording.write_recording(path, f"{path}.tmp", session.recording_lines(program))
        _ext.followed_is_recorded()
    _ext.unserve()


def about_children(file: recording.RecordingFile | None) -> list[str]:
    """What the parent says at its end: lines without flamelet's prefix."""
    children = _ext.followed_children()
    if file is None:
        count = sum(served for _, served, _ in children)
        what = "a child process is" if count == 1 else f"{count} child processes are"
        return [f"{what} not in this summary; -o FILE records each (FILE.PID.flamelet)"] if count else []
    folder, start = os.path.split(file.name)
    beside = os.path.join(folder, os.path.basename(file.prefix) if start else "")
    done = [f"{beside}.{pid}.flamelet" for pid, _, recorded in children if recorded]
    more = f" and {len(done) - _LISTED} more" if len(done) > _LISTED else ""
    what = "a child process" if len(done) == 1 else f"{len(done)} child processes"
    return [f"recorded {what} in {', '.join(done[:_LISTED])}{more}"] if done else []


def _in_children_of_multiprocessing(program: str) -> Callable[[object], None]:
    """What multiprocessing calls when a child of its own begins: registers what is to be done when it ends, after all
    that the program wants done there."""

    def finish() -> None:
        # What is not caught multiprocessing would print, and the program knows nothing of us.
        with suppress(Exception):
            finish_child(program)

    def register(itself: object) -> None:
        sys.modules["multiprocessing.util"].Finalize(None, finish, exitpriority=-(2**31))

    return register
