"""From a program's steps to Python: the source of its functions, and what tells its odd code objects apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from program import COROUTINE, GENERATOR, SLOTS, Body, Function, Program, Step

ERRORS = ("E0", "E1", "GreenletExit")
"""What is raised, by number. The last one only in greenlets."""

# Every thread has a world of its own in L: greenlets, generators, coroutines, greenlets that are parents, the main one.
_PRELUDE = f"""\
def enter(body):
    L.g = [None] * {SLOTS}; L.n = [None] * {SLOTS}; L.c = [None] * {SLOTS}; L.p = []; L.m = getcurrent()
    try: body()
    except Error: pass
    clean_up()
    label(None)
def clean_up():
    left = [*L.g, *L.p]
    for one in left:
        if one is not None and one is not L.m: one.parent = L.m
    for one in left:
        if one is not None and one is not L.m: one.throw()
    one = left = None
    L.g[:] = [None] * {SLOTS}; L.p.clear()
    for slot in range({SLOTS}): L.n[slot] = L.c[slot] = None
def join_all(*bodies):
    threads = []
    for body in bodies:
        threads.append(Thread(target=enter, args=(body,))); threads[-1].start()
    for thread in threads: thread.join()
def pause():
    yield
pause = coroutine(pause)
def burn(seconds):
    cpu = thread_time()
    while (spent := thread_time() - cpu) < seconds: pass
    if is_running(): burnt.append(spent)
def timed_burn(seconds):
    wall = monotonic(); burn(seconds); wall = monotonic() - wall
    if is_running(): around_burn.append(wall)
def block(seconds):
    wall = monotonic(); sleep(seconds); wall = monotonic() - wall
    if is_running(): slept.append(wall)
"""


@dataclass
class Rendered:
    """source: of the whole program. modules: by name in it, the source of code that it runs with exec() and the file
    that this is from. lines: what the nameless functions that begin in a line are called."""

    source: str = ""
    modules: dict[str, tuple[str, str]] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)


def render(program: Program) -> Rendered:
    return _Renderer(program).rendered


class _Renderer:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._lines: list[str] = _PRELUDE.splitlines()
        self.rendered = Rendered()
        for number, function in enumerate(program.functions):
            self._define(f"f{number}", function)
        for number, function in enumerate(program.functions):
            if function.kind == "plain":
                self._make_callers(number)
        self._define("main", Function("plain", program.main))
        self.rendered.source = "\n".join(self._lines) + "\n"

    def _define(self, name: str, function: Function) -> None:
        self._function = function
        self._in_module = False
        head = "async def" if function.kind == COROUTINE else "def"
        self._line(0, f"{head} {name}(*_{', n=' + str(function.depth) if function.depth else ''}):")
        if function.depth:
            call = f"{name}(n=n - 1)"
            call = {COROUTINE: f"await {call}", GENERATOR: f"yield from {call}"}.get(function.kind, call)
            self._line(1, f"if n: {call}")
        self._body(1, function.body)
        if function.kind == GENERATOR:
            self._line(1, "if False: yield")

    def _make_callers(self, number: int) -> None:
        """What calls a function in other ways than by name."""
        name = f"f{number}"
        self.rendered.lines[len(self._lines) + 1] = f"l{number}"
        self._line(0, f"l{number} = lambda *_: {name}()")
        self._line(0, f"class C{number}:")
        self._line(1, f"method = __getitem__ = __add__ = __call__ = {name}")
        self._line(1, f"value = property({name})")
        self._line(0, f"o{number} = C{number}()")
        self._line(0, f"class D{number}: __del__ = {name}")
        self._line(0, f"class I{number}: __init__ = {name}")
        self._line(0, f"p{number} = partial({name})")

    def _line(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _body(self, depth: int, body: Body) -> None:
        if not body:
            self._line(depth, "pass")
        for step in body:
            getattr(self, "_" + step.op)(depth, step, *step.args)

    # One method for each op. Greenlet slots are L.g[s]; generators are in L.n, coroutines in L.c.

    def _call(self, depth: int, step: Step, number: int, form: str) -> None:
        name = f"f{number}"
        if form == "genexpr":
            self.rendered.lines[len(self._lines) + 1] = f"genexpr{number}"
        elif form in ("exec", "compile"):
            self.rendered.modules[f"X{number}"] = (f"{name}()", f"{self._program.file} exec{number}")
        text = {
            "name": f"{name}()",
            "star": f"{name}(*NOTHING)",
            "lambda": f"l{number}()",
            "map": f"list(map({name}, ONE))",
            "key": f"max(ONE, key={name})",
            "sort": f"sorted(ONE, key={name})",
            "partial": f"p{number}()",
            "method": f"o{number}.method()",
            "instance": f"o{number}()",
            "getitem": f"o{number}[0]",
            "add": f"o{number} + 1",
            "property": f"o{number}.value",
            "init": f"I{number}()",
            "del": f"D{number}()",
            "genexpr": f"sum({name}() or 0 for _ in ONE)",
            "exec": f"exec(X{number}, globals())",
            "compile": f"exec(compile('{name}()', {self._program.file + f' exec{number}'!r}, 'exec'), globals())",
        }[form]
        self._line(depth, text)

    def _repeat(self, depth: int, step: Step, times: int) -> None:
        self._line(depth, f"for _ in range({times}):")
        self._body(depth + 1, step.bodies[0])

    def _attempt(self, depth: int, step: Step, catch: int) -> None:
        body, handler, final = step.bodies
        names = [ERRORS[number] for number in (0, 1) if catch >> number & 1]
        if not names and not final:
            self._line(depth, "if True:")
        else:
            self._line(depth, "try:")
        self._body(depth + 1, body)
        if names:
            self._line(depth, f"except ({', '.join(names)},):")
            self._body(depth + 1, handler)
        if final:
            self._line(depth, "finally:")
            self._body(depth + 1, final)

    def _fail(self, depth: int, step: Step, error: int) -> None:
        self._line(depth, f"raise {ERRORS[error]}")

    def _leave(self, depth: int, step: Step) -> None:
        self._line(depth, "return")

    # Generators and coroutines in slots.

    def _make(self, depth: int, step: Step, slot: int, number: int) -> None:
        where, prefix = ("L.c", "cr") if self._program.functions[number].kind == COROUTINE else ("L.n", "gi")
        self._line(depth, f"if {where}[{slot}] is None or not {where}[{slot}].{prefix}_running:")
        self._line(depth + 1, f"{where}[{slot}] = f{number}()")

    def _resume(self, depth: int, step: Step, where: str, slot: int) -> None:
        if where == "n":
            self._line(depth, f"if L.n[{slot}] is not None and not L.n[{slot}].gi_running: next(L.n[{slot}], None)")
        else:
            self._send(depth, step, where, slot)

    def _send(self, depth: int, step: Step, where: str, slot: int) -> None:
        self._if_resumable(depth, where, slot)
        self._line(depth + 1, f"try: L.{where}[{slot}].send(None)")
        self._line(depth + 1, "except StopIteration: pass")

    def _pitch(self, depth: int, step: Step, where: str, slot: int, error: int) -> None:
        self._if_resumable(depth, where, slot)
        self._line(depth + 1, f"try: L.{where}[{slot}].throw({ERRORS[error]})")
        self._line(depth + 1, "except StopIteration: pass")

    def _if_resumable(self, depth: int, where: str, slot: int) -> None:
        one, prefix = f"L.{where}[{slot}]", "gi" if where == "n" else "cr"
        self._line(depth, f"if {one} is not None and {one}.{prefix}_frame is not None and not {one}.{prefix}_running:")

    def _close(self, depth: int, step: Step, where: str, slot: int) -> None:
        self._if_resumable(depth, where, slot)
        self._line(depth + 1, f"L.{where}[{slot}].close()")

    def _drop(self, depth: int, step: Step, where: str, slot: int) -> None:
        self._if_resumable(depth, where, slot)
        self._line(depth + 1, f"L.{where}[{slot}] = None")

    def _iterate(self, depth: int, step: Step, number: int, times: int) -> None:
        """0 times: to the end. Once: left by `break`. More often: the generator is below a C iterator."""
        self._line(depth, f"for _ in zip(range({times}), f{number}()):" if times > 1 else f"for _ in f{number}():")
        self._body(depth + 1, step.bodies[0])
        if times == 1:
            self._line(depth + 1, "break")

    def _delegate(self, depth: int, step: Step, number: int) -> None:
        self._line(depth, f"{'await' if self._function.kind == COROUTINE else 'yield from'} f{number}()")

    def _give(self, depth: int, step: Step) -> None:
        self._line(depth, "await pause()" if self._function.kind == COROUTINE else "yield 1")

    # Greenlets.

    def _spawn(self, depth: int, step: Step, slot: int, number: int, parent: int) -> None:
        self._line(depth, f"if L.g[{slot}] is None or L.g[{slot}].dead:")
        self._line(depth + 1, f"L.p.append({self._parent(slot, parent)})")
        self._line(depth + 1, f"L.g[{slot}] = greenlet(f{number}, L.p[-1])")

    def _parent(self, slot: int, parent: int) -> str:
        if parent == -2:
            return "getcurrent()"
        if parent in (-1, slot):
            return "L.m"
        return f"L.m if L.g[{parent}] is None else L.g[{parent}]"

    def _jump(self, depth: int, step: Step, slot: int) -> None:
        self._line(depth, f"if L.g[{slot}] is not None: L.g[{slot}].switch()")

    def _up(self, depth: int, step: Step) -> None:
        self._line(depth, "if getcurrent().parent is not None: getcurrent().parent.switch()")

    def _kick(self, depth: int, step: Step, slot: int, error: int) -> None:
        self._line(depth, f"if L.g[{slot}] is not None: L.g[{slot}].throw({ERRORS[error]})")

    def _reparent(self, depth: int, step: Step, slot: int, parent: int) -> None:
        self._line(depth, f"if L.g[{slot}] is not None:")
        self._line(depth + 1, f"L.p.append({self._parent(slot, parent)})")
        self._line(depth + 1, f"try: L.g[{slot}].parent = L.p[-1]")
        self._line(depth + 1, "except ValueError: pass")

    def _forget(self, depth: int, step: Step, slot: int) -> None:
        self._line(depth, f"if L.g[{slot}] is not getcurrent(): L.g[{slot}] = None")

    # What flamelet offers.

    def _labelled(self, depth: int, step: Step, name: int) -> None:
        self._line(depth, f"with label({_label(name)!r}):")
        self._body(depth + 1, step.bodies[0])

    def _label(self, depth: int, step: Step, name: int) -> None:
        self._line(depth, f"label({_label(name)!r})")

    def _off(self, depth: int, step: Step) -> None:
        self._line(depth, "stop()")
        self._line(depth, "try:")
        self._body(depth + 1, step.bodies[0])
        self._line(depth, "finally: start()")

    def _threads(self, depth: int, step: Step, *numbers: int) -> None:
        self._line(depth, f"join_all({', '.join(f'f{number}' for number in numbers)})")

    def _burn(self, depth: int, step: Step, microseconds: int) -> None:
        self._line(depth, f"timed_burn({microseconds / 1e6})")

    def _block(self, depth: int, step: Step, microseconds: int) -> None:
        self._line(depth, f"block({microseconds / 1e6})")


def _label(name: int) -> str | None:
    return f"label {name}" if name else None
