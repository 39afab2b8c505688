"""Whom the oracle moves: greenlets, generators and threads of a program; and where they leave a stack."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from program import SLOTS

Walk = Generator[Any, Any, None]
"""A body of the program under way: it yields `Give` and `Switch`."""


class Raised(Exception):
    """An exception of the program's. error: its number."""

    def __init__(self, error: int) -> None:
        super().__init__(error)
        self.error = error


class Left(Exception):
    """A `return` in a body."""


class Give:
    """The body yields."""


@dataclass
class Switch:
    """To a greenlet, or to whom it leads to. raised: what is thrown into it."""

    target: Greenlet
    raised: Raised | None = None


class Greenlet:
    """own_label: what it has set, or got at its beginning. label: what is known of that. While profiling is off nothing
    is; the label is found where it runs at the start, or (`found` is false) is switched to first."""

    def __init__(self, parent: Greenlet | None, walk: Walk | None) -> None:
        self.parent = parent
        self.walk = walk
        self.started = self.dead = False
        self.stack: list[str] = []
        self.own_label = self.label = 0
        self.found = True
        # What its group is counted by: the entry function, once it has entered one while profiling was on.
        self.known: tuple[str, int] | None = None
        self.home: tuple[str, int] | None = None


def parent_of(greenlet: Greenlet) -> Greenlet:
    assert greenlet.parent, "only the main greenlet has none"
    return greenlet.parent


class Generated:
    """A generator or coroutine of the program's."""

    def __init__(self, key: str, walk: Walk) -> None:
        self.key = key
        self.walk = walk
        self.state = "new"
        self.delegate: Generated | None = None
        self.tries = 0  # how many `try` and `with` it is in


class Tries:
    """While a generator is in one `try` more."""

    def __init__(self, own: Generated | None) -> None:
        self._own = own

    def __enter__(self) -> None:
        if self._own:
            self._own.tries += 1

    def __exit__(self, *error: object) -> None:
        if self._own:
            self._own.tries -= 1


@dataclass
class World:
    """What one thread of the program has."""

    main: Greenlet
    current: Greenlet
    greenlets: list[Greenlet | None] = field(default_factory=lambda: [None] * SLOTS)
    parents: list[Greenlet] = field(default_factory=list)
    held: list[Greenlet] = field(default_factory=list)  # by who is parked in its switch() or throw()
    n: list[Generated | None] = field(default_factory=lambda: [None] * SLOTS)
    c: list[Generated | None] = field(default_factory=lambda: [None] * SLOTS)
    all: list[Greenlet] = field(default_factory=list)


def upwards(greenlet: Greenlet | None) -> Iterable[Greenlet]:
    """It, its parent, and so on."""
    while greenlet:
        yield greenlet
        greenlet = greenlet.parent
