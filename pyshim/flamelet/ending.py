"""What `flamelet run` does when the program has ended: the recording, or else the summary."""

from __future__ import annotations

import atexit
import os
import select
import sys
from contextlib import suppress

from . import _ext, recording, report, session, snapshots
from .errors import RecordingError
from .launcher import Program

# All of this runs when the program, whatever it did to its modules, is over: everything is imported by now.


class StandardError:
    """The file to which the program's standard error goes, as it was before the program ran.

    Not `sys.stderr`: that is the program's, to replace or to close, and what it could not write would change the
    program's exit code. And not whatever file has its number in the end.
    """

    def __init__(self) -> None:
        self._number, self._identity, self._encoding = -1, (-1, -1), "ascii"
        with suppress(AttributeError, OSError, ValueError):
            self._number, self._encoding = sys.stderr.fileno(), sys.stderr.encoding
            self._identity = self._identify()

    def _identify(self) -> tuple[int, int]:
        status = os.fstat(self._number)
        return status.st_dev, status.st_ino

    def width(self) -> int:
        """Columns of the terminal, or of what takes its place."""
        return report.terminal_width(self._number)

    def write(self, text: str) -> None:
        """Write all of it, or nothing where there is no such file any more."""
        with suppress(OSError, ValueError):
            # What the program has written comes first.
            sys.stderr.flush()
        with suppress(OSError):
            if self._identity != self._identify():
                return
            data = text.encode(self._encoding, "backslashreplace")
            while data:
                with suppress(BlockingIOError):
                    data = data[os.write(self._number, data) :]
                    continue
                if not select.select([], [self._number], [], _PATIENCE)[1]:
                    return


_PATIENCE = 10  # seconds for a reader that does not read


def at_the_end(program: Program, file: recording.RecordingFile | None) -> None:
    """Call before the program registers exit handlers of its own: they run before ours, and are in the picture."""
    atexit.register(_finish, program, file, StandardError(), os.getpid())


def _finish(program: Program, file: recording.RecordingFile | None, err: StandardError, pid: int) -> None:
    # A forked child runs the exit handlers of its parent too.
    if os.getpid() != pid:
        return
    try:
        _ext.end()
        lines = session.recording_lines(session.encodable(str(program)))
        if file is None or not _write(file, lines, err):
            snapshot = snapshots.make_snapshot(recording.read_lines(lines))
            err.write("\n".join(report.summary(snapshot, err.width())) + "\n")
    except KeyboardInterrupt:
        err.write(f"flamelet: interrupted: no {'summary' if file is None else 'recording'}\n")
    except Exception as error:
        # The program's own end must not change, whatever happens here.
        err.write(f"flamelet: no summary could be made: {type(error).__name__}: {error}\n")


def _write(file: recording.RecordingFile, lines: bytes, err: StandardError) -> bool:
    """Whether the recording was written; if not, why."""
    try:
        file.write(lines)
    except RecordingError as error:
        err.write(f"flamelet: {error}; this is the summary of what it would have held\n")
        return False
    err.write(f"flamelet: recorded in {file.name} (flamelet report {file.name})\n")
    return True
