"""What `flamelet run` does when the program has ended: the recording, or else the summary."""

from __future__ import annotations

import atexit
import os

from . import _ext, following, recording, report, session, snapshots
from .errors import RecordingError
from .launcher import Program
from .standard_error import StandardError

# All of this runs when the program, whatever it did to its modules, is over: everything is imported by now.


def at_the_end(program: Program, file: recording.RecordingFile | None) -> None:
    """Call before the program registers exit handlers of its own: they run before ours, and are in the picture."""
    atexit.register(_finish, program, file, StandardError(), os.getpid())
    if file is not None:
        file.begin(session.encodable(str(program)))


def _finish(program: Program, file: recording.RecordingFile | None, err: StandardError, pid: int) -> None:
    # A forked child runs the exit handlers of its parent too.
    is_child = os.getpid() != pid
    try:
        if is_child:
            following.finish_child(session.encodable(str(program)))
            return
        _ext.end()
        _ext.end_record()  # had it to give up, what is written now is told where it can't be
        lines = session.recording_lines(session.encodable(str(program)))
        if file is None or not _write(file, lines, err):
            snapshot = snapshots.make_snapshot(recording.read_lines(lines))
            err.write("\n".join(report.summary(snapshot, report.terminal_width(err.number))) + "\n")
        for line in following.about_children(file):
            err.write(f"flamelet: {line}\n")
    except KeyboardInterrupt:
        if is_child:
            return
        err.write(f"flamelet: interrupted: no {'summary' if file is None else 'recording'}\n")
    except Exception as error:
        # The program's own end must not change, whatever happens here.
        if is_child:
            return
        err.write(f"flamelet: no summary could be made: {type(error).__name__}: {error}\n")


def _write(file: recording.RecordingFile, lines: bytes, err: StandardError) -> bool:
    """Whether the recording was written; if not, why."""
    try:
        file.write(lines)
    except RecordingError as error:
        begun = f" ({file.name} holds what was written before)" if file.has_begun() else ""
        err.write(f"flamelet: {error}; this is the summary of what it would have held{begun}\n")
        return False
    err.write(f"flamelet: recorded in {file.name} (flamelet report {file.name})\n")
    return True
