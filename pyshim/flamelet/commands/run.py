"""`flamelet run`: run a program with profiling on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .. import browser, ending, following, launcher, session
from ..errors import UsageError
from ..filters import set_filters
from ..recording import RecordingFile
from ..standard_error import say

if TYPE_CHECKING:
    from .parsing import Commands

_EPILOG = """\
Everything behind SCRIPT or MODULE belongs to the program. Its output, exit code and behaviour are those that it has
without flamelet; flamelet's own words go to standard error. At its end a summary is printed there, unless -o is given.

A PATTERN with a slash, or that ends in .py, is a glob for the file (a relative one may begin at any folder); every
other one is a glob for the module and what lies below it. --include and --exclude may be given again. The time of what
is hidden stays with the nearest caller that is shown.

A child that the program forks, and that lives for a second, is followed: it has a recording of its own beside FILE
(FILE.PID.flamelet, without -o none), and a live view of its own, which the page's list of processes shows.

Exit code 2, with nothing run: a wrong option, a script or module that is not there, a port in use, a file that can't be
written. FLAMELET_CLOCK (auto, tsc, monotonic) and FLAMELET_CPU_CLOCK (auto, rseq, short) force a clock.
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "run",
        help="run a program with profiling on",
        description="Run a program as python would, with profiling on and a live view in the browser.",
        usage="flamelet run [options] SCRIPT [ARGS...]\n       flamelet run [options] -m MODULE [ARGS...]",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    port = parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="port of the live view on 127.0.0.1 (default: a free one)"
    )
    output = parser.add_argument(
        "-o", "--output", metavar="FILE", help="write a recording there at the end (NAME.flamelet)"
    )
    parser.add_argument("--no-server", dest="server", action="store_false", help="no live view")
    parser.add_argument("--open", action="store_true", help="open the live view in a browser")
    parser.add_argument("--builtins", action="store_true", help="functions written in C too, at a higher cost")
    threshold = parser.add_argument(
        "--threshold",
        type=_seconds,
        default=session.DEFAULT_THRESHOLD,
        metavar="SECONDS",
        help="list who holds a hub for longer than this (default: 0.1)",
    )
    task_trees = parser.add_argument(
        "--task-trees",
        choices=session.TASK_TREES,
        default=session.TASK_TREES[0],
        help="tasks with a call tree of their own: that live long or are watched (default), only the watched, all",
    )
    include = parser.add_argument(
        "--include", action="append", default=[], metavar="PATTERN", help="show only what this matches (see below)"
    )
    exclude = parser.add_argument(
        "--exclude", action="append", default=[], metavar="PATTERN", help="hide what this matches (see below)"
    )
    parser.add_argument("--no-stdlib", dest="stdlib", action="store_false", help="hide Python's own modules")
    follow_fork = parser.add_argument(
        "--follow-fork",
        choices=following.MODES,
        default=following.MODES[0],
        help="children that the program forks: those that live for a second (default), all, none",
    )
    with_values = (port, output, threshold, task_trees, include, exclude, follow_fork)
    parser.before_program = tuple(name for option in with_values for name in option.option_strings)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> launcher.Launch:
    program = _program(options.rest)
    if not options.server and (options.open or options.port):
        raise UsageError(f"{'--open' if options.open else '--port'} and --no-server exclude each other")
    set_filters(include=options.include, exclude=options.exclude, stdlib=options.stdlib)
    launch = launcher.load(program, with_builtins=options.builtins)
    file = RecordingFile(options.output) if options.output is not None else None
    session.prepare(builtins=options.builtins, threshold=options.threshold, task_trees=options.task_trees)
    if options.server:
        url = session.serve_session(options.port, session.encodable(str(program)))
        say(url)
        problem = browser.open_page(url) if options.open else ""
        if problem:
            say(problem)
    ending.at_the_end(program, file)
    following.follow(session.encodable(str(program)), file, serve=options.server, mode=options.follow_fork)
    return launch


def _program(rest: list[str]) -> launcher.Program:
    is_module = rest[:1] == ["-m"]
    name, *arguments = rest[is_module:] or [""]
    if not name:
        raise UsageError("what is to be run? `flamelet run SCRIPT`, or `flamelet run -m MODULE`")
    return launcher.Program(name, tuple(arguments), is_module)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0 and up to 3600")
    return seconds
