"""One run at a time in a checkout: two would build into each other's folders."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from devtools.checkout import BUILD


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Waits for other runs, in other processes, and keeps them out."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another run in this checkout", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
