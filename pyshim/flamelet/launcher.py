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
from contextlib import suppress
from types import CodeType, ModuleType, TracebackType
from typing import Any, NamedTuple, cast

from . import _ext, _supported
from .errors import UsageError

# Whether the interpreter forgets where a script was before it shows the error by which the script ended, or takes its
# exit code; it used to do so afterwards (gh-152132, in bug-fix releases too).
_FORGETS_FIRST = sys.version_info >= {13: (3, 13, 15), 14: (3, 14, 7)}.get(sys.version_info.minor, (3, 15))


class Program(NamedTuple):
    """What to run: a script (also a folder or zip file with a `__main__`), or a module as `-m` does. `arguments` are
    what it finds in sys.argv[1:]."""

    name: str
    arguments: tuple[str, ...]
    is_module: bool

    def __str__(self) -> str:
        return f"-m {self.name}" if self.is_module else self.name


class Launch(NamedTuple):
    """A program that is ready to run. code: of a script; None for what is found through the import system.
    with_builtins: functions written in C are profiled too."""

    program: Program
    code: CodeType | None
    with_builtins: bool


def load(program: Program, *, with_builtins: bool) -> Launch:
    """Find the program; nothing of it runs yet. UsageError where it is not there."""
    if program.is_module:
        _check_module(program.name)
        return Launch(program, None, with_builtins)
    try:
        importer = _importer(program.name)
        code = _compile(program) if importer is None else None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"can't open the script {program.name!r}: {reason}") from None
    if importer is not None and importer.find_spec("__main__") is None:
        raise UsageError(f"can't run {program.name!r}: there is no __main__ module in it")
    return Launch(program, code, with_builtins)


def launch(order: Launch) -> None:
    """Run the program, with profiling on from its first call, and come back when its main code has ended.

    An exception that leaves the program, SystemExit included, leaves this function too.
    """
    main = _new_main()
    _hide_our_imports()
    run, arguments = _prepare(order, main)
    sys.modules["__main__"] = main
    is_script = order.code is not None
    try:
        _ext.start(builtins=order.with_builtins, seed=False)
        run(*arguments)
    except BaseException as error:
        if is_script and _FORGETS_FIRST:
            _forget_file(main)
        if not isinstance(error, SystemExit):
            _show_as_the_programs_own(error, main, forget_file=is_script)
        raise
    if is_script:
        _forget_file(main)


def _prepare(order: Launch, main: ModuleType) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What to call, and with what, so that the program runs in `main`."""
    program = order.program
    if program.is_module:
        sys.argv = ["-m", *program.arguments]
        _set_first_path(os.getcwd())
        return _runner_of_modules(), (program.name,)
    sys.argv = [program.name, *program.arguments]
    path = _absolute(program.name)
    if order.code is None:
        _set_first_path(path, always=True)
        return _runner_of_modules(), ("__main__", False)
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    main.__dict__.update(__loader__=_loader(path), __file__=path)
    if sys.version_info < (3, 15):
        main.__dict__.update(__cached__=None)
    return exec, (order.code, main.__dict__)


def _runner_of_modules() -> Callable[..., Any]:
    """What the interpreter itself calls for -m, and which is then among the program's modules."""
    from runpy import _run_module_as_main  # type: ignore[attr-defined] # by the interpreter, under this name

    return cast(Callable[..., Any], _run_module_as_main)


def _new_main() -> ModuleType:
    """A `__main__` as the interpreter makes it."""
    main = ModuleType("__main__")
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    return main


def _loader(path: str) -> SourceFileLoader | SourcelessFileLoader:
    return (SourcelessFileLoader if path.endswith(".pyc") else SourceFileLoader)("__main__", path)


def _compile(program: Program) -> CodeType:
    """The code of a script. OSError or ValueError where it can't be read."""
    path = _absolute(program.name)
    if path.endswith(".pyc"):
        code = _loader(path).get_code("__main__")
        assert code is not None
        return code
    with open(path, "rb") as file:
        source = file.read()
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        # Nothing of it can run. How the interpreter says that depends on how it reads files, so let it.
        os.execv(sys.executable, [sys.executable, *_interpreter_options(), program.name, *program.arguments])


def _interpreter_options() -> list[str]:
    """What stands between the interpreter and flamelet on the command line, such as -X dev."""
    up_to_flamelet = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    options = up_to_flamelet[:-1]
    return options[:-1] if options[-1:] == ["-m"] else options


def _forget_file(main: ModuleType) -> None:
    """As the interpreter does when a script has ended, so exit handlers and threads see what they would have seen."""
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
    modules that they have. `sys.modules` is in the order in which imports ended, so a module of flamelet that imports
    nothing new stands before all that flamelet brought.
    """
    names = list(sys.modules)
    for name in names[names.index(_supported.__name__) :]:
        if name.partition(".")[0] not in (__package__, "encodings", "__main__"):
            del sys.modules[name]


def _show_as_the_programs_own(error: BaseException, main: ModuleType, *, forget_file: bool) -> None:
    """See that the interpreter, which is about to be reached by this exception, shows it without our frames.

    Only for that moment is there a hook of ours: the program has ended, and its own hook is called in the end.
    """
    traceback = error.__traceback__
    # The first entry is that of launch().
    traceback = traceback.tb_next if traceback else None
    hook = getattr(sys, "excepthook", None)

    def show(kind: type[BaseException], value: BaseException, shown: TracebackType | None) -> None:
        if hook is None:
            del sys.excepthook
        else:
            sys.excepthook = hook
        if value is error:
            shown = sys.last_traceback = error.__traceback__ = traceback
        _call_hook(hook, kind, value, shown)
        if forget_file:
            _forget_file(main)

    sys.excepthook = show


def _call_hook(
    hook: Callable[..., object] | None,
    kind: type[BaseException],
    value: BaseException,
    traceback: TracebackType | None,
) -> None:
    """Call the program's hook; where there is none, or it fails, do and say what the interpreter would."""
    if hook is None:
        _tell("sys.excepthook is missing\n")
        sys.__excepthook__(kind, value, traceback)
        return
    try:
        hook(kind, value, traceback)
    except SystemExit:
        raise
    except BaseException as error:
        # The first entry is that of this function.
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        _tell("Error in sys.excepthook:\n")
        sys.__excepthook__(type(error), error, error.__traceback__)
        _tell("\nOriginal exception was:\n")
        sys.__excepthook__(kind, value, traceback)


def _tell(text: str) -> None:
    """Write to the program's standard error as the interpreter does, that is to the file itself where it has none."""
    try:
        sys.stderr.write(text)
    except Exception:
        with suppress(OSError):
            os.write(2, text.encode())


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
    """As the interpreter does it: `.`, `..` and links stay as they are."""
    return os.path.join(os.getcwd(), path)
