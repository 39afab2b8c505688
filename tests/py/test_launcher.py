"""`flamelet run` against plain Python: each program here must not be able to tell the two apart.

What a program writes, how it ends and what it finds in its interpreter is compared byte for byte.
"""

from __future__ import annotations

import py_compile
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from running import FLAMELET, PYTHON, Finished, run

Write = Callable[..., Path]

PROGRAMS = {
    "main": """
        "A text about it."
        import builtins, sys, __main__
        x: int = 1
        print(sys.argv, __name__, __file__, __spec__, __package__, __doc__)
        print(globals().get("__cached__", "3.15 has none"))
        print(type(__loader__).__name__, __loader__.name, __loader__.path, __builtins__ is builtins)
        print(list(globals()), __annotations__ if sys.version_info < (3, 14) else None)
        print(__main__.x, sys.modules["__main__"] is __main__, sys.path[0], sys.flags, sys.warnoptions)
        """,
    "class-of-main": """
        import pickle, sys
        class Thing:
            class Inner: pass
            def __init__(self): self.a = 1
        made = pickle.loads(pickle.dumps([Thing(), Thing.Inner(), Thing]))
        print(type(made[0]) is Thing, made[0].a, made[2] is Thing, Thing.__module__)
        """,
    "spawn": """
        import multiprocessing
        class Thing:
            def __init__(self, n): self.n = n
        def double(thing): return Thing(thing.n * 2)
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            with context.Pool(2) as pool:
                print([t.n for t in pool.map(double, [Thing(1), Thing(2)])])
        """,
    "fork": """
        import multiprocessing, os, sys
        def work(queue): queue.put(("child", __name__, os.getpid() != parent))
        parent = os.getpid()
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=work, args=(queue,))
        child.start(); print(queue.get()); child.join(); print(child.exitcode)
        """,
    "exit-none": "import sys; print('x', end=''); sys.exit()",
    "exit-zero": "print('x', end=''); raise SystemExit(0)",
    "exit-code": "import sys; sys.exit(7)",
    "exit-large": "import sys; sys.exit(1000)",
    "exit-negative": "import sys; sys.exit(-1)",
    "exit-message": "import sys; sys.exit('it went wrong: ä')",
    "exit-object": "import sys; sys.exit(['a', 1])",
    "exit-true": "import sys; sys.exit(True)",
    "exit-nested": """
        import sys
        def f():
            try: 1 / 0
            finally: sys.exit(4)
        f()
        """,
    "os-exit": "import os; print('out', flush=True); os._exit(9)",
    "error": """
        def outer(): inner()
        def inner(): return {}["a"]
        print("before"); outer()
        """,
    "error-chained": """
        def f():
            try: 1 / 0
            except ZeroDivisionError as e: raise ValueError("second") from e
        try: f()
        except ValueError as e:
            e.add_note("a note")
            raise
        """,
    "error-group": "raise ExceptionGroup('both', [ValueError(1), KeyError(2)])",
    "error-base": "class Mine(BaseException): pass\nraise Mine('x')",
    "error-interrupt": "raise KeyboardInterrupt",
    "error-recursion": "def f(): f()\ntry: f()\nexcept RecursionError as e: raise ValueError('deep') from None",
    "error-syntax": "x = 1\ndef f(:\n",
    "error-indent": "if 1:\nx",
    "error-import": "import broken_module",
    "error-coding": "# -*- coding: no-such-coding -*-\n",
    "error-null": "x = '\0'\n",
    "hook": """
        import sys
        def hook(kind, value, traceback):
            print(kind.__name__, value, traceback.tb_frame.f_code.co_name, traceback.tb_next, sys.excepthook is hook)
            print(sys.last_value is value, sys.last_traceback is traceback, sys.last_type is kind)
            print(value.__traceback__ is traceback)
        sys.excepthook = hook
        raise ValueError("x")
        """,
    "hook-fails": """
        import sys
        def hook(*args): raise KeyError("in the hook")
        sys.excepthook = hook
        raise ValueError("x")
        """,
    "hook-missing": "import sys; del sys.excepthook; raise ValueError('x')",
    "hook-fails-in-silence": """
        import sys
        sys.excepthook = lambda *args: 1 / 0
        sys.stderr = None
        print("x"); raise ValueError("x")
        """,
    "hook-looks-for-the-file": """
        import sys
        sys.excepthook = lambda *_: print("__file__" in globals())
        raise ValueError("x")
        """,
    "hook-exits": "import sys; sys.excepthook = lambda *a: sys.exit(5); raise ValueError('x')",
    "thread-error": """
        import threading
        def work(): raise ValueError("in a thread")
        t = threading.Thread(target=work, name="worker"); t.start(); t.join(); print("after")
        """,
    "endings": """
        import atexit, sys, threading, time, weakref
        class Thing:
            def __del__(self): print("deleted")
        def last(): print("exit handler", "__file__" in globals(), "__cached__" in globals())
        class Fails:
            def __repr__(self): return "fails"
            def __call__(self): raise ValueError("in an exit handler")
        atexit.register(last)
        atexit.register(Fails())
        atexit.register(print, "first handler")
        def work():
            time.sleep(0.2); print("thread", threading.main_thread().is_alive(), "__file__" in globals())
        threading.Thread(target=work).start()
        thing = Thing()
        weakref.finalize(thing, print, "finalized")
        print("main is over")
        """,
    "endings-after-exit": """
        import atexit, sys
        atexit.register(lambda: print("__file__" in globals()))
        sys.exit(2)
        """,
    "endings-after-error": """
        import atexit, sys
        atexit.register(lambda: print("__file__" in globals(), type(sys.last_value), sys.excepthook))
        raise ValueError("x")
        """,
    "warnings": """
        import warnings
        def f(): warnings.warn("seen", stacklevel=2)
        f()
        warnings.warn("old", DeprecationWarning)
        print([w[2].__name__ for w in warnings.filters][:3])
        """,
    "stdin": "import sys; print(sys.stdin.read().upper()); print(sys.stdin.read())",
    "input": "print(input('? '))\ntry: input()\nexcept EOFError: print('no more')",
    "names-deleted": """
        import sys
        del __file__, __builtins__, __spec__
        for name in [n for n in globals() if n != "sys"]: del globals()[name]
        sys.stdout.write(repr(list(globals())))
        globals().clear()
        """,
    "main-replaced": "import sys, types; sys.modules['__main__'] = types.ModuleType('other'); print('gone')",
    "names-odd": """
        def named(name):
            exec(compile("def f(): return 1", name, "exec"), space := {})
            code = space["f"].__code__.replace(co_name=name, co_qualname=name)
            return type(named)(code, {})
        for name in ["", "a\\nb", "\\x00", "\\udc80", "é", "日本", "x" * 5000, "a;b", '"', "<script>"]:
            print(named(name)() + 1)
        """,
    "stderr-closed": "import os; print('a', flush=True); os.close(2); print('b')",
    "stderr-gone": "import sys; sys.stderr = None; print('a')",
    "stderr-own": "import io, sys; sys.stderr = io.StringIO(); print('lost', file=sys.stderr); print('a')",
    "stdout-closed": "import sys; print('a'); sys.stdout.close()",
    "stdout-large": "print('x' * 300_000)",
    "source-of-main": """
        import inspect
        def f():
            return 1  # a comment
        print(inspect.getsource(f)); import doctest; print(doctest.testmod())
        """,
    "annotations": """
        import dataclasses, typing
        @dataclasses.dataclass
        class A: x: "int" = 1
        print(typing.get_type_hints(A), A(), A(2))
        """,
    "asyncio": """
        import asyncio
        async def work(n):
            await asyncio.sleep(0.01); return n
        async def main(): return await asyncio.gather(work(1), work(2))
        print(asyncio.run(main()))
        """,
    "profilers": "import sys, threading; print(sys.getprofile(), sys.gettrace(), threading.getprofile())",
    "cprofile": """
        import cProfile
        p = cProfile.Profile(); p.enable(); sorted([2, 1]); p.disable(); print(len(p.getstats()) > 0)
        """,
    "frames": "import sys\ndef f(): return sys._getframe(1)\nprint(f().f_code.co_name, f().f_globals is globals())",
    "gevent": """
        from gevent import monkey; monkey.patch_all()
        import gevent, threading, time
        def work(n):
            time.sleep(0.01); print("work", n, threading.current_thread().name)
        jobs = [gevent.spawn(work, n) for n in range(3)]; gevent.joinall(jobs)
        """,
    "eventloop-exit": "import gevent, sys\ngevent.spawn(sys.exit, 6)\ngevent.sleep(1)",
}


def compare(
    tmp_path: Path,
    *program: str | Path,
    stdin: bytes = b"",
    env: dict[str, str] | None = None,
    interrupt: signal.Signals | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Run a program with and without flamelet. Returns what both have said."""
    cwd = cwd or tmp_path
    plain = run(PYTHON, *program, cwd=cwd, stdin=stdin, env=env, interrupt=interrupt)
    ours = run(
        FLAMELET, "run", "-o", tmp_path / "x.flamelet", *program, cwd=cwd, stdin=stdin, env=env, interrupt=interrupt
    )
    assert ours.without_our_lines() == plain
    return plain


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_cannot_tell(name: str, tmp_path: Path, write: Write) -> None:
    # GIVEN a program, with a neighbour that it may import
    write("program.py", PROGRAMS[name])
    write("broken_module.py", "def f():\n    return (\n")
    # WHEN it runs with and without flamelet
    plain = compare(tmp_path, "program.py", "one", "-m", "--port", "two words", stdin=b"typed in\n")
    # THEN both say the same, and it is something: a program that ends at once would prove nothing
    assert plain.out or plain.err or plain.code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("how", ["script", "module", "python -m flamelet"])
def test_end_by_a_signal(number: signal.Signals, how: str, tmp_path: Path, write: Write) -> None:
    # GIVEN a program that waits
    write("waits.py", "import time\nprint('ready', flush=True)\nprint(time.sleep(60))\n")
    program = ["waits.py"] if how == "script" else ["-m", "waits"]
    # WHEN it gets a signal
    plain = run(PYTHON, *program, cwd=tmp_path, interrupt=number)
    command = (*PYTHON, "-m", "flamelet") if how == "python -m flamelet" else FLAMELET
    ours = run(command, "run", "-o", "x.flamelet", *program, cwd=tmp_path, interrupt=number)
    # THEN it ends as without flamelet: by the signal, Ctrl-C with its traceback
    assert ours.without_our_lines() == plain
    assert plain.code == -number


def test_forked_child_says_nothing_of_its_own(tmp_path: Path, write: Write) -> None:
    # GIVEN a program whose forked child ends as a program does, exit handlers and all
    write(
        "program.py",
        """
        import atexit, os, sys
        parent = os.getpid()
        atexit.register(lambda: print("end of", "child" if os.getpid() != parent else "parent", flush=True))
        if os.fork() == 0:
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        """,
    )
    # WHEN it runs, warnings of forks in a process of several threads being errors
    plain = run((*PYTHON, "-W", "error"), "program.py", cwd=tmp_path)
    command = (*PYTHON, "-W", "error", "-m", "flamelet")
    ours = run(command, "run", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    # THEN it forks as without flamelet, and the child leaves recording and summary to its parent
    assert ours.without_our_lines() == plain
    assert ours.err.count(b"flamelet: recorded in") == 1


def test_interrupt_in_gevent(tmp_path: Path, write: Write) -> None:
    # GIVEN a gevent program whose main greenlet waits
    write(
        "waits.py",
        """
        import gevent
        gevent.spawn(gevent.sleep, 60)
        try: print("ready", flush=True); gevent.sleep(60)
        except KeyboardInterrupt: print("interrupted"); raise SystemExit(3)
        """,
    )
    # WHEN it gets Ctrl-C
    plain = run(PYTHON, "waits.py", cwd=tmp_path, interrupt=signal.SIGINT)
    ours = run(FLAMELET, "run", "waits.py", cwd=tmp_path, interrupt=signal.SIGINT)
    # THEN it can handle it
    assert (ours.out, ours.code) == (plain.out, plain.code) == (b"ready\ninterrupted\n", 3)


MODULES = {
    "package": ["package", "arg", "-x"],
    "module in a package": ["package.tool", "arg"],
    "module": ["plain", "-m", "x"],
    "package without __main__": ["package.sub"],
    "missing in a package": ["package.missing"],
    "error at import": ["package.broken"],
    "standard library": ["json.tool", "--help"],
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str, tmp_path: Path, write: Write) -> None:
    # GIVEN modules with relative imports
    about = (
        "import sys\nprint(sys.argv, sys.path[0], __name__, __package__, __spec__.name, __file__, sorted(globals()))\n"
    )
    write("package/__init__.py", "print('package')\n")
    write("package/__main__.py", about + "from . import part\nfrom .sub import other\nprint(part.x)\n")
    write("package/part.py", "x = 1\n")
    write("package/tool.py", about + "from .part import x\nclass A: pass\nimport pickle\npickle.dumps(A())\n")
    write("package/broken.py", "def f(): 1 / 0\nf()\n")
    write("package/sub/__init__.py", "")
    write("package/sub/other.py", "")
    write("plain.py", about + "import multiprocessing\n")
    # WHEN one runs by its name
    plain = compare(tmp_path, "-m", *MODULES[name])
    # THEN it runs as `python -m` runs it
    assert plain.out or plain.err


@pytest.mark.parametrize("path", ["far/program.py", "./far/program.py", "far/../far/program.py", "link.py", "far"])
def test_where_the_program_is(path: str, tmp_path: Path, write: Write) -> None:
    # GIVEN a script in another folder, beside a module that it imports, and ways to it
    text = "import sys\nimport beside\nprint(sys.argv, sys.path[0], __file__, beside.__file__)\n1 / 0\n"
    write("far/program.py", text)
    write("far/__main__.py", text)
    write("far/beside.py")
    (tmp_path / "link.py").symlink_to("far/program.py")
    # WHEN it runs
    plain = compare(tmp_path, path, "arg")
    # THEN it finds what it finds without flamelet
    assert b"far/beside.py" in plain.out
    assert b"ZeroDivisionError" in plain.err


def test_absolute_path_and_other_directory(tmp_path: Path, write: Write) -> None:
    # GIVEN a script that changes the directory
    script = write("my program ü.py", "import os, sys\nos.chdir('/')\nprint(sys.argv, __file__, sys.path[0])\n")
    # WHEN it runs by its full name, recorded in a file with a relative name
    compare(tmp_path, script)
    run(FLAMELET, "run", "--no-server", "-o", "here.flamelet", script, cwd=tmp_path)
    # THEN the recording is where the command was given
    assert (tmp_path / "here.flamelet").is_file()


def test_zip_and_compiled_file(tmp_path: Path, write: Write) -> None:
    # GIVEN a program in a zip file, and a compiled one
    script = write(
        "program.py", "import sys\nprint(__name__, __file__, sys.path[0], sys.argv, type(__loader__).__name__)\n"
    )
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as file:
        file.write(script, "__main__.py")
    py_compile.compile(str(script), cfile=str(tmp_path / "compiled.pyc"))
    # WHEN they run
    zipped = compare(tmp_path, "program.zip", "x")
    compiled = compare(tmp_path, "compiled.pyc", "x")
    # THEN they run as without flamelet
    assert b"program.zip/__main__.py" in zipped.out
    assert b"SourcelessFileLoader" in compiled.out


@pytest.mark.parametrize("name", ["json", "argparse", "gettext", "zlib", "typing", "report", "session", "webbrowser"])
def test_modules_with_names_that_flamelet_uses(name: str, tmp_path: Path, write: Write) -> None:
    # GIVEN a program with a module of its own that is named like one that flamelet imports
    write(f"{name}.py", "mine = 1\n")
    # (zlib may be compiled into the interpreter: then nobody gets a file.)
    write("program.py", f"import {name}\nprint({name}.__spec__.origin, getattr({name}, 'mine', 'not mine'))\n")
    # WHEN it runs
    plain = compare(tmp_path, "program.py")
    # THEN it gets its own, and the recording is written all the same
    assert plain.out
    assert (tmp_path / "x.flamelet").is_file()


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"]])
def test_modules_that_are_there(how: list[str], tmp_path: Path, write: Write) -> None:
    # GIVEN a program that tells which modules are loaded
    write("program.py", "import sys\nprint(*sorted(sys.modules), sep='\\n')\n")
    # WHEN it runs with and without flamelet
    plain = run(PYTHON, *how, cwd=tmp_path).text.split()
    ours = run(FLAMELET, "run", "--no-server", *how, cwd=tmp_path).text.split()
    # THEN nothing but flamelet is there in addition, and `re`, which pip's start script may import
    regular_expressions = run(PYTHON, "-c", "import re, sys; print(*sys.modules, sep='\\n')", cwd=tmp_path).text.split()
    more = {name for name in ours if name.partition(".")[0] != "flamelet"} - set(plain)
    assert more <= set(regular_expressions)
    assert set(plain) <= set(ours)


def test_recursion_depth(tmp_path: Path, write: Write) -> None:
    # GIVEN a program that finds out how deep it can go
    write(
        "program.py",
        """
        def depth(n):
            try: return depth(n + 1)
            except RecursionError: return n
        print(depth(0))
        """,
    )
    # WHEN it runs with and without flamelet
    plain = int(run(PYTHON, "program.py", cwd=tmp_path).text)
    ours = int(run(FLAMELET, "run", "--no-server", "program.py", cwd=tmp_path).text)
    # THEN it gets nearly as deep
    assert plain - 10 < ours <= plain
    assert ours > 900


def test_interpreter_options(tmp_path: Path, write: Write) -> None:
    # GIVEN a program that depends on the interpreter's options
    write("program.py", "import sys, warnings\nprint(sys.flags, sys.warnoptions, sys._xoptions)\nwarnings.warn('x')\n")
    options = ["-X", "dev", "-O", "-W", "error", "-P"]
    # WHEN flamelet runs in an interpreter with such options
    plain = run((*PYTHON, *options), "program.py", cwd=tmp_path)
    ours = run((*PYTHON, *options, "-m", "flamelet"), "run", "-o", "x.flamelet", "program.py", cwd=tmp_path)
    # THEN the program has them too
    assert ours.without_our_lines() == plain
    assert b"UserWarning" in plain.err


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_locale(locale: dict[str, str], tmp_path: Path, write: Write) -> None:
    # GIVEN a program with names and output beyond ASCII
    write("program.py", "import sys\ndef größe(): return 'ü'\nprint(ascii(größe()), sys.stdout.encoding)\n1 / 0\n")
    # WHEN it runs in the C locale
    plain = compare(tmp_path, "program.py", env=locale)
    # THEN it does as without flamelet, and its summary can be printed
    assert plain.code == 1
    shown = run(FLAMELET, "report", "--top", "0", "x.flamelet", cwd=tmp_path, env=locale)
    assert shown.code == 0
    assert b"gr\\xf6\\xdfe" in shown.out or "größe".encode() in shown.out
