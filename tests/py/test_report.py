"""The summary for people, and the JSON report: readable, complete, and right whatever the names are."""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from flamelet.recording import RecordingFile, read_lines
from flamelet.report import json_text, summary
from flamelet.snapshots import Snapshot, make_snapshot
from flamelet.text import cell, cut, duration, fit_function, printable, width
from running import FLAMELET, environment, report_of, run
from test_snapshots import picture_of

Write = Callable[..., Path]
ROOT = Path(__file__).parents[2]
VECTOR = (ROOT / "tests" / "vectors" / "recording.jsonl").read_bytes()

ODD_NAMES = {
    "empty": "",
    "newline": "a\nb",
    "return": "a\rb",
    "escape": "\x1b[31mred",
    "null": "a\0b",
    "surrogate": "a\udc80b",
    "accents": "größe",
    "combined": "e\u0301a",
    "wide": "日本語の関数",
    "right to left": "\u202eevil",
    "emoji": "🔥",
    "long": "x" * 5000,
    "wide and long": "語" * 5000,
    "separators": "a;b,c\td|e",
    "markup": "<script>&amp;",
}


@pytest.fixture
def vector() -> Snapshot:
    return make_snapshot(read_lines(VECTOR))


def documented(section: str) -> set[str]:
    """The keys that a section of docs/report-json.md documents."""
    text = (ROOT / "docs" / "report-json.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0] if section else text.partition("\n## ")[0]
    assert part
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


def test_keys_are_those_that_are_documented(vector: Snapshot) -> None:
    # GIVEN the JSON report
    report = json.loads(json_text(vector))
    # THEN its keys are those of docs/report-json.md, no less and no more
    assert set(report) == documented("")
    for section in ("functions", "tasks", "edges", "groups", "threads", "slices", "holds"):
        assert report[section], section
        assert {key for row in report[section] for key in row} == documented(section)
    for section in ("about", "totals"):
        assert set(report[section]) == documented(section)
    # AND rows begin with these keys, in this order
    functions = "name qualname file line calls own_cpu own_blocked own_idle own_waited"
    functions += " total_cpu total_blocked total_idle total_waited seeded"
    tasks = "id name entry thread state switches lifetime cpu blocked idle waited"
    assert " ".join(report["functions"][0]) == functions
    assert " ".join(report["edges"][0]) == "caller callee calls total_cpu total_blocked total_waited"
    assert " ".join(report["tasks"][0]).startswith(tasks)


def test_types_are_those_that_are_documented(vector: Snapshot) -> None:
    # THEN times are floats, indices are in range
    report = json.loads(json_text(vector))
    for row in (*report["functions"], *report["tasks"], *report["edges"], *report["groups"], *report["threads"]):
        for key, value in row.items():
            if re.fullmatch(r"(own_|total_)?(cpu|blocked|idle|waited)|wall|lifetime|longest", key):
                assert isinstance(value, float)
                assert value >= 0
    for row in report["edges"]:
        assert 0 <= row["caller"] < len(report["functions"])
        assert 0 <= row["callee"] < len(report["functions"])
    assert report["totals"]["tasks"] == 4
    assert report["totals"]["cpu"] == 0.16


def test_snapshot_and_report_are_the_same_rows(vector: Snapshot) -> None:
    # THEN what a program gets as objects is what the report says
    report = json.loads(json_text(vector))
    assert [row._asdict() for row in vector.functions] == report["functions"]
    assert [row._asdict() for row in vector.tasks] == report["tasks"]
    assert vector.totals._asdict() == report["totals"]
    assert (vector.clock, dict(vector.lost)) == (report["clock"], report["lost"])


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120, 200])
def test_summary_fits_the_terminal(columns: int, vector: Snapshot) -> None:
    # WHEN it is written for a terminal of some width
    lines = summary(vector, columns)
    tables = [line for line in lines[2:-1] if line]
    # THEN its tables fit, and say what was left out
    assert max(map(width, tables)) <= columns
    left_out = [line for line in lines if line.startswith("(a wider terminal shows")]
    assert bool(left_out) == (columns < 120)
    # AND each function and task is there
    assert sum("Db.query" in line for line in lines) == 1
    assert any(line.rstrip().endswith(("Hub.run, a hub", "Hub.r...")) for line in lines)


def test_summary_of_the_vector(vector: Snapshot) -> None:
    # THEN its figures are those that were worked out by hand
    text = "\n".join(summary(vector, 200))
    assert re.search(r"^ +1 +10\.0 ms +120 ms .*sqlite3\.Cursor\.execute$", text, re.MULTILINE)
    assert re.search(r"^ +2 +75\.0 ms +\. .*send_mail  /srv/app/\S+:\d+$", text, re.MULTILINE)
    assert "1 thread, 4 tasks, " in text
    # AND the last line says who held the hub
    assert text.splitlines()[-1].startswith("sqlite3.Cursor.execute, called by handle, held hub 1 for 146 ms once, ")
    assert text.endswith(": 120 ms blocked, 26.0 ms on the CPU.")


def test_many_tasks_are_shown_by_group(write: Write, tmp_path: Path) -> None:
    # GIVEN a program with many greenlets of one kind
    write(
        "program.py",
        "import gevent\ndef work(): gevent.sleep(0.001)\n"
        "def other(): gevent.sleep(0.001)\n"
        "gevent.joinall([gevent.spawn(work) for _ in range(3000)] + [gevent.spawn(other)])\n",
    )
    # WHEN it has run
    finished = run(FLAMELET, "run", "--no-server", "program.py", cwd=tmp_path, env={"COLUMNS": "120"})
    # THEN the summary counts all of them, also those whose rows are gone
    assert re.search(r"^3,000 +0 +3,000 .* work  \S+program\.py:2$", finished.errors, re.MULTILINE)
    assert re.search(r"^ +1 +0 +1 .* other  \S+program\.py:3$", finished.errors, re.MULTILINE)
    assert "3,003 tasks" in finished.errors
    assert "Tasks by cpu + blocked, 25 of 1," in finished.errors


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_in_text_and_json(name: str) -> None:
    # GIVEN a function with such a name, called by another one
    odd = ODD_NAMES[name]
    snapshot = picture_of(["caller", odd], [0, 1])
    # WHEN it is shown
    lines = summary(snapshot, 100)
    # THEN each line is one line of printable text, and fits
    assert all(line.isprintable() for line in lines)
    assert all(width(line) <= 100 for line in lines[2:])
    assert sum("  caller:1" in line or "caller  " in line for line in lines) >= 1
    # AND JSON keeps the name as it is, in ASCII
    text = json_text(snapshot)
    assert text.isascii()
    assert [row["name"] for row in json.loads(text)["functions"]] == ["caller", odd]


def as_recorded(name: str) -> str:
    """Escaped where it has no UTF-8, and of at most 4,096 bytes, cut between two characters."""
    return name.encode("utf-8", "backslashreplace")[:4096].decode("utf-8", "ignore")


@pytest.mark.parametrize(
    "locale", [{}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_odd_names_all_the_way(locale: dict[str, str], write: Write, tmp_path: Path) -> None:
    # GIVEN a program whose functions have such names, in files with such names
    write(
        "program.py",
        f"""
        names = {[*ODD_NAMES.values()]!r}
        for name in names:
            space = {{}}
            exec(compile("def f(): pass", name.replace(chr(0), "") or "empty", "exec"), space)
            code = space["f"].__code__.replace(co_name=name, co_qualname="C." + name)
            type(space["f"])(code, {{}})()
        """,
    )
    # WHEN it is recorded and reported in this locale
    finished = run(FLAMELET, "run", "--no-server", "-o", "x.flamelet", "program.py", cwd=tmp_path, env=locale)
    assert finished.code == 0
    shown = run(FLAMELET, "report", "--top", "0", "x.flamelet", cwd=tmp_path, env=locale)
    # THEN each function is there
    assert (shown.code, shown.err) == (0, b"")
    rows = report_of(tmp_path / "x.flamelet")["functions"]
    calls = {row["name"]: row["calls"] for row in rows if row["qualname"].startswith("C.")}
    assert calls == {as_recorded(name): 1 for name in ODD_NAMES.values()}
    # AND names beyond the encoding are escaped
    encoding = "ascii" if "PYTHONUTF8" in locale else "utf-8"
    assert "größe".encode(encoding, "backslashreplace") in shown.out


def test_top(tmp_path: Path, vector: Snapshot) -> None:
    # GIVEN a recording
    RecordingFile(str(tmp_path / "x.flamelet")).write(VECTOR)
    # WHEN fewer rows, or all, are asked for
    two = run(FLAMELET, "report", "--top", "2", "x.flamelet", cwd=tmp_path).text
    every = run(FLAMELET, "report", "--top", "0", "x.flamelet", cwd=tmp_path).text
    # THEN so many are shown, and how many there are is said
    assert f"Functions by own cpu + blocked, 2 of {len(vector.functions)}" in two
    assert "Functions by own cpu + blocked\n" in every
    assert run(FLAMELET, "report", "--top", "x", "x.flamelet", cwd=tmp_path).code == 2


def test_reader_that_has_seen_enough(tmp_path: Path) -> None:
    # GIVEN a recording with a long report
    RecordingFile(str(tmp_path / "x.flamelet")).write(VECTOR)
    # WHEN its reader goes away at once
    for option in ("--json", "--top=0"):
        command = f"'{FLAMELET[0]}' report {option} x.flamelet | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        # THEN that is no error
        assert (done.stdout, done.stderr) == ("0\n", "")


def test_truncated_recording_is_reported_with_a_warning(tmp_path: Path) -> None:
    # GIVEN a recording whose end is missing
    (tmp_path / "x.flamelet").write_bytes(VECTOR[: VECTOR.rindex(b"\n", 0, len(VECTOR) - 1) - 10])
    # WHEN it is reported
    finished = run(FLAMELET, "report", "x.flamelet", cwd=tmp_path)
    # THEN the warning stands in both outputs, and the rest is shown
    assert finished.code == 0
    assert finished.errors == "flamelet: x.flamelet: the end is missing: the last line is cut off\n"
    assert "warning: the end is missing" in finished.text
    assert "Db.query" in finished.text


DURATIONS = {
    0.0: "0 s",
    53.1e-9: "53.1 ns",
    999e-9: "999 ns",
    999.6e-9: "1.00 us",
    1.5e-6: "1.50 us",
    941e-6: "941 us",
    0.180: "180 ms",
    0.9996: "1.00 s",
    12.7: "12.7 s",
    123.4: "123 s",
    4321.0: "4321 s",
    350_000.0: "97.2 h",
}


@pytest.mark.parametrize("seconds", DURATIONS)
def test_durations(seconds: float) -> None:
    # THEN three digits and a unit
    assert duration(seconds) == DURATIONS[seconds]
    if seconds:
        # AND in a column units stand below units
        assert len(cell(seconds)) - cell(seconds).rindex(" ", 0, -1) in (3, 4) or cell(seconds)[-3] == " "


def test_places_are_cut_from_the_left() -> None:
    # GIVEN a function in a deep folder
    parts = ("Cursor.execute", "/srv/app/lib/database.py", 120)
    # THEN what goes first are folders, then what leads the name; the line number stays
    assert fit_function(*parts, 100) == "Cursor.execute  /srv/app/lib/database.py:120"
    assert fit_function(*parts, 36) == "Cursor.execute  lib/database.py:120"
    assert fit_function(*parts, 31) == "Cursor.execute  database.py:120"
    assert fit_function(*parts, 30) == "execute  database.py:120"
    assert fit_function(*parts, 22).endswith(":120")
    assert fit_function("", "", 0, 30) == "(no name)"
    # AND __init__.py keeps its folder
    assert fit_function("convert", "/srv/app/lib/__init__.py", 7, 28) == "convert  lib/__init__.py:7"


def test_cutting_by_width() -> None:
    # THEN wide letters take two columns, and combining ones none
    assert width("日本") == 4
    assert width(unicodedata.normalize("NFD", "é")) == 1
    assert cut("日本語日本語", 9) == "日本語..."
    assert cut("short", 5) == "short"
    assert printable("a\x1bb\ud800") == r"a\x1bb\ud800"
