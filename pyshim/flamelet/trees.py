"""Sums over call trees: from own times of nodes to the totals of functions, and who called whom.

Iterative throughout: stacks of several thousand frames are real. A recursive function is several nodes on one path; its
total counts each moment once, so only the topmost of them adds its subtree.
"""

from __future__ import annotations

from collections.abc import Mapping

from .tables import Node

CPU, BLOCKED, IDLE, WAITED = range(4)
Times = list[int]
"""cpu, blocked, idle, waited; ns."""


class FunctionSums:
    """Sums of one function over all its nodes."""

    __slots__ = ("calls", "own", "seeded", "total")

    def __init__(self) -> None:
        self.calls = 0
        self.seeded = 0
        self.own: Times = [0, 0, 0, 0]
        self.total: Times = [0, 0, 0, 0]


class EdgeSums:
    """Sums of the calls from one function to another."""

    __slots__ = ("calls", "total")

    def __init__(self) -> None:
        self.calls = 0
        self.total: Times = [0, 0, 0, 0]


class TreeSums:
    """What sum_trees() finds. outside: own times of the roots, which stand before the first call of a task."""

    def __init__(self) -> None:
        self.functions: dict[int, FunctionSums] = {}
        self.edges: dict[tuple[int, int], EdgeSums] = {}
        self.outside: Times = [0, 0, 0, 0]


def sum_trees(nodes: Mapping[int, Node], open_waits: Mapping[int, int]) -> TreeSums:
    """Sum all trees. open_waits: by node id, the ns that tasks parked there have waited up to now."""
    order = sorted(nodes)
    own = {number: _own_times(nodes[number], open_waits.get(number, 0)) for number in order}
    subtree = {number: own[number].copy() for number in order}
    children: dict[int, list[int]] = {number: [] for number in order}
    roots: list[int] = []
    # A parent's id is smaller than its children's, so backwards every subtree is complete when it is added.
    for number in reversed(order):
        parent = nodes[number].parent
        if parent:
            children[parent].append(number)
            _add(subtree[parent], subtree[number])
        else:
            roots.append(number)

    sums = TreeSums()
    active: dict[int, int] = {}  # functions on the path from the root to here, and how often
    active_edges: dict[tuple[int, int], int] = {}
    stack = roots
    while stack:
        number = stack.pop()
        # Complements mark the way back: all children have been seen.
        leaving = number < 0
        node = nodes[~number if leaving else number]
        function = node.function
        caller = nodes[node.parent].function if node.parent else 0
        edge = (caller, function)
        if leaving:
            active[function] -= 1
            active_edges[edge] -= 1
            continue
        if function == 0:
            _add(sums.outside, own[number])
        else:
            row = sums.functions.setdefault(function, FunctionSums())
            row.calls += node.calls
            row.seeded += node.seeded
            _add(row.own, own[number])
            if not active.get(function):
                _add(row.total, subtree[number])
            if caller:
                call = sums.edges.setdefault(edge, EdgeSums())
                call.calls += node.calls
                if not active_edges.get(edge):
                    _add(call.total, subtree[number])
        active[function] = active.get(function, 0) + 1
        active_edges[edge] = active_edges.get(edge, 0) + 1
        stack.append(~number)
        stack.extend(children[number])
    return sums


def _own_times(node: Node, open_wait: int) -> Times:
    return [node.cpu, node.blocked, node.idle, node.waited + open_wait]


def _add(times: Times, more: Times) -> None:
    for kind in (CPU, BLOCKED, IDLE, WAITED):
        times[kind] += more[kind]
