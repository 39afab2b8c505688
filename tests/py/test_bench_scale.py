"""tests/bench/scale.py and instructions.py: that all of it runs and gives figures that can be what they claim to be."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# What is measured here, a busy neighbour may disturb; scripts/test tells which test needed another try.
pytestmark = pytest.mark.flaky(reruns=2, reruns_delay=1)

BENCH = Path(__file__).parents[1] / "bench"


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCH / program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def rows_of(program: str, *arguments: str) -> list[dict[str, Any]]:
    result = run(program, *arguments, "--json")
    assert result.returncode == 0, result.stderr
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def test_every_part_has_figures() -> None:
    # GIVEN the clock that every machine has WHEN everything is measured, small and once
    rows = rows_of("scale.py", "--quick", "--clock=short")

    # THEN each part has its rows, and all of so few paths are shown
    values = {row["what"]: row["value"] for row in rows}
    assert all(math.isfinite(value) for value in values.values())
    for words in (
        "short greenlets: time",
        "start with",
        "stop with",
        "two writers",
    ):
        assert [value for what, value in values.items() if words in what and value > 0], words
    # (of so few greenlets a process has room for anyway, so that their memory may not show)
    assert any("parked greenlets, 4 frames: each" in what for what in values)
    assert [value for what, value in values.items() if "not shown" in what or "neither shown" in what] == [0, 0]


def test_table_says_where_it_was_measured() -> None:
    # WHEN one part is printed THEN interpreter and machine stand above its table
    result = run("scale.py", "--quick", "--clock=short", "--only=paths")
    assert result.returncode == 0, result.stderr
    about, _, head, *_ = result.stdout.splitlines()
    assert about.startswith(f"CPython {sys.version.split()[0]} ")
    assert head == "| what | CPU clock | measured | aim |"


def test_a_scene_that_fails_is_told(tmp_path: Path) -> None:
    # GIVEN a copy of the program whose scenes cannot import flamelet
    shutil.copytree(BENCH, tmp_path / "bench")
    scenes = tmp_path / "bench" / "scenes.py"
    scenes.write_text(scenes.read_text().replace("import flamelet\n", "import flamelet_of_yesterday as flamelet\n"))

    # WHEN it runs
    result = run(str(tmp_path / "bench" / "scale.py"), "--quick", "--clock=short", "--only=paths")

    # THEN it fails, with the reason
    assert result.returncode == 1
    assert "paths (without flamelet)" in result.stderr or "paths (short)" in result.stderr
    assert "No module named 'flamelet_of_yesterday'" in result.stderr


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_counted() -> None:
    # GIVEN a few calls under flamelet WHEN their instructions are counted
    code = "import instructions; print(*instructions.count('calls', 'flamelet-short', 300))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=BENCH, capture_output=True, text=True, check=False, timeout=300)

    # THEN there are those of the process, and among them those of the slow way, if the extension has its symbols
    assert result.returncode == 0, result.stderr
    everything, slow = map(int, result.stdout.split())
    assert everything > 1_000_000
    assert slow == -1 or 0 < slow < everything


def test_instructions_need_valgrind(tmp_path: Path) -> None:
    # GIVEN a machine without valgrind WHEN instructions are to be counted THEN the mend is named
    command = [sys.executable, str(BENCH / "instructions.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert (result.returncode, result.stderr) == (
        1,
        "instructions.py: valgrind is not installed (Debian: apt-get install valgrind)\n",
    )
