"""Names, durations and tables as text for a terminal. Names can be anything; what is returned is printable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_LONGEST_NAME = 2_000  # characters of a name that are looked at; more never fits a line


def printable(name: str) -> str:
    """The name with line ends, control characters, lone surrogates and the like as escapes."""
    name = name[:_LONGEST_NAME]
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def width(text: str) -> int:
    """Columns of a terminal that a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, columns: int) -> str:
    """The text, its end replaced by dots where it is wider than that."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for c in text:
        used += width(c)
        if used > columns - 3:
            break
        kept.append(c)
    return "".join(kept) + "..."[: max(0, columns)]


def duration(seconds: float, zero: str = "0 s") -> str:
    """Three digits and a unit: 53.1 ns, 941 us, 180 ms, 12.7 s, 97.2 h."""
    if seconds == 0:
        return zero
    for scale, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        digits = _three(seconds * scale)
        if float(digits) < 1000:
            return f"{digits} {unit}"
    return (
        f"{seconds:.0f} s"
        if 1000 <= seconds < 10_000
        else f"{_three(seconds)} s"
        if seconds < 1000
        else (f"{_three(seconds / 3600)} h")
    )


def _three(value: float) -> str:
    """Three significant digits, more before the point where there are more."""
    for decimals in (2, 1):
        text = f"{value:.{decimals}f}"
        if len(text) <= 4:
            return text
    return f"{value:.0f}"


def cell(seconds: float) -> str:
    """A duration for a column: the unit has two places, so that digits stand below digits."""
    if seconds == 0:
        return ".   "
    number, unit = duration(seconds).split(" ")
    return f"{number} {unit:<2}"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 'es' if word.endswith('ch') else 's'}"


def place(file: str, line: int) -> str:
    """file:line; the file alone (for C functions the module) where there is no line."""
    file = printable(file)
    return f"{file}:{line}" if line else file


def fit_function(qualname: str, file: str, line: int, columns: int) -> str:
    """Qualified name and place in so many columns. What has to go first: folders, then what leads the name, then the
    rest of a long place, the end of the name; the line number stays."""
    name = printable(qualname) or "(no name)"
    where = place(file, line)
    # __init__.py alone would say nothing.
    while width(name) + 2 + width(where) > columns and "/" in where.partition("/__")[0]:
        where = where.partition("/")[2]
    while width(name) + 2 + width(where) > columns and "." in name.strip("."):
        name = name.partition(".")[2]
    if width(name) + 2 + width(where) > columns:
        where = _cut_front(where, max(columns // 3, columns - 2 - width(name)))
    if not where:
        return cut(name, columns)
    return f"{cut(name, columns - 2 - width(where))}  {where}"


def _cut_front(text: str, columns: int) -> str:
    """The text, its beginning replaced by dots where it is wider than that."""
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 3:
        text = text[1:]
    return "..." + text


class Column(NamedTuple):
    """A column of a table. cells: one text a row, aligned right. group: a title over several columns.

    keep: which columns stay on a narrow terminal, those with the largest numbers.
    """

    title: str
    cells: Sequence[str]
    keep: int
    group: str = ""


# What the last column gets at least, before other columns are left out.
_LEAST_TEXT = 34


def table(columns: Sequence[Column], title: str, texts: Sequence[Callable[[int], str]], total_width: int) -> list[str]:
    """Lines of a table whose last column is text, made to fit: each of `texts` gets the width that is left.

    A column without any value is left out, and on a narrow terminal others too; then a last line names them.
    """
    shown = [column for column in columns if any(text.strip(" .") for text in column.cells)]
    left_out: list[Column] = []
    while shown and total_width - _width_of(shown) < _LEAST_TEXT:
        least = min(shown, key=lambda column: column.keep)
        shown.remove(least)
        left_out.append(least)
    room = max(8, total_width - _width_of(shown))
    widths = [_column_width(column) for column in shown]
    lines = []
    if any(column.group for column in shown):
        lines.append(_groups(shown, widths))
    lines.append("".join(f"{column.title:>{size}}  " for column, size in zip(shown, widths, strict=True)) + title)
    for row, text in enumerate(texts):
        cells = "".join(f"{column.cells[row]:>{size}}  " for column, size in zip(shown, widths, strict=True))
        lines.append((cells + text(room)).rstrip())
    if left_out:
        names = ", ".join(f"{column.group} {column.title}".strip() for column in left_out)
        lines.append(cut(f"(a wider terminal shows {names} too)", total_width))
    return lines


def _column_width(column: Column) -> int:
    return max(map(len, (column.title, *column.cells)))


def _width_of(columns: Sequence[Column]) -> int:
    return sum(_column_width(column) + 2 for column in columns)


def _groups(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """The line of titles above the columns' own: each stands over the first column of its group."""
    line = ""
    before = ""
    for column, size in zip(columns, widths, strict=True):
        title = column.group if column.group != before else ""
        before = column.group
        line += f"{title:>{size}}  "
    return line.rstrip()
