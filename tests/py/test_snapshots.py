"""From trees to rows: sums that count each moment once, whatever the shape of a tree."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence

from flamelet.messages import About, decode
from flamelet.picture import Picture
from flamelet.recording import Recording
from flamelet.snapshots import Snapshot, make_snapshot
from flamelet.tables import Node
from flamelet.trees import TreeSums, sum_trees


def node(parent: int, function: int, calls: int = 0, cpu: int = 0, waited: int = 0) -> Node:
    row = Node()
    row.seeded = 0
    row.parent, row.function, row.group, row.thread = parent, function, 0, 1
    row.calls, row.cpu, row.blocked, row.idle, row.waited = calls, cpu, 0, 0, waited
    return row


def numbered(rows: Iterable[Node]) -> dict[int, Node]:
    return dict(enumerate(rows, 1))


def test_recursion_and_callers() -> None:
    # GIVEN root -> a -> b -> a -> b, and root -> b
    nodes = numbered(
        [
            node(0, 0, cpu=1),
            node(1, 1, calls=1, cpu=10),
            node(2, 2, calls=2, cpu=20),
            node(3, 1, calls=3, cpu=40),
            node(4, 2, calls=4, cpu=80),
            node(1, 2, calls=5, cpu=160),
        ]
    )
    # WHEN they are summed
    sums = sum_trees(nodes, {})
    # THEN own times are sums over the nodes, and totals those of the topmost ones
    assert sums.outside[0] == 1
    a, b = sums.functions[1], sums.functions[2]
    assert (a.calls, a.own[0], a.total[0]) == (4, 50, 150)
    assert (b.calls, b.own[0], b.total[0]) == (11, 260, 140 + 160)
    # AND an edge within itself counts once, too
    assert (sums.edges[1, 2].calls, sums.edges[1, 2].total[0]) == (6, 140)
    assert (sums.edges[2, 1].calls, sums.edges[2, 1].total[0]) == (3, 120)
    assert set(sums.edges) == {(1, 2), (2, 1)}


def test_waits_that_go_on() -> None:
    # GIVEN a task that is parked in b, below a
    nodes = numbered([node(0, 0), node(1, 1, calls=1), node(2, 2, calls=1, waited=5)])
    # WHEN it has waited for 7 up to now
    sums = sum_trees(nodes, {3: 7})
    # THEN that is in b's own and in a's total
    assert sums.functions[2].own[3] == sums.functions[2].total[3] == 12
    assert (sums.functions[1].own[3], sums.functions[1].total[3]) == (0, 12)


def naive(nodes: dict[int, Node]) -> dict[int, tuple[int, int]]:
    """Own and total cpu of each function, the slow way: for each node, the set of functions above it."""
    sums: dict[int, tuple[int, int]] = {}
    for row in nodes.values():
        above, at = set(), row
        while at.function:
            above.add(at.function)
            at = nodes[at.parent]
        for function in above:
            own, total = sums.get(function, (0, 0))
            sums[function] = (own + (row.cpu if function == row.function else 0), total + row.cpu)
    return sums


def cpu_of(sums: TreeSums) -> dict[int, tuple[int, int]]:
    return {number: (row.own[0], row.total[0]) for number, row in sums.functions.items()}


def test_random_trees_against_a_naive_sum() -> None:
    # GIVEN trees of all shapes, with few functions, so that there is much recursion
    chance = random.Random(4)
    for size in (1, 2, 5, 20, 200):
        for functions in (1, 3, 10):
            rows = [node(0, 0)]
            rows += [
                node(chance.randint(max(1, i - 3), i), chance.randint(1, functions), 1, chance.randrange(100))
                for i in range(1, size + 1)
            ]
            nodes = numbered(rows)
            # WHEN they are summed
            # THEN the result is that of the slow way
            assert cpu_of(sum_trees(nodes, {})) == naive(nodes)


def test_deep_and_large_trees() -> None:
    # GIVEN a stack of 5,000 frames, and 100,000 nodes
    deep = numbered([node(0, 0), *(node(i, 1 + i % 7, 1, 1) for i in range(1, 5001))])
    large = numbered([node(0, 0), *(node(max(1, i // 3), 1 + i % 1000, 1, 1) for i in range(1, 100_000))])
    begin = time.monotonic()
    # WHEN they are summed
    sums = sum_trees(deep, {})
    sum_trees(large, {})
    # THEN there is no limit of recursion, and it takes seconds at most on a busy machine
    assert sums.functions[2].total[0] == 5000
    assert time.monotonic() - begin < 20


def picture_of(names: Sequence[str], path: Sequence[int]) -> Snapshot:
    """The snapshot of one thread with a stack of functions, given by their positions in `names`."""
    count = len(path) + 1
    zeros = [0] * count
    status = {
        "state": "running",
        "clock": "tsc+short",
        "reading": 20,
        "switches": True,
        "nodes": count,
        "tasks": 1,
        "lost": dict.fromkeys(("events", "tasks", "unmatched", "displaced", "slices", "strings", "threads"), 0),
    }
    ids = list(range(1, len(names) + 1))
    numbers = list(range(1, count + 1))
    body = {
        "subscription": 0,
        "version": 1,
        "since": 0,
        "now": 1_000_000_000,
        "status": status,
        "strings": {"first": 1, "add": list(names)},
        "functions": {
            "first": 1,
            "add": {"name": ids, "qualname": ids, "file": ids, "line": ids, "kind": [0] * len(names)},
        },
        "nodes": {
            "add": {
                "id": numbers,
                "parent": [0, *numbers[:-1]],
                "function": [0, *(i + 1 for i in path)],
                "group": zeros,
                "thread": zeros,
            },
            "upd": {
                "id": numbers,
                "calls": [1] * count,
                "cpu": [1_000_000] * count,
                "blocked": zeros,
                "idle": zeros,
                "waited": zeros,
            },
        },
    }
    picture = Picture()
    message = decode({"seq": 1, "type": "event", "event": "flamelet/update", "body": body})
    picture.apply(message)  # type: ignore[arg-type] # an update, as it says
    about = About(1, "0", 1, "p.py", "3.12.1", 0, 100_000_000)
    return make_snapshot(Recording(about, picture, False, ""))


def test_rows_do_not_change() -> None:
    # GIVEN a snapshot
    snapshot = picture_of(["a", "b"], [0, 1])
    # THEN all of it is immutable
    assert isinstance(snapshot.functions, tuple)
    assert isinstance(snapshot.functions[0], tuple)
    assert not hasattr(snapshot.lost, "__setitem__")
    assert hash(snapshot.functions[0]) == hash(snapshot.functions[0])
    # AND edges point into the functions
    assert [(snapshot.functions[e.caller].name, snapshot.functions[e.callee].name) for e in snapshot.edges] == [
        ("a", "b")
    ]
