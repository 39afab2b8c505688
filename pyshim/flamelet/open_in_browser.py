"""Opens a file of ours in a browser and removes it: a program of its own, started by browser.py. Exit code 1: there is
no browser here."""

import contextlib
import os
import sys
import time
import webbrowser
from pathlib import Path

_READ_BY_THEN = 20  # seconds


def main(path: str) -> int:
    # Without a terminal there is none for a text browser to take over.
    os.environ.pop("TERM", None)
    try:
        webbrowser.get()
    except webbrowser.Error:
        os.unlink(path)
        return 1
    if os.fork() != 0:
        return 0
    # Some browsers do not come back before they are closed: nobody waits for that.
    os.setsid()
    webbrowser.open(Path(path).as_uri())
    time.sleep(_READ_BY_THEN)
    with contextlib.suppress(OSError):
        os.unlink(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
