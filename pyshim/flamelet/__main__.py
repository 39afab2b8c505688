"""The command line: `flamelet COMMAND` and `python -m flamelet COMMAND`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import __version__
from .commands import report, run
from .commands.parsing import CommandParser
from .errors import FlameletError
from .launcher import launch
from .standard_error import say

# In the order in which the help shows them.
COMMANDS = (run, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns its exit code; 2 where flamelet could not do what it was asked for."""
    try:
        options = _parser().parse_args(arguments)
        outcome = options.run(options)
    except FlameletError as error:
        say(str(error))
        return 2
    if isinstance(outcome, int):
        return outcome
    # Here, and not in the command: each frame below the program takes one of its recursion limit.
    launch(outcome)
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="flamelet",
        description="Shows, live, where a greenlet program spends its time.",
        epilog="`flamelet COMMAND --help` tells more.",
    )
    parser.add_argument("--version", action="version", version=f"flamelet {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=CommandParser)
    for command in COMMANDS:
        command.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
