"""The whole of it, on a small checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from processes import run as run_command
from run_mutants import main

PYTHON = ["--python", sys.executable, "--jobs", "1"]


def run(tiny: Path, *options: str) -> tuple[int, list[Any]]:
    code = main([*PYTHON, *options], tiny)
    return code, json.loads((tiny / "build" / "results" / "mutants.json").read_text())["mutants"]


def sources(tiny: Path) -> dict[str, str]:
    return {str(file): file.read_text() for file in sorted(tiny.glob("core/*"))}


def test_tested_and_untested(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN functions of which one is not tested WHEN all statements are altered THEN its mutant survives, all others
    are killed by the test that reaches them, and the checkout is as it was."""
    before = sources(tiny)
    code, rows = run(tiny, "--seed", "3")
    assert sources(tiny) == before
    by_function = {
        function: [row for row in rows if row["function"] == function]
        for function in ("tested", "untested", "loops", "of_python")
    }
    assert [(row["killed"], row["tests"]) for row in by_function["untested"]] == [(False, 0)]
    assert {(row["killed"], row["by"]) for row in by_function["tested"]} == {(True, "test_two")}
    assert {row["by"] for row in by_function["of_python"]} == {"tests/py/test_python.py::test_in_a_program"}
    # Some of these go on for ever.
    assert {row["killed"] for row in by_function["loops"]} == {True}
    killed = sum(row["killed"] for row in rows)
    assert killed == len(rows) - 1
    assert code == (0 if killed / len(rows) >= 0.85 else 1)
    told = capsys.readouterr().out
    assert "core/two.c:12 untested: " in told
    assert told.rstrip().rpartition("\n")[2].startswith(f"seed 3: {killed} of {len(rows)} mutants killed, ")


def test_a_later_run_goes_on(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN a run of one mutant WHEN it is resumed THEN the mutant is not tried again; WHEN a test is added that fails
    for a survivor THEN trying the survivors again finds it; WHEN it is listed as equivalent THEN it is not counted."""
    code, rows = run(tiny, "--only", "two.c", "--count", "1", "--seed", "4")
    assert len(rows) == 1
    code, more = run(tiny, "--resume")
    assert more[0] == rows[0]
    assert len(more) > 5
    assert [row["function"] for row in more if not row["killed"]] == ["untested"]
    survivor = next(row for row in more if not row["killed"])

    test = tiny / "tests" / "c" / "test_two.c"
    whole = test.read_text()
    test.write_text(whole.replace("return tested", "return untested(1) == 4 && tested"))
    code, rows = run(tiny, "--survivors")
    assert {row["killed"] for row in rows} == {True}
    assert len(rows) == len(more)
    assert code == 0

    test.write_text(whole)
    listed = {name: survivor[name] for name in ("file", "function", "what")}
    lines = [f"{name} = {json.dumps(text)}" for name, text in {**listed, "reason": "none, in truth"}.items()]
    (tiny / "tests" / "mutants" / "equivalent.toml").write_text("\n".join(["[[mutant]]", *lines]))
    code, rows = run(tiny, "--resume")
    assert survivor["key"] not in {row["key"] for row in rows}
    capsys.readouterr()

    (tiny / "tests" / "mutants" / "equivalent.toml").write_text(
        "\n".join(["[[mutant]]", *lines]).replace("untested", "elsewhere")
    )
    assert run(tiny, "--resume")[0] == 1
    assert "no longer there" in capsys.readouterr().out


def test_a_test_that_fails_anyway_kills_nothing(tiny: Path) -> None:
    """GIVEN a test that fails without a mutant, too WHEN it reaches mutants THEN they survive."""
    test = tiny / "tests" / "c" / "test_two.c"
    test.write_text(test.read_text().replace("== 7", "== 8"))
    (tiny / "tests" / "py" / "test_python.py").unlink()
    _, rows = run(tiny, "--seed", "5")
    assert len(rows) > 5
    assert {row["killed"] for row in rows} == {False}


def test_patience_leaves_the_slowest_out(tiny: Path) -> None:
    """GIVEN two Python tests that reach a mutant and do not look at it WHEN patience is over after the first THEN the
    survivor says that one was left out."""
    test = tiny / "tests" / "py" / "test_python.py"
    test.write_text(test.read_text().replace('== b"45\\n"', "").replace("pass\n", "test_in_a_program()\n"))
    _, rows = run(tiny, "--only", "ext.c", "--seed", "8", "--patience", "0")
    assert [(row["killed"], row["tests"], row["left_out"]) for row in rows] == [(False, 2, 1)]


def test_what_the_compiler_makes_the_same_is_no_mutant(tiny: Path) -> None:
    """GIVEN statements without an effect, and one that cannot be altered and still compile WHEN they are drawn THEN
    they are not counted."""
    (tiny / "core" / "two.c").write_text(
        '#include "two.h"\n\nint tested(int value)\n{\n    (void)value;\n    value = 5 + 5;\n'
        "    char few[1 - 0 > 0 ? 1 : -1];\n    (void)few;\n    return 7;\n}\n"
    )
    (tiny / "pyshim" / "ext" / "ext.c").write_text(
        "int of_python(int value);\n\nint of_python(int value)\n{\n    return value;\n}\n"
    )
    (tiny / "tests" / "c" / "test_two.c").write_text(
        '#include "two.h"\n\nint main(void)\n{\n    return tested(1) != 7;\n}\n'
    )
    _, rows = run(tiny, "--only", "two.c", "--seed", "6")
    assert {row["what"].partition("in: ")[2] for row in rows} == {"return 7;"}


def test_nothing_is_left_running(tmp_path: Path) -> None:
    """GIVEN a command that starts another in a session of its own WHEN it takes too long THEN both are ended."""
    note = tmp_path / "pid"
    code = (
        "import subprocess, time; "
        "other = subprocess.Popen(['sleep', '600'], start_new_session=True); "
        f"open({str(note)!r}, 'w').write(str(other.pid)); time.sleep(600)"
    )
    ended = run_command(
        [sys.executable, "-c", code], cwd=tmp_path, is_late=lambda: note.exists() and note.read_text() != ""
    )
    assert ended.code is None
    pid = int(note.read_text())
    end = time.monotonic() + 10
    while _runs(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _runs(pid)


def test_breaking_off_leaves_nothing(tiny: Path) -> None:
    """GIVEN a run WHEN it is sent SIGTERM while a mutant is tested THEN it ends, the checkout is as it was, and no
    process of it is left."""
    before = sources(tiny)
    test = tiny / "tests" / "c" / "test_two.c"
    test.write_text(f"#include <unistd.h>\n{test.read_text().replace('return tested', 'sleep(3); return tested')}")
    command = [sys.executable, Path(__file__).with_name("run_mutants.py"), *PYTHON, "--seed", "1"]
    code = f"import sys; sys.argv = {[str(word) for word in command[1:]]!r}; import run_mutants, pathlib; " + (
        f"sys.exit(run_mutants.main(None, pathlib.Path({str(tiny)!r})))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if "worker 0" in line:
                break
        programs = tiny / "build" / "mutants" / "worker-0" / "c"
        end = time.monotonic() + 120
        while not _of(programs) and time.monotonic() < end:
            time.sleep(0.1)
        assert _of(programs)
        process.terminate()
        assert process.wait(60) == 143
    assert sources(tiny) == before
    assert _of(programs) == []


def _of(folder: Path) -> list[int]:
    """The processes whose program is in the folder."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if os.readlink(f"/proc/{entry}/exe").startswith(f"{folder}/"):
                found.append(int(entry))
        except (OSError, ValueError):
            continue
    return found


def _runs(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
