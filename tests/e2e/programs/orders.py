"""Orders on gevent, profiled from the middle on, with labels, and a native thread that keeps the GIL for long.

Prints the live view's address on standard error as `flamelet run` does; ends at Ctrl-C, or after five minutes.
"""

import contextlib
import random
import sys
import threading
import time

import gevent

import flamelet

SECONDS = 300


def take_orders() -> None:
    """Runs all the time; profiling is started when it has long begun."""
    session = flamelet.start(serve=True)
    print(f"flamelet: {session.url}", file=sys.stderr, flush=True)
    threading.Thread(target=sort_archive, name="archive", daemon=True).start()
    for kind in ("books", "music"):
        with flamelet.label(kind):
            for _ in range(4):
                gevent.spawn(pack)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        gevent.sleep(0.05)


def pack() -> None:
    while True:
        weigh()
        gevent.sleep(0.001 + random.random() / 100)


def weigh() -> int:
    return sum(len(part(number)) for number in range(1500))


def part(number: int) -> str:
    return str(number)


def sort_archive() -> None:
    """A single long C call, which nobody can interrupt."""
    numbers = [random.random() for _ in range(500_000)]
    while True:
        time.sleep(0.7)
        sorted(numbers)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        take_orders()
