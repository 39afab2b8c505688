"""Others' tests under flamelet: `python tests/others/run_others.py [SUITE or MODULE ...]`. See README.md."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import junit  # noqa: E402
import lists  # noqa: E402
from differences import Case, Verdict, compare  # noqa: E402
from lists import SETTINGS, SUITES, Known, Module  # noqa: E402
from outcomes import END, Run, run_module  # noqa: E402

PYTHON = ".".join(map(str, sys.version_info[:2]))
_TRIES = 3  # before a difference counts: many of these tests have a clock


@dataclass
class Done:
    """A module under one setting, or why it was not run. late: tests that were as without flamelet at a later try only.
    seconds, cpu: of all its tries, and of the runs without flamelet that they needed."""

    module: Module
    setting: str
    cases: list[Case] = field(default_factory=list)
    late: set[str] = field(default_factory=set)
    seconds: float = 0.0
    cpu: float = 0.0
    skipped: str = ""


def main() -> int:
    options = _parse()
    listed = lists.read()
    modules = [module for module in listed.modules if not options.names or _named(module, options.names)]
    modules.sort(key=lambda module: not module.slow)  # else the last one of these runs alone
    if not modules:
        print(f"no module {' or '.join(options.names)} in modules.toml", file=sys.stderr)
        return 2
    began = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as pool:
        run = partial(_run, settings=options.settings, known=listed.known)
        done = [one for many in pool.map(run, modules) for one in many]
    done += [
        Done(module, "left out", skipped=reason)
        for module, reason in listed.left_out.items()
        if not options.names or _named(module, options.names)
    ]
    unlisted = [] if options.names else _unlisted(listed)
    _print(done, unlisted, time.monotonic() - began)
    if options.report:
        junit.write(options.report, done, unlisted)
    return 1 if unlisted or any(case.wrong for one in done for case in one.cases) else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SUITES)}, or modules; default: all")
    parser.add_argument("--setting", dest="settings", action="append", choices=SETTINGS, help="default: each")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="modules at a time (default 2)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="a JUnit report")
    options = parser.parse_args()
    options.settings = options.settings or SETTINGS
    return options


def _named(module: Module, names: Iterable[str]) -> bool:
    return module.suite in names or module.name in names


def _run(module: Module, settings: Sequence[str], known: Sequence[Known]) -> list[Done]:
    if not _is_here(module):
        return [Done(module, setting, skipped="this Python has no such module") for setting in settings]
    done = []
    without: Run | None = None
    for setting in settings:
        if module.slow and setting == "on" and "builtins" in settings:
            done.append(Done(module, setting, skipped="slow: with builtins only, which has all the events of this"))
            continue
        began = time.monotonic()
        one = Done(module, setting)
        for attempt in range(_TRIES):
            under = run_module(module, setting)
            one.cpu += under.cpu
            if not under.all_passed and (without is None or attempt):
                without = run_module(module, "off")
                one.cpu += without.cpu
            cases = compare(module, PYTHON, setting, under, without, known)
            wrong = {case.test for case in cases if case.wrong}
            # A crash or a hang is never luck, and a list that is wrong stays so.
            final = END in wrong or not any(case.verdict is Verdict.DIFFERS for case in cases)
            if attempt == 0 or wrong:
                one.late |= {case.test for case in one.cases if case.wrong}
            one.cases = cases
            if final:
                break
        one.late = {case.test for case in one.cases if case.test in one.late and not case.wrong}
        one.seconds = time.monotonic() - began
        done.append(one)
        _print_one(one)
    return done


def _is_here(module: Module) -> bool:
    try:
        return importlib.util.find_spec(f"{SUITES[module.suite]}.{module.name}") is not None
    except ModuleNotFoundError:  # nor is the package that would have it
        return False


def _unlisted(known: lists.Lists) -> list[str]:
    """Modules of greenlet's and gevent's tests that neither run nor are left out for a reason."""
    listed = {(module.suite, module.name) for module in (*known.modules, *known.left_out)}
    missing = []
    for suite in ("greenlet", "gevent"):
        spec = importlib.util.find_spec(SUITES[suite])
        for folder in (spec.submodule_search_locations if spec else None) or []:
            files = sorted(Path(folder).glob("test_*.py"))
            missing += [f"{suite} {file.stem}" for file in files if (suite, file.stem) not in listed]
    return missing


def _print_one(one: Done) -> None:
    counts = Counter(case.verdict for case in one.cases)
    text = ", ".join(f"{number} {verdict.value}" for verdict, number in counts.items())
    late = f"; at a later try only: {', '.join(sorted(one.late))}" if one.late else ""
    print(f"{one.module} {one.setting}: {text}{late}; {one.seconds:.1f} s, {one.cpu:.1f} of CPU", flush=True)
    for case in one.cases:
        if case.wrong:
            lines = [f"  {case.verdict.value.upper()} {case.test}", *(f"    {line}" for line in case.text.splitlines())]
            print("\n".join(lines), flush=True)


def _print(done: Sequence[Done], unlisted: Sequence[str], took: float) -> None:
    counts = Counter(case.verdict for one in done for case in one.cases)
    for name in unlisted:
        print(f"NOT LISTED {name}: neither run nor left out by modules.toml")
    print(f"{', '.join(f'{counts[verdict]} {verdict.value}' for verdict in Verdict)}")
    skipped = Counter(one.skipped for one in done if one.skipped)
    for reason, number in sorted(skipped.items()):
        print(f"{number} not run: {reason}")
    cpu = sum(one.cpu for one in done)
    print(f"{took:.1f} s, {cpu:.1f} of CPU; Python {PYTHON}")


if __name__ == "__main__":
    sys.exit(main())
