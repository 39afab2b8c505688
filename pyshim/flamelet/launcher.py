"""Runs a program as `python SCRIPT` or `python -m MODULE` would, with profiling on.

The program gets a `__main__` of its own, and the arguments, the module search path and the modules that it would have
had. Three frames of ours are below it (the command's, `main()` and `launch()`), which tracebacks do not show.
"""

from __future__ import annotations

import builtins
import os
import sys

# Where the interpreter itself takes the loaders of a script from.
from _frozen_importlib_external import SourceFileLoader, SourcelessFileLoader
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, NamedTuple

from . import _ext
from .errors import UsageError


class Program(NamedTuple):
    """What to run: a script (also a folder or zip file with a `__main__`), or a module as `-m` does. `arguments` are
    what it finds in sys.argv[1:]."""

    name: str
    arguments: tuple[str, ...]
    is_module: bool

    def __str__(self) -> str:
        return f"-m {self.name}" if self.is_module else self.name


class Launch(NamedTuple):
    """A program that is ready to run. with_builtins: functions written in C are profiled too."""

    program: Program
    with_builtins: bool


def check(program: Program) -> None:
    """UsageError where the program is clearly not there. Runs nothing of it."""
    if program.is_module:
        _check_module(program.name)
    else:
        _check_script(program.name)


def launch(order: Launch) -> None:
    """Run the program, with profiling on from its first call, and come back when its main code has ended.

    An exception that leaves the program, SystemExit included, leaves this function too.
    """
    main = _new_main()
    try:
        run, arguments = _prepare(order.program, main)
        sys.modules["__main__"] = main
        _hide_our_imports()
        _ext.start(builtins=order.with_builtins, seed=False)
        run(*arguments)
    except SystemExit:
        raise
    except BaseException as error:
        _show_as_the_programs_own(error, main)
        raise
    _forget_file(main)


def _prepare(program: Program, main: ModuleType) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What to call, and with what, so that the program runs in `main`."""
    from runpy import _run_module_as_main  # type: ignore[attr-defined] # what the interpreter itself calls

    if program.is_module:
        sys.argv = ["-m", *program.arguments]
        _set_first_path(os.getcwd())
        return _run_module_as_main, (program.name,)
    sys.argv = [program.name, *program.arguments]
    if _importer(program.name) is not None:
        _set_first_path(program.name, always=True)
        return _run_module_as_main, ("__main__", False)
    path = _absolute(program.name)
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    return exec, (_load(path, main), main.__dict__)


def _new_main() -> ModuleType:
    """A `__main__` as the interpreter makes it."""
    main = ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    return main


def _load(path: str, main: ModuleType) -> object:
    """The code of a script."""
    if path.endswith(".pyc"):
        sourceless = SourcelessFileLoader("__main__", path)
        main.__dict__.update(__loader__=sourceless, __file__=path, __cached__=None)
        return sourceless.get_code("__main__")
    main.__dict__.update(__loader__=SourceFileLoader("__main__", path), __file__=path, __cached__=None)
    with open(path, "rb") as file:
        source = file.read()
    return compile(source, path, "exec", dont_inherit=True)


def _forget_file(main: ModuleType) -> None:
    """As the interpreter does when a script has ended, so exit handlers and threads see what they would have seen."""
    if main.__spec__ is None:
        main.__dict__.pop("__file__", None)
        main.__dict__.pop("__cached__", None)


def _set_first_path(path: str, *, always: bool = False) -> None:
    """Put this in place of what the interpreter put first on the module search path for us. With -P it put nothing
    there. always: the program's place is on the path even then."""
    if not sys.flags.safe_path:
        sys.path[0] = path
    elif always:
        sys.path.insert(0, path)


def _hide_our_imports() -> None:
    """Take the modules that flamelet imported out of the program's sight.

    A program may have a file of its own that is named like one of them, and would get it without us. Ours keep the
    modules that they have. `sys.modules` is in the order of imports, and flamelet stands before what it imports.
    """
    names = list(sys.modules)
    for name in names[names.index(__package__ or "flamelet") + 1 :]:
        if name.partition(".")[0] not in ("flamelet", "encodings", "__main__"):
            del sys.modules[name]


def _show_as_the_programs_own(error: BaseException, main: ModuleType) -> None:
    """See that the interpreter, which is about to be reached by this exception, shows it without our frames.

    Only for that moment is there a hook of ours: the program has ended, and its own hook is called in the end.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    hook = getattr(sys, "excepthook", None)

    def show(kind: type[BaseException], value: BaseException, shown: TracebackType | None) -> None:
        if hook is None:
            del sys.excepthook
        else:
            sys.excepthook = hook
        if value is error:
            shown = sys.last_traceback = error.__traceback__ = traceback
        if hook is None:
            sys.stderr.write("sys.excepthook is missing\n")
            sys.__excepthook__(kind, value, shown)
        else:
            _call_hook(hook, kind, value, shown)
        _forget_file(main)

    sys.excepthook = show


def _call_hook(
    hook: Callable[..., object], kind: type[BaseException], value: BaseException, traceback: TracebackType | None
) -> None:
    """Call the program's hook; where that fails say so in the interpreter's words."""
    try:
        hook(kind, value, traceback)
    except SystemExit:
        raise
    except BaseException as error:
        sys.stderr.write("Error in sys.excepthook:\n")
        behind = error.__traceback__
        sys.__excepthook__(type(error), error, behind.tb_next if behind else None)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(kind, value, traceback)


def _check_script(name: str) -> None:
    try:
        importer = _importer(name)
        if importer is None:
            with open(name, "rb"):
                return
    except (OSError, ValueError) as error:
        raise UsageError(f"can't open the script {name!r}: {getattr(error, 'strerror', None) or error}") from None
    if importer.find_spec("__main__") is None:
        raise UsageError(f"can't run {name!r}: there is no __main__ module in it")


def _check_module(name: str) -> None:
    from importlib.util import find_spec

    _set_first_path(os.getcwd())
    top = name.partition(".")[0]
    try:
        found = bool(top) and find_spec(top) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise UsageError(f"there is no module named {top!r} to run")


def _importer(path: str) -> Any:
    """What imports from this path where it is a folder or a zip file; else None."""
    for hook in sys.path_hooks:
        try:
            return hook(path)
        except ImportError:
            continue
    return None


def _absolute(path: str) -> str:
    """As the interpreter does it: `..` and links stay as they are."""
    return path if os.path.isabs(path) else f"{os.getcwd()}/{path.removeprefix('./')}"
