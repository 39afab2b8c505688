"""What the parsers of the commands have in common."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["CommandParser"]


class CommandParser(argparse.ArgumentParser):
    """A parser that can leave alone what belongs to a program.

    With `before_program` set to the options that take a value, parsing ends at the first argument that is no option, or
    at -m: it and all that follows is `options.rest`, however much it looks like options of ours.
    """

    before_program: Iterable[str] | None = None

    def __init__(self, **settings: Any) -> None:
        # A shortened option would change its meaning with the next one that begins like it.
        super().__init__(**{"allow_abbrev": False, **settings})

    # Any, as in the stubs of argparse: the overloads of this method are about namespaces of other types.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        if self.before_program is None:
            return super().parse_known_args(args, namespace)
        ours, rest = _split(args, frozenset(self.before_program))
        options, unknown = super().parse_known_args(ours, namespace)
        options.rest = rest
        return options, unknown


def _split(arguments: Sequence[str], with_value: frozenset[str]) -> tuple[list[str], list[str]]:
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            return list(arguments[:at]), list(arguments[at + 1 :])
        if argument == "-m" or not argument.startswith("-"):
            break
        at += 2 if argument in with_value else 1
    return list(arguments[:at]), list(arguments[at:])
