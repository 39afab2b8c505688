"""Runs a module in a process of its own (under.py), and tells what became of each of its tests."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from lists import HERE, SUITES, Module

LIMIT = 120.0  # seconds in which a process that does not hang tells of another test, however busy the machine is
_GRACE = 10.0  # seconds for the traces of a process that hangs
_LOOK = 2.0  # seconds from one look at a process to the next
END = "(end)"
"""The name under which a module's own end is a test: its exit code, or what it died of."""
SEEN = "(seen)"
"""The name under which it is one that flamelet saw each test begin."""


@dataclass
class Run:
    """One run of a module. tests: "passed", "failed", "skipped", "expected failure", by name, END and SEEN among them.

    troubles: what there is to say of those that failed. output: what the process wrote. cpu: seconds of it and of the
    processes that it waited for; 0 where it died."""

    tests: dict[str, str] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    output: str = ""
    cpu: float = 0.0

    @property
    def all_passed(self) -> bool:
        return set(self.tests.values()) == {"passed"}


def run_module(module: Module, setting: str, limit: float = LIMIT) -> Run:
    """setting: "off", "on" or "builtins"."""
    folder = Path(tempfile.mkdtemp(prefix="others-"))
    try:
        return _run_in(folder, module, setting, limit)
    finally:
        # Some tests take away their own permissions.
        for name, folders, _files in os.walk(folder):
            for each in folders:
                path = os.path.join(name, each)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(folder, ignore_errors=True)


def _run_in(folder: Path, module: Module, setting: str, limit: float) -> Run:
    work = folder / "work"
    work.mkdir()
    words = [sys.executable, str(HERE / "under.py"), setting, str(folder / "outcomes"), module.suite, module.name]
    if module.restart and sys.version_info < (3, 12):
        words.append("restart")
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=work,
            env=_environment(work),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it started can be ended with it
        )
        try:
            code = _wait(process, folder / "outcomes", limit)
            if code is None:
                process.send_signal(signal.SIGABRT)  # it writes where its threads are
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_GRACE)
        finally:
            _end_group(process.pid)
            process.kill()  # where it left its group
            process.wait()
    text = (folder / "output").read_text(encoding="utf-8", errors="replace")
    return _read(folder / "outcomes", module, code, text, limit)


def _wait(process: subprocess.Popen[bytes], outcomes: Path, limit: float) -> int | None:
    """The exit code. None: it hangs."""
    told, since = 0, time.monotonic()
    while time.monotonic() - since < limit:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(_LOOK, limit))
        if outcomes.exists() and (size := outcomes.stat().st_size) != told:
            told, since = size, time.monotonic()
    return None


def _environment(work: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GEVENT", "FLAMELET_"))}
    return kept | {
        "TMPDIR": str(work),
        "GEVENTTEST_USE_RESOURCES": "-network",
        # gevent's word for "this machine is busy": longer timeouts, and none of the tests that need a quiet one.
        "GITHUB_ACTIONS": "true",
    }


def _end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _read(file: Path, module: Module, code: int | None, output: str, limit: float) -> Run:
    run = Run(output=output)
    running = None
    ended: int | None = None
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for line in lines:
        entry = json.loads(line)
        if "begins" in entry:
            running = entry["begins"]
        elif "test" in entry:
            running = None
            name = _short(entry["test"], module)
            run.tests[name] = entry["outcome"]
            run.troubles[name] = entry["trouble"]
        elif "ends" in entry:
            ended = entry["ends"]
            run.cpu = entry["cpu"]
        else:
            same = entry["begun"] == entry["seen"]
            run.tests[SEEN] = "passed" if same else "failed"
            run.troubles[SEEN] = f"{entry['begun']} tests began, flamelet saw {entry['seen']}"
    trouble = _trouble_at_the_end(code, ended, limit)
    # What unittest says at its end is known already.
    if trouble is None and ended and not any(outcome == "failed" for outcome in run.tests.values()):
        trouble = f"exit code {ended}"
    run.tests[END] = "failed" if trouble else "passed"
    if trouble:
        run.troubles[END] = f"{trouble}\n{output[-3000:]}"
        if running is not None:
            name = _short(running, module)
            run.tests[name] = "failed"
            run.troubles[name] = f"the process died in it: {run.troubles[END]}"
    return run


def _trouble_at_the_end(code: int | None, ended: int | None, limit: float) -> str | None:
    if code is None:
        return f"nothing for {limit:.0f} s"
    if code < 0:
        return f"died of {signal.Signals(-code).name}"
    if code > 0:
        return f"the interpreter's exit code is {code}"
    return "it never came to its end" if ended is None else None


def _short(test: str, module: Module) -> str:
    for prefix in ("__main__.", f"{SUITES[module.suite]}.{module.name}."):
        test = test.removeprefix(prefix)
    return test.replace(f"({SUITES[module.suite]}.{module.name}.", "(").replace("(__main__.", "(")
