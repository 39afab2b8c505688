"""Options, what is printed, and the wait for the end: Ctrl-C, SIGTERM or `--seconds`."""

import argparse
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence

import gevent
from gevent.event import Event

from application import STEPS
from hub_watch import HubWatch
from lifecycle import CannotListen, Shop
from load import MAX_RATE, MAX_SECONDS
from mistake import Mistake, draw


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="shop.py",
        description="A web shop on gevent. One of its routes blocks the hub by mistake; which one, and how, is drawn.",
    )
    parser.add_argument("--seed", type=int, help="draws the mistake; without it a seed is drawn, and printed")
    parser.add_argument("--seconds", type=_seconds, default=0.0, help="end after this time; 0 (default): at Ctrl-C")
    parser.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 (default): any free one")
    parser.add_argument("--rate", type=_rate, default=25.0, help="the load's requests per second (default 25; 0: none)")
    parser.add_argument("--verbose", action="store_true", help="measure how long the hub was held, print it at the end")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the shop until it is told to end. Returns the exit code."""
    options = parse(arguments)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    stopped = Event()
    # A watcher of the hub's loop, not signal.signal: its callback runs between two greenlets, never inside one.
    for number in (signal.SIGINT, signal.SIGTERM):
        gevent.signal_handler(number, stopped.set)

    shop = Shop(draw(seed), options.port)
    watch = HubWatch() if options.verbose else None
    try:
        shop.start(watch)
    except CannotListen as error:
        shop.stop()
        print(f"shop: {error}; --port 0 takes any free port", file=sys.stderr)
        return 2
    began, cpu_before = time.monotonic(), _cpu_seconds()
    print(f"shop: http://127.0.0.1:{shop.port}/ seed={seed} (Ctrl-C ends it)", flush=True)
    try:
        shop.start_load(options.rate, options.seconds, seed)
        stopped.wait(timeout=options.seconds or None)
    finally:
        wall, cpu = time.monotonic() - began, _cpu_seconds() - cpu_before
        shop.stop()
    _print_counts(shop)
    if watch is not None:
        print(f"shop: {100 * cpu / wall:.0f}% of a core in {wall:.1f} s")
        watch.print_findings()
    _print_mistake(shop.mistake)
    return 0


def _print_counts(shop: Shop) -> None:
    counts = shop.requests
    by_route = ", ".join(f"{route} {counts[route]}" for route in sorted(counts))
    print(f"shop: {counts.total()} requests: {by_route or 'none'}")
    print(f"shop: {shop.mistake.times} of them went wrong; {shop.failures} got no good answer")


def _print_mistake(mistake: Mistake) -> None:
    code = STEPS[mistake.route].function.__code__
    print(
        f"the mistake was: route={mistake.route} kind={mistake.kind} function={code.co_name}"
        f" file={os.path.abspath(code.co_filename)} line={code.co_firstlineno}",
        flush=True,
    )


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _number(text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{text} is not between {low:g} and {high:g}")
    return number


def _seconds(text: str) -> float:
    return _number(text, 0, MAX_SECONDS)


def _rate(text: str) -> float:
    return _number(text, 0, MAX_RATE)


def _port(text: str) -> int:
    number = _number(text, 0, 65535)
    if number != int(number):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    return int(number)
