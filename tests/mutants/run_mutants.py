"""Alters statements of core, server and extension, one at a time, and counts how many alterations make a test fail.

Run by `scripts/test mutants`; README.md tells how. Exit codes: 0, 1 when fewer than 85% are killed or equivalent.toml
names what is no longer there, 2 when nothing could be run.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from processes import BrokenOff, broken_off
from reach import Counting, Reach
from statements import Mutant, all_mutants, draw, of_file
from tally import Equivalent, Results, Row, is_still_there, read_equivalents
from trial import Experience, Trial
from workspace import BuildFailed, Python, Workspace

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """root: the checkout; what is made goes below its `build`."""
    options = _parse(arguments)
    build = root / "build" / "mutants"
    results = _begin(options, root / "build" / "results" / "mutants.json")
    equivalents = read_equivalents(root / "tests" / "mutants" / "equivalent.toml")
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    tell(f"seed {results.seed}")
    pythons = [Python.at(path) for path in options.python]
    try:
        reach = Counting(root, build / "reach", pythons[0], tell).reach()
        _go_on(root, options, results, equivalents, reach, pythons)
    except (KeyboardInterrupt, BrokenOff):
        tell("broken off; --resume goes on")
        return 130
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 2
    gone = [entry for entry in equivalents if not is_still_there(entry, root)]
    told = results.told()
    told = "".join(f"in equivalent.toml, but no longer there: {entry.file}: {entry.what}\n" for entry in gone) + told
    (build / "summary.txt").write_text(told + "\n")
    print(told)
    return 0 if results.is_good and not gone else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_mutants.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", action="append", type=Path, required=True, metavar="PATH", help="newest first")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="mutants (default 200)")
    parser.add_argument("--seed", type=int, metavar="S", help="draw the same mutants again (default: others each time)")
    parser.add_argument("--only", action="append", default=[], metavar="FILE", help="of this file alone; repeatable")
    parser.add_argument(
        "--patience",
        type=float,
        default=float("inf"),
        metavar="S",
        help="leave out Python tests after S seconds of them",
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants at a time (default 2)")
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with the last run, by its seed")
    again.add_argument("--survivors", action="store_true", help="try the last run's survivors again")
    return parser.parse_args(arguments)


def _begin(options: argparse.Namespace, file: Path) -> Results:
    if options.resume or options.survivors:
        try:
            return Results.read(file)
        except FileNotFoundError:
            tell("there is no last run: a new one begins")
    return Results(file, random.randrange(1_000_000) if options.seed is None else options.seed)


def _go_on(
    root: Path,
    options: argparse.Namespace,
    results: Results,
    equivalents: Sequence[Equivalent],
    reach: Reach,
    pythons: Sequence[Python],
) -> None:
    """Tries mutants until there are as many as wanted. Raises BuildFailed, BrokenOff."""

    def real(mutants: Iterable[Mutant]) -> list[Mutant]:
        return [mutant for mutant in mutants if not any(entry.is_of(mutant) for entry in equivalents)]

    # Whatever has become of the sources since the last run: by their text, not by their place in the draw.
    known = real(mutant for file in {row.file for row in results.rows} for mutant in all_mutants(root, file))
    results.rows = [row for row in results.rows if row.key in {mutant.key for mutant in known}]
    results.write()
    if options.survivors:
        survived = {row.key for row in results.survivors}
        again = of_file([mutant for mutant in known if mutant.key in survived], options.only)
        queue = Queue(again, len(again))
    else:
        tried = {row.key for row in results.rows}
        drawn = of_file(real(draw(root, results.seed)), options.only)
        queue = Queue([mutant for mutant in drawn if mutant.key not in tried], options.count - len(tried))
    experience = Experience()

    def work(number: int) -> None:
        workspace = Workspace(root, root / "build" / "mutants" / f"worker-{number}", pythons)
        tell(f"worker {number}: building")
        workspace.prepare()
        trial = Trial(workspace, reach, experience, options.patience)
        for mutant in queue.mutants():
            _try(mutant, workspace, trial, queue, results)

    jobs = max(options.jobs, 1)
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, number) for number in range(jobs)]
        try:
            while not all(future.done() for future in futures):
                time.sleep(0.2)
                if any(future.done() and future.exception() for future in futures):
                    broken_off.set()
        except BaseException:
            broken_off.set()
            raise
    failures = [failure for future in futures if (failure := future.exception()) is not None]
    for failure in sorted(failures, key=lambda failure: isinstance(failure, BrokenOff)):
        raise failure
    for name in experience.unsound():
        tell(f"not counted, as it fails without a mutant: {name}")


def _try(mutant: Mutant, workspace: Workspace, trial: Trial, queue: Queue, results: Results) -> None:
    began = time.monotonic()
    try:
        python = workspace.put(mutant)
        if python is None:
            queue.give_back()
            return
        row = Row.of(mutant, trial.judge(mutant, python), time.monotonic() - began)
    finally:
        workspace.take_away(mutant)
    with _telling:
        results.add(row)
    tell(f"{len(results.rows)} ({results.share:.0%}): {row.line_of_it()}")


class Queue:
    """Gives mutants out until as many as wanted have been tried. Used by several threads."""

    def __init__(self, mutants: Sequence[Mutant], wanted: int) -> None:
        self._mutants = iter(mutants)
        self._wanted = wanted
        self._lock = threading.Lock()

    def mutants(self) -> Iterator[Mutant]:
        while True:
            with self._lock:
                mutant = next(self._mutants, None) if self._wanted > 0 else None
                self._wanted -= 1
            if mutant is None:
                return
            yield mutant

    def give_back(self) -> None:
        """The last one was none: another is to be drawn."""
        with self._lock:
            self._wanted += 1


_telling = threading.Lock()


def tell(text: str) -> None:
    with _telling:
        print(" ".join(text.split()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
