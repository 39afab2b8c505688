"""Generated programs under flamelet: `python tests/generated/run.py --count 2000`. See README.md."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from harness import Case, Session, fresh, source_of  # noqa: E402
from make import make  # noqa: E402
from program import Program, size, smaller  # noqa: E402

BATCH = 200
_LIMIT = 300  # seconds for a batch
TREES = ("long", "watched", "all")


def main() -> int:
    options = _parse()
    if options.worker:
        return _work(options)
    first = options.first if options.first is not None else random.SystemRandom().randrange(1 << 40)
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"{options.count} programs from seed {first} on, Python {python}", flush=True)
    began = time.monotonic()
    failed: list[str] = []
    sums: Counter[str] = Counter()
    for number, seed in enumerate(range(first, first + options.count, BATCH)):
        size_of_batch = min(BATCH, first + options.count - seed)
        settings = _settings(options, number)
        command = [sys.executable, __file__, "--worker", "--first", str(seed), "--count", str(size_of_batch), *settings]
        run = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
        lines = run.stdout.splitlines()
        counts = dict(line.split(" ")[1:] for line in lines if line.startswith("sum "))
        sums.update({name: int(value) for name, value in counts.items()})
        for line in lines:
            if not line.startswith(("sum ", "at ")):
                print(line)
        failed += [line.split()[1] for line in lines if line.startswith("WRONG ")]
        if run.returncode not in (0, 1) or not counts:
            at = [line for line in lines if line.startswith("at ")][-1:] or ["before the first"]
            print(f"DIED {at[0]} of exit code {run.returncode} {' '.join(settings)}\n{run.stderr[-3000:]}")
            failed.append(at[0])
        if len(failed) >= options.failures:
            break
    took = time.monotonic() - began
    what = ", ".join(f"{value} {name}" for name, value in sums.items())
    print(f"{'FAILED: ' + str(len(failed)) if failed else 'ok'}: {what}; {took:.1f} s, Python {python}")
    return 1 if failed else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1, help="how many programs (default 1)")
    parser.add_argument("--first", type=int, metavar="SEED", help="the first one's seed (default: a new one)")
    parser.add_argument("--builtins", choices=("yes", "no"), help="functions written in C too (default: by turns)")
    parser.add_argument("--trees", choices=TREES, help="task_trees (default: by turns)")
    parser.add_argument("--failures", type=int, default=5, help="stop after so many (default 5)")
    parser.add_argument("--keep", action="store_true", help="do not look for a smaller program that fails")
    parser.add_argument("--worker", action="store_true", help="run all in this process")
    return parser.parse_args()


def _settings(options: argparse.Namespace, number: int) -> list[str]:
    builtins = options.builtins or ("no", "yes")[number % 2]
    trees = options.trees or TREES[number // 2 % 3]
    return ["--builtins", builtins, "--trees", trees, *(["--keep"] if options.keep else [])]


def _work(options: argparse.Namespace) -> int:
    import faulthandler

    faulthandler.enable()
    builtins, trees = options.builtins == "yes", options.trees or "long"
    session = Session(builtins=builtins, task_trees=trees)
    cases = session.run([make(seed) for seed in range(options.first, options.first + options.count)])
    ran = [case for case in cases if case.expected]
    calls = sum(sum(case.expected.calls.values()) for case in ran if case.expected)
    tasks = sum(began for case in ran if case.expected for began, _ in case.expected.tasks.values())
    late = 0
    for case in [case for case in ran if case.off and not case.wrong]:
        if session.is_off_again(case):
            case.wrong += case.off
        else:
            late += 1
            print(f"late {case.program.seed}: {case.off[0]}")
    sums = {"programs": len(ran), "too long": len(cases) - len(ran), "calls": calls, "tasks": tasks, "late": late}
    for name, value in sums.items():
        print(f"sum {name.replace(' ', '_')} {value}")
    wrong = [case for case in ran if case.wrong]
    for case in wrong[: options.failures]:
        _report(session, case, options)
    return 1 if wrong else 0


def _report(session: Session, case: Case, options: argparse.Namespace) -> None:
    seed = case.program.seed
    print(f"WRONG {seed}")
    print(
        f"  again: python tests/generated/run.py --first {seed} --builtins {options.builtins} --trees {options.trees}"
    )
    if not options.keep:
        smallest = _shrink(session, case.program)
        if not smallest:
            print("  alone, that is as one of the first in its process, it was right")
        case = smallest or case
    print(f"  {size(case.program)} steps, {'in a thread' if case.program.own_thread else 'in the main thread'}")
    print("\n".join(f"    {line}" for line in source_of(case.program).splitlines()))
    print("\n".join(f"  {line}" for line in case.wrong[:12]), flush=True)


def _shrink(session: Session, program: Program) -> Case | None:
    """The smallest program that goes wrong, alone, and can be found by dropping steps. None: alone it is right."""
    found: Case | None = None
    end = time.monotonic() + 60
    candidates = [program]
    while candidates and time.monotonic() < end:
        wrong = None
        while candidates and not wrong:
            now, candidates = candidates[:40], candidates[40:]
            cases = session.run([fresh(candidate) for candidate in now], blame=False)
            wrong = next((case for case in cases if case.wrong), None)
        if not wrong:
            break
        found = wrong
        candidates = list(smaller(wrong.program))
    return found


if __name__ == "__main__":
    sys.exit(main())
