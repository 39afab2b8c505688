"""What flamelet says of the programs that ran in this process, in the words of the oracle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from flamelet.picture import Picture
from render import Rendered

Path = tuple[str, ...]


class Times(NamedTuple):
    """Nanoseconds of a function with what it called."""

    cpu: int
    blocked: int


@dataclass
class Observed:
    """calls: by label and path. tasks: by entry function and label, how many began and ended. times: by function."""

    calls: Counter[tuple[int, Path]] = field(default_factory=Counter)
    tasks: dict[tuple[str, int], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    times: dict[str, Times] = field(default_factory=lambda: defaultdict(lambda: Times(0, 0)))


def observe(picture: Picture, programs: Mapping[str, Rendered]) -> dict[str, Observed]:
    """programs: by the file that their functions are from. Other functions on a path are left out."""
    found = {file: Observed() for file in programs}
    owners: list[tuple[str, str] | None] = []  # by function id: the program and the function's name in it
    for function in picture.functions:
        file, _, inner = function.file.partition("> ")
        file = file if file.endswith(">") else file + ">"
        if function.kind != 0 or file not in programs:
            owners.append(None)
        elif inner:
            owners.append((file, inner))
        elif function.name.startswith("<"):
            owners.append((file, programs[file].lines[function.line]))
        else:
            owners.append((file, function.name))

    labels = {number: _label(picture.string(group.label)) for number, group in picture.groups.items()}
    paths: dict[int, tuple[str, Path]] = {0: ("", ())}
    inclusive: dict[int, Times] = {}
    for number in sorted(picture.nodes):
        node = picture.nodes[number]
        file, path = paths[node.parent]
        owner = owners[node.function]
        if owner:
            assert file in ("", owner[0]), f"a function of {owner[0]} below one of {file}"
            file, path = owner[0], (*path, owner[1])
            found[file].calls[labels.get(node.group, 0), path] += node.calls
        paths[number] = file, path
    for number in sorted(picture.nodes, reverse=True):
        node = picture.nodes[number]
        below = inclusive.get(number, Times(0, 0))
        whole = Times(below.cpu + node.cpu, below.blocked + node.blocked + node.idle)
        over = inclusive.get(node.parent, Times(0, 0))
        inclusive[node.parent] = Times(over.cpu + whole.cpu, over.blocked + whole.blocked)
        owner = owners[node.function]
        if owner:  # none of those that are asked for is recursive
            times = found[owner[0]].times[owner[1]]
            found[owner[0]].times[owner[1]] = Times(times.cpu + whole.cpu, times.blocked + whole.blocked)

    for number, group in picture.groups.items():
        owner = owners[group.entry]
        if owner:
            row = found[owner[0]].tasks[owner[1], labels[number]]
            row[0] += group.started
            row[1] += group.ended
    return found


def _label(text: str) -> int:
    return int(text.removeprefix("label ")) if text else 0
