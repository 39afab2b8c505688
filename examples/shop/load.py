"""The load: a process of its own that plays customers. Standard library only, so that it costs little.

It asks 127.0.0.1 only. It ends after `--seconds`, after the requests that fit into them at `--rate`, and, with
`--end-with-stdin`, when the process at the other end of its standard input has ended.
"""

import argparse
import contextlib
import http.client
import queue
import random
import select
import signal
import sys
import threading
import time

MAX_RATE = 200.0  # requests per second
MAX_SECONDS = 86_400.0
DEFAULT_SECONDS = 3_600.0
CUSTOMERS = 12  # at once, each with one connection
ANSWER_LIMIT = 10.0  # seconds

Request = tuple[str, str, str]  # method, path, body
Errand = list[Request]  # sent one after the other by one customer

WORDS = ("blue", "folding", "lamp", "kettle", "garden", "tools", "quiet", "clock")


def errands(dice: random.Random) -> list[tuple[int, Errand]]:
    """What a customer may do next, each with its weight."""
    product = dice.randint(1, 400)
    add = ("POST", "/cart", f"product={product}")
    return [
        (6, [("GET", f"/products?page={dice.randrange(20)}", "")]),
        (4, [("GET", f"/product/{product}", "")]),
        (4, [("GET", f"/search?q={dice.choice(WORDS)}+{dice.choice(WORDS)}", "")]),
        (2, [add, ("GET", "/cart", "")]),
        (3, [add, ("POST", "/checkout", "")]),
        (4, [("GET", "/report", "")]),
        (2, [("GET", "/stats", "")]),
    ]


class Customers:
    """Threads that run errands. `failed` counts requests without a good answer."""

    def __init__(self, port: int) -> None:
        self.failed = 0
        self._port = port
        # Short: where the shop is too slow, requests are left out, and do not pile up.
        self._errands: queue.Queue[tuple[str, Errand]] = queue.Queue(maxsize=CUSTOMERS)
        for _ in range(CUSTOMERS):
            threading.Thread(target=self._serve, daemon=True).start()

    def send(self, session: str, errand: Errand) -> None:
        with contextlib.suppress(queue.Full):
            self._errands.put_nowait((session, errand))

    def _serve(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_LIMIT)
        while True:
            session, errand = self._errands.get()
            headers = {"Cookie": f"session={session}", "Content-Type": "application/x-www-form-urlencoded"}
            for method, path, body in errand:
                try:
                    connection.request(method, path, body or None, headers)
                    answer = connection.getresponse()
                    answer.read()
                    self.failed += answer.status >= 400
                except (OSError, http.client.HTTPException):
                    connection.close()
                    self.failed += 1


def run(port: int, rate: float, seconds: float, seed: int, end_with_stdin: bool) -> int:
    """Returns the number of failed requests."""
    dice = random.Random(seed)
    customers = Customers(port)
    began = time.monotonic()
    sent = 0
    while sent < rate * seconds and time.monotonic() < began + seconds:
        pause = max(0.0, began + sent / rate - time.monotonic())
        if not _sleep(pause, end_with_stdin):
            break
        weights, choices = zip(*errands(dice), strict=True)
        (errand,) = dice.choices(choices, weights)
        customers.send(f"s{sent}", errand)
        sent += len(errand)
    return customers.failed


def _sleep(pause: float, end_with_stdin: bool) -> bool:
    """False: standard input has ended."""
    if not end_with_stdin:
        time.sleep(pause)
        return True
    readable, _, _ = select.select([sys.stdin], [], [], pause)
    return not readable


def main() -> int:
    parser = argparse.ArgumentParser(description="Plays the customers of a shop on 127.0.0.1.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help=f"requests per second, at most {MAX_RATE:g}")
    parser.add_argument("--seconds", type=float, default=DEFAULT_SECONDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--end-with-stdin", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    if options.end_with_stdin:
        # Ctrl-C in a terminal goes to us too: the shop ends first, and we with it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    rate, seconds = min(options.rate, MAX_RATE), min(options.seconds, MAX_SECONDS)
    try:
        print(run(options.port, rate, seconds, options.seed, options.end_with_stdin))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
