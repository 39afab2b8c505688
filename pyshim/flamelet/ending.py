"""What `flamelet run` does when the program has ended: the recording, or else the summary."""

from __future__ import annotations

import atexit
import os
import sys
from typing import IO

from . import _ext, recording, report, session, snapshots
from .errors import RecordingError
from .launcher import Program

# All of this runs when the program, whatever it did to its modules, is over: everything is imported by now.


def at_the_end(program: Program, file: recording.RecordingFile | None) -> None:
    """Call before the program registers exit handlers of its own: they run before ours, and are in the picture."""
    atexit.register(_finish, program, file, os.getpid())


def _finish(program: Program, file: recording.RecordingFile | None, pid: int) -> None:
    # A forked child runs the exit handlers of its parent too.
    if os.getpid() != pid:
        return
    err = sys.__stderr__
    try:
        _ext.end()
        lines = session.recording_lines(session.encodable(str(program)))
        if file is None or not _write(file, lines, err):
            _summarize(lines, err)
    except KeyboardInterrupt:
        _say(err, "interrupted: there is no summary" if file is None else "interrupted: no recording was written")
    except Exception as error:
        # The program's own end must not change, whatever happens here.
        _say(err, f"no summary could be made: {type(error).__name__}: {error}")


def _write(file: recording.RecordingFile, lines: bytes, err: IO[str] | None) -> bool:
    """Whether the recording was written; if not, why."""
    try:
        file.write(lines)
    except RecordingError as error:
        _say(err, f"{error}; this is the summary of what it would have held")
        return False
    _say(err, f"recorded in {file.name} (flamelet report {file.name})")
    return True


def _summarize(lines: bytes, err: IO[str] | None) -> None:
    if err is not None and not err.closed:
        report.print_text(snapshots.make_snapshot(recording.read_lines(lines)), err)


def _say(err: IO[str] | None, text: str) -> None:
    """A line on the program's standard error. There may be none any more."""
    try:
        if err is not None:
            print(f"flamelet: {text}", file=err, flush=True)
    except (OSError, ValueError):
        pass
