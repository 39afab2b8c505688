"""The table, as text for a terminal and as Markdown for docs/benchmarks.md. Both show the same cells."""

from __future__ import annotations

from collections.abc import Callable

from compare import is_flamelet
from results import Comparison, PythonResult, Quartiles, Report, ToolResult, WorkloadResult

# A row of the table: title, added ns, one cell for each of flamelet's rows, what was aimed at.
Cells = list[str]
_LONG_NS = 10_000  # from here on tenths say nothing


def as_text(report: Report) -> str:
    blocks = ["\n".join(_preamble(report))]
    for python in report["pythons"]:
        blocks.append(_caption(python))
        blocks.append(_aligned(_head(python), *(_section(workload, str) for workload in python["workloads"])))
        blocks += _notes(python)
    return "\n\n".join(blocks)


def as_markdown(report: Report) -> str:
    blocks = ["\n".join(f"- {line}" for line in _preamble(report))]
    for python in report["pythons"]:
        blocks.append(f"### {_caption(python)}")
        head = _head(python)
        rows = [head, ["---", *["---:"] * (len(head) - 1)]]
        for workload in python["workloads"]:
            rows += _section(workload, "**{}**".format)
        blocks.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        blocks += _notes(python)
    return "\n\n".join(blocks)


def _preamble(report: Report) -> list[str]:
    machine, settings = report["machine"], report["settings"]
    return [
        f"Measured {report['date']} on {machine['processor']}, {machine['processors']} processors, "
        f"{machine['system']}, load {machine['load']:.2f}; the thread's CPU clock costs "
        f"{machine['cpu_clock_extra_ns']:.0f} ns more to read than the monotonic one.",
        f"Nanoseconds of {settings['clock']} time that each tool adds: median [quartiles] of {settings['rounds']} "
        f"rounds of about {settings['round_ms']:g} ms, all tools in turn, each round less one without a tool.",
        "The columns of flamelet: what it adds beyond an empty receiver (+ ns), or as a part of what the row's tool "
        "adds; medians over the rounds.",
    ]


def _caption(python: PythonResult) -> str:
    packages = "".join(f", {name} {version}" for name, version in python["packages"].items())
    return (
        f"CPython {python['python']} ({python['build']}){packages}; wall time {python['wall_per_cpu']:.2f} of cpu time"
    )


def _head(python: PythonResult) -> Cells:
    rows = [row for workload in python["workloads"] for row in workload["tools"]]
    # Its rows with and without C functions share a column.
    flamelet = dict.fromkeys(row["title"] for row in rows if is_flamelet(row["tool"]))
    return ["", "ns added", *flamelet, "aim"]


def _section(workload: WorkloadResult, emphasise: Callable[[str], str]) -> list[Cells]:
    """The rows of one workload, below one that names it."""
    variants = [row["tool"] for row in workload["tools"] if is_flamelet(row["tool"])]
    empty = [""] * (len(variants) + 1)
    whole = workload["without_tool"]
    return [
        [emphasise(f"per {workload['operation']}"), "", *empty],
        ["no tool: the whole cost", _quartiles(whole) if whole else "not measured", *empty],
        *(_row(row, variants) for row in workload["tools"]),
    ]


def _row(row: ToolResult, variants: list[str]) -> Cells:
    by_variant = {comparison["flamelet"]: comparison for comparison in row["comparisons"]}
    against = [_against(by_variant.get(variant)) for variant in variants]
    aim = _aim(row["comparisons"][0]) if row["comparisons"] else ""
    # A note may hold a compiler's output; the cell names the state, the notes below the table say the rest.
    state = {"measured": "", "missing": "not installed", "unsupported": "not on this machine", "failed": "FAILED"}[
        row["status"]
    ]
    return [row["title"], _quartiles(row["added"]) if row["added"] else state, *against, aim]


def _quartiles(values: Quartiles) -> str:
    form = ",.0f" if values["median"] >= _LONG_NS else ".1f"
    median, q1, q3 = (format(values[key], form) for key in ("median", "q1", "q3"))
    return f"{median} [{q1}, {q3}]"


def _against(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    if comparison["value"] is None:
        return "-"
    median = comparison["value"]["median"]
    return f"{median:+.1f} ns" if comparison["unit"] == "ns" else f"{median:.3f}"


def _aim(comparison: Comparison) -> str:
    bound = comparison["aim"]
    if bound is None:
        return ""
    return f"<= {bound:+g} ns" if comparison["unit"] == "ns" else f"<= {bound:g}"


def _notes(python: PythonResult) -> list[str]:
    """One paragraph with every reason for a row without figures, each once."""
    rows = [row for workload in python["workloads"] for row in workload["tools"] if row["status"] != "measured"]
    titles: dict[str, list[str]] = {}
    for row in rows:
        seen = titles.setdefault(row["note"], [])
        if row["title"] not in seen:
            seen.append(row["title"])
    lines = [f"- {'; '.join(seen)}: {note}" for note, seen in titles.items()]
    return [f"Without figures on CPython {python['python']}:\n\n" + "\n".join(lines)] if lines else []


def _aligned(head: Cells, *sections: list[Cells]) -> str:
    """First column left, the others right; an empty line above each section."""
    rows = [head, *(cells for section in sections for cells in section)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]

    def line(cells: Cells) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()

    return "\n\n".join("\n".join(line(cells) for cells in section) for section in ([head], *sections))
