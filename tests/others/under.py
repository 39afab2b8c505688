"""One module of somebody else's tests, in this process: without flamelet, or with it started.

    python tests/others/under.py off|on|builtins OUTCOMES SUITE MODULE

What became of each test is appended to the file OUTCOMES as it becomes known, one JSON object a line (outcomes.py), so
that it is there when the process dies. The exit code is 0 wherever the module came to its end.

Little is imported, and flamelet is started before the module is: some of the tests look at what is loaded already, and
patch what is not. Whatever differs between the settings beside flamelet itself would be blamed on it: so this file does
the same things in the same order in each of them.
"""

import faulthandler
import importlib
import json
import os
import runpy
import sys
import traceback
import unittest
from typing import Any

import adapted

# As with `python -m`: the modules beside this file are not the tests' business.
sys.path[0] = ""


class Watch:
    """flamelet, as this run has it; `off` does nothing."""

    def __init__(self, setting: str, *, restart: bool) -> None:
        self.on = setting != "off"
        self._builtins = setting == "builtins"
        self._restart = restart
        self._begun = 0

    def start(self) -> None:
        if self.on:
            import flamelet

            flamelet.start(builtins=self._builtins)

    def before_test(self) -> None:
        if self.on and self._restart:
            import flamelet

            flamelet.stop()
            flamelet.start(builtins=self._builtins)
        self._begun += 1
        a_test_begins()

    def seen(self) -> tuple[int, int]:
        """How many tests begun, and of how many flamelet knows."""
        import flamelet

        rows = flamelet.snapshot().functions
        return self._begun, sum(row.calls for row in rows if row.qualname == "a_test_begins")


def a_test_begins() -> None:
    """Called once for each test: flamelet must have counted as many, else it was off for some of them."""


class Outcomes:
    """The file, and the test that is running."""

    def __init__(self, path: str) -> None:
        # Opened once: some tests change the working directory, patch open(), or make all further files fail.
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.set_inheritable(self._file, False)
        self._process = os.getpid()
        self._times: dict[str, int] = {}
        self.running: object | None = None

    @property
    def own(self) -> bool:
        return os.getpid() == self._process

    def name(self, test_id: str) -> str:
        """Unique: doctests of one name, and modules that load a class twice."""
        times = self._times[test_id] = self._times.get(test_id, 0) + 1
        return test_id if times == 1 else f"{test_id}#{times}"

    def write(self, **fields: object) -> None:
        # A child that was forked in the middle of a test may well run to the test's end.
        if self.own:
            _write(self._file, (_dumps(fields) + "\n").encode())


# Tests replace them, and gevent patches os.
_write = os.write
_times = os.times
_dumps = json.dumps


def _text(error: Any) -> str:
    return "".join(traceback.format_exception(error[1]))


class Recorder(unittest.TextTestResult):
    """Writes outcomes. Of results in results (a test that runs a suite of its own), only the outermost."""

    outcomes: Outcomes
    watch: Watch

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        if self.outcomes.running is None:
            self.outcomes.running = test
            self._name = self.outcomes.name(test.id())
            self._outcome = "passed"
            self._trouble = ""
            self.outcomes.write(begins=self._name)
            self.watch.before_test()
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().stopTest(test)
        if self.outcomes.running is test:
            self.outcomes.running = None
            self.outcomes.write(test=self._name, outcome=self._outcome, trouble=self._trouble)

    def _became(self, test: unittest.TestCase, outcome: str, trouble: str = "") -> None:
        if self.outcomes.running is None:
            # Not a test: the setup of a class or module. All its tests are missing then.
            self.outcomes.write(test=self.outcomes.name(test.id()), outcome=outcome, trouble=trouble)
        elif self.outcomes.running is test and self._outcome != "failed":
            self._outcome, self._trouble = outcome, trouble

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self._became(test, "failed", _text(err))

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self._became(test, "failed", _text(err))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._became(test, "failed", f"{subtest}\n{_text(err)}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self._became(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        self._became(test, "expected failure")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self._became(test, "failed", "it was expected to fail, and did not")


def run_cpython(module: str) -> None:
    support = importlib.import_module("test.support")

    # Nothing that takes the network, a sound card, minutes, or gigabytes.
    support.__dict__.update(use_resources=[], verbose=0)
    unittest.main(module=f"test.{module}", argv=[module], exit=False, verbosity=0)


def run_greenlet(module: str) -> None:
    unittest.main(module=f"greenlet.tests.{module}", argv=[module], exit=False, verbosity=0)


def run_gevent(module: str) -> None:
    """As `python -m`, which is how gevent runs them: some patch everything first, some are no unittest at all."""
    sys.argv = [module]
    runpy.run_module(f"gevent.tests.{module}", run_name="__main__", alter_sys=True)


RUN = {"cpython": run_cpython, "greenlet": run_greenlet, "gevent": run_gevent}


def main() -> None:
    faulthandler.enable()
    setting, path, suite, module, *rest = sys.argv[1:]
    outcomes = Outcomes(path)
    watch = Watch(setting, restart="restart" in rest)
    Recorder.outcomes, Recorder.watch = outcomes, watch
    unittest.TextTestRunner.resultclass = Recorder  # type: ignore[assignment]
    sys.argv = [module]
    with adapted.ids_taken(suite, module):
        watch.start()
    code: object = 0
    try:
        adapted.adapt(suite, module, on=watch.on)
        RUN[suite](module)
    except SystemExit as error:
        code = error.code
    outcomes.write(ends=code if isinstance(code, int) else int(code is not None), cpu=round(sum(_times()[:4]), 2))
    if not outcomes.own:
        raise SystemExit(code)  # a child that was forked by a test
    if watch.on:
        begun, seen = watch.seen()
        outcomes.write(begun=begun, seen=seen)


if __name__ == "__main__":
    main()
