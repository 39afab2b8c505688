"""`flamelet report`: the summary of a recording."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ..recording import read_recording
from ..report import TOP, json_text, print_text
from ..snapshots import make_snapshot
from ..standard_error import say

if TYPE_CHECKING:
    from .parsing import Commands


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "report",
        help="print the summary of a recording",
        description="Print the summary of a recording: functions, tasks, and who held a hub longest.",
    )
    parser.add_argument("file", metavar="FILE", help="a recording, as `flamelet run -o FILE` writes it")
    parser.add_argument("--json", action="store_true", help="all rows as JSON, in stable keys (docs/report-json.md)")
    parser.add_argument(
        "--top", type=_count, default=TOP, metavar="N", help=f"rows of a table (default {TOP}, 0: all of them)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    recording = read_recording(options.file)
    if recording.warning:
        say(f"{options.file}: {recording.warning}")
    snapshot = make_snapshot(recording)
    try:
        if options.json:
            sys.stdout.write(json_text(snapshot))
            sys.stdout.flush()
        else:
            print_text(snapshot, sys.stdout, options.top)
    except BrokenPipeError:
        # Whoever read it has seen enough. The interpreter would try to write the rest again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)
