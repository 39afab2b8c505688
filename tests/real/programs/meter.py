"""What pieces of a program take, by clocks that the program reads itself."""

import json
import os
from time import monotonic, thread_time

# Seconds by the name of a piece, summed over all its calls.
truth = {}


def _clocks():
    """Wall and CPU time of one moment: read again where the thread lost its processor in between."""
    while True:
        before = monotonic()
        cpu = thread_time()
        if monotonic() - before < 50e-6:
            return before, cpu


def _delay():
    """Seconds that this thread has been ready to run, yet had no processor, as the scheduler says."""
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]) / 1e9


class Meter:
    """Of one call: out() before its task gives the thread to others, back() after it, end() before it returns."""

    def __init__(self):
        self.cpu = self.blocked = self.waited = 0.0
        self.back()
        self._delay = _delay()

    def back(self):
        self._since = _clocks()

    def out(self):
        wall, cpu = _clocks()
        self.cpu += cpu - self._since[1]
        self.blocked += wall - self._since[0] - (cpu - self._since[1])
        self._left = wall

    def returned(self):
        """As back(), after a time that counts as waited."""
        self.back()
        self.waited += self._since[0] - self._left

    def end(self, name, answer=None):
        """The answer, for who wants to return it."""
        sums = truth.setdefault(name, {"calls": 0, "cpu": 0.0, "blocked": 0.0, "waited": 0.0, "delay": 0.0})
        sums["calls"] += 1
        sums["delay"] += _delay() - self._delay
        self.out()
        for kind in ("cpu", "blocked", "waited"):
            sums[kind] += getattr(self, kind)
        return answer


def burn(seconds):
    """On the processor until the thread's CPU clock has advanced by so much."""
    end = thread_time() + seconds
    while thread_time() < end:
        pass


def burns(answer):
    meter = Meter()
    burn(0.02)
    return meter.end("burns", answer)


def blocks(answer, nap):
    """nap: a sleep that holds the hub."""
    meter = Meter()
    nap(0.015)
    return meter.end("blocks", answer)


def waits(answer, sleep):
    """sleep: one that lets the hub run."""
    meter = Meter()
    meter.out()
    sleep(0.03)
    meter.returned()
    return meter.end("waits", answer)


def mixes(answer, nap, sleep):
    meter = Meter()
    for turn in range(2):
        burn(0.01)
        nap(0.005 * (turn + 1))
        meter.out()
        sleep(0.01)
        meter.returned()
    return meter.end("mixes", answer)


def save(**more):
    """Leaves what was measured for the test: once, at the end of a process."""
    file = os.path.join(os.environ["REAL_OUTPUT"], f"truth-{os.getpid()}.json")
    with open(file, "w") as out:
        json.dump({"truth": truth, **more}, out)
