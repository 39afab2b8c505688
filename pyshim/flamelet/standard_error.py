"""What flamelet has to say goes to standard error, where that is possible, and nowhere else."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress

_PATIENCE = 10  # seconds for a reader that does not read


class StandardError:
    """The file to which the program's standard error goes, as it was before the program ran.

    Not `sys.stderr`: that is the program's, to replace or to close, and what it could not write would change the
    program's exit code. And not whatever file has its number in the end. number: of the file, -1 where there is none.
    """

    def __init__(self) -> None:
        self.number, self._identity, self._encoding = -1, (-1, -1), "ascii"
        with suppress(AttributeError, OSError, ValueError):
            self.number, self._encoding = sys.stderr.fileno(), sys.stderr.encoding
            self._identity = self._identify()

    def _identify(self) -> tuple[int, int]:
        status = os.fstat(self.number)
        return status.st_dev, status.st_ino

    def write(self, text: str) -> None:
        """Write all of it, or nothing where there is no such file any more."""
        with suppress(AttributeError, OSError, ValueError):
            # What the program has written comes first.
            sys.stderr.flush()
        with suppress(OSError):
            if self._identity != self._identify():
                return
            data = text.encode(self._encoding, "backslashreplace")
            while data:
                with suppress(BlockingIOError):
                    data = data[os.write(self.number, data) :]
                    continue
                if not select.select([], [self.number], [], _PATIENCE)[1]:
                    return


def say(text: str) -> None:
    """A line on standard error, now."""
    StandardError().write(f"flamelet: {text}\n")
