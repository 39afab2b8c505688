"""What a program does, worked out from its steps alone: none of the program is run, and flamelet has no part in it.

Each body of the program is walked by a generator, which yields where the program would leave its stack: `Give` at a
`yield` of its own, `Switch` where greenlets switch. Exceptions of the program are the oracle's `Raised`. So what
suspends, unwinds and runs `finally` is Python here and there, but who is called, on which stack and how often is
counted by this file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from actors import Generated, Give, Greenlet, Left, Raised, Switch, Tries, Walk, World, parent_of, upwards
from program import COROUTINE, PLAIN, SLOTS, Body, Function, Program, Step

Path = tuple[str, ...]

EXIT, CLOSE = 2, 3
"""Numbers of exceptions beside those that programs raise: GreenletExit and GeneratorExit."""

MAX_CALLS = 20_000


class TooLong(Exception):
    """The program makes more calls than a test should."""


@dataclass
class Expected:
    """calls: by label and path; 0 where a function only was on the stack. maybe: what else may be there with 0 calls: a
    generator that is closed runs only where it has something to do, and which versions see that differs. tasks: by
    entry function and label, how many greenlets began and ended."""

    calls: Counter[tuple[int, Path]] = field(default_factory=Counter)
    maybe: set[tuple[int, Path]] = field(default_factory=set)
    tasks: dict[tuple[str, int], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))


def predict(program: Program, clears: bool) -> Expected:
    """clears: to close a generator that is in no `try` does not run it any more, as in CPython 3.13; what it
    iterates over is then closed without it. TooLong where that is more than it should be."""
    return Oracle(program, clears).run()


class Oracle:
    def __init__(self, program: Program, clears: bool) -> None:
        self._program = program
        self._clears = clears
        self.expected = Expected()
        self._on = True
        self._worlds: list[World] = []
        self._made = 0

    def run(self) -> Expected:
        self._enter_thread(self._call("main", self._body(self._program.main, _MAIN)))
        return self.expected

    # Counting.

    @property
    def _world(self) -> World:
        return self._worlds[-1]

    def _see(self, task: Greenlet, depth: int, count: int) -> None:
        """A function is on the task's stack at this depth; `count` calls of it."""
        if task.known is None:
            task.known = task.home = (task.stack[0], task.label)
            self.expected.tasks[task.known][0] += 1
        self.expected.calls[task.label, tuple(task.stack[:depth])] += count

    def _push(self, key: str, count: int, *, maybe: bool = False) -> None:
        task = self._world.current
        task.stack.append(key)
        if maybe:
            self.expected.maybe.add((task.label, tuple(task.stack)))
            return
        self._made += 1
        if self._made > MAX_CALLS:
            raise TooLong
        if self._on:
            self._see(task, len(task.stack), count)

    def _pop(self) -> None:
        self._world.current.stack.pop()

    def _see_stack(self, task: Greenlet) -> None:
        for depth in range(1, len(task.stack) + 1):
            self._see(task, depth, 0)

    def _end(self, task: Greenlet) -> None:
        task.dead = True
        if task.known:
            assert task.home
            self.expected.tasks[task.known][1] += 1
            if task.known != task.home:
                self.expected.tasks[task.home][1] += 1

    def _set_label(self, label: int) -> int:
        """Returns the one before."""
        task = self._world.current
        before, task.own_label = task.own_label, label
        if self._on:
            self._regroup(task)
        return before

    def _regroup(self, task: Greenlet) -> None:
        """Its label is known now."""
        if task.label == task.own_label:
            return
        task.label = task.own_label
        if task.known:
            if task.known != task.home:
                self.expected.tasks[task.known][1] += 1
            task.known = (task.known[0], task.label)
            if task.known != task.home:
                self.expected.tasks[task.known][0] += 1
            self._see_stack(task)

    # Stacks and threads.

    def _call(self, key: str, walk: Walk) -> Walk:
        self._push(key, 1)
        try:
            yield from walk
        finally:
            self._pop()

    def _enter_thread(self, walk: Walk) -> None:
        """Runs it in a thread of its own, to its end."""
        main = Greenlet(None, None)
        main.started = True
        world = World(main, main)
        world.all.append(main)
        main.walk = self._call("enter", self._enter(walk))
        self._worlds.append(world)
        self._drive()
        self._worlds.pop()

    def _enter(self, walk: Walk) -> Walk:
        try:
            yield from walk
        except Raised as raised:
            if raised.error in (EXIT, CLOSE):
                raise
        yield from self._call("clean_up", self._clean_up())
        self._set_label(0)

    def _clean_up(self) -> Walk:
        world = self._world
        left = [one for one in (*world.greenlets, *world.parents) if one is not None and one is not world.main]
        for one in left:
            one.parent = world.main
        for one in left:
            yield Switch(one, Raised(EXIT))
        world.greenlets = [None] * SLOTS
        for slot in range(SLOTS):
            for slots in (world.n, world.c):
                yield from self._discard(slots[slot])
                slots[slot] = None

    def _drive(self) -> None:
        """Runs the greenlets of the newest world, from its main one's walk to that one's end."""
        world = self._world
        raised: Raised | None = None
        while True:
            task = world.current
            assert task.walk
            try:
                effect = task.walk.throw(raised) if raised else next(task.walk)
                assert isinstance(effect, Switch), effect
                raised, target = effect.raised, effect.target
            except StopIteration:
                self._end(task)
                if task is world.main:
                    return
                raised, target = None, parent_of(task)
            except Raised as error:
                self._end(task)
                raised, target = None if error.error == EXIT else error, parent_of(task)
            raised = self._arrive(target, raised)

    def _arrive(self, target: Greenlet, raised: Raised | None) -> Raised | None:
        """Makes the first one that is alive current, from `target` up. Returns what is raised there."""
        world = self._world
        while True:
            if target.started and not target.dead:
                world.current = target
                if self._on and not target.found:
                    target.found = True
                    self._regroup(target)
                return raised
            if not target.started:
                target.started = True
                world.all.append(target)
                # Those that are made without telling who makes them take it from their parent, while that is alive.
                if self._on and target.parent and not target.parent.dead:
                    target.label = target.own_label = target.parent.label
                if not raised:
                    world.current = target
                    return None
                target.dead = True
            if raised and raised.error == EXIT:
                raised = None  # the dead give it back as a value
            assert target.parent
            target = target.parent

    def _function(self, number: int) -> Function:
        return self._program.functions[number]

    def _run(self, number: int, depth: int | None = None) -> Walk:
        """The call of a plain function."""
        yield from self._call(f"f{number}", self._inside(number, depth))

    def _inside(self, number: int, depth: int | None) -> Walk:
        function = self._function(number)
        left = function.depth if depth is None else depth
        if left:
            yield from self._run(number, left - 1)
        yield from self._body(function.body, function)

    def _body(self, body: Body, function: Function) -> Walk:
        with suppress(Left):
            yield from self._steps(body, function, None)

    def _steps(self, body: Body, function: Function, own: Generated | None) -> Walk:
        for step in body:
            yield from getattr(self, "_" + step.op + "_step")(step, function, own, *step.args)

    # Generators.

    def _new(self, number: int, depth: int | None = None) -> Generated:
        generated = Generated(f"f{number}", iter(()))  # type: ignore[arg-type]
        generated.walk = self._generate(number, generated, depth)
        return generated

    def _generate(self, number: int, own: Generated, depth: int | None) -> Walk:
        function = self._function(number)
        left = function.depth if depth is None else depth
        try:
            if left:
                yield from self._delegate_to(self._new(number, left - 1), own)
            yield from self._steps(function.body, function, own)
        except Left:
            pass

    def _resume(self, one: Generated, raised: Raised | None = None) -> Generator[Any, Any, bool]:
        """Returns whether it yielded."""
        if one.state == "done":
            if raised:
                raise raised
            return False
        # What is thrown into one that has not begun ends it where it begins: on the stack, but not called.
        closes = raised is not None and raised.error == CLOSE
        is_cleared = closes and self._clears and not one.tries and not one.delegate
        if not is_cleared:
            self._push(one.key, int(one.state == "new" and not raised), maybe=closes)
        if one.state == "new" and raised:
            one.state = "done"
            if not is_cleared:
                self._pop()
            raise raised
        one.state = "running"
        try:
            effect = one.walk.throw(raised) if raised else next(one.walk)
            while not isinstance(effect, Give):
                try:
                    yield effect
                except Raised as error:
                    effect = one.walk.throw(error)
                else:
                    effect = next(one.walk)
        except StopIteration:
            one.state = "done"
            return False
        except BaseException:
            one.state = "done"
            raise
        else:
            one.state = "suspended"
            return True
        finally:
            if not is_cleared:
                self._pop()

    def _delegate_to(self, inner: Generated, own: Generated) -> Walk:
        """`yield from`, in `own`."""
        raised: Raised | None = None
        own.delegate = inner
        try:
            while (yield from self._resume(inner, raised)):
                raised = None
                try:
                    yield Give()
                except Raised as error:
                    if error.error == CLOSE:
                        raise  # it was closed before
                    raised = error
        finally:
            own.delegate = None

    def _close(self, one: Generated) -> Walk:
        """close(), or the end of the last reference."""
        if one.state not in ("new", "suspended"):
            return
        was_delegating = one.delegate
        if was_delegating:
            yield from self._close(was_delegating)
        try:
            yield from self._resume(one, Raised(CLOSE))
        except Raised as error:
            if error.error != CLOSE:
                raise

    def _discard(self, one: Generated | None) -> Walk:
        if one:
            yield from self._close(one)

    # One method for each op.

    def _call_step(self, step: Step, function: Function, own: Generated | None, number: int, form: str) -> Walk:
        between = {"lambda": f"l{number}", "genexpr": f"genexpr{number}", "exec": f"exec{number}"}
        between["compile"] = between["exec"]
        if form in between:
            yield from self._call(between[form], self._run(number))
        else:
            yield from self._run(number)

    def _repeat_step(self, step: Step, function: Function, own: Generated | None, times: int) -> Walk:
        for _ in range(times):
            yield from self._steps(step.bodies[0], function, own)

    def _attempt_step(self, step: Step, function: Function, own: Generated | None, catch: int) -> Walk:
        body, handler, final = step.bodies
        is_try = bool(catch or final)
        try:
            try:
                with Tries(own if is_try else None):
                    yield from self._steps(body, function, own)
            except Raised as raised:
                if raised.error > 1 or not catch >> raised.error & 1:
                    raise
                with Tries(own):
                    yield from self._steps(handler, function, own)
        except (Raised, Left):
            yield from self._steps(final, function, own)
            raise
        else:
            yield from self._steps(final, function, own)

    def _fail_step(self, step: Step, function: Function, own: Generated | None, error: int) -> Walk:
        yield from ()
        raise Raised(error)

    def _leave_step(self, step: Step, function: Function, own: Generated | None) -> Walk:
        yield from ()
        raise Left

    def _slots(self, where: str) -> list[Generated | None]:
        return self._world.n if where == "n" else self._world.c

    def _resumable(self, where: str, slot: int) -> Generated | None:
        one = self._slots(where)[slot]
        return one if one and one.state in ("new", "suspended") else None

    def _make_step(self, step: Step, function: Function, own: Generated | None, slot: int, number: int) -> Walk:
        slots = self._slots("c" if self._function(number).kind == COROUTINE else "n")
        before = slots[slot]
        if before is None or before.state != "running":
            slots[slot] = self._new(number)
            yield from self._discard(before)

    def _resume_step(self, step: Step, function: Function, own: Generated | None, where: str, slot: int) -> Walk:
        if one := self._resumable(where, slot):
            yield from self._resume(one)

    _send_step = _resume_step

    def _pitch_step(
        self, step: Step, function: Function, own: Generated | None, where: str, slot: int, error: int
    ) -> Walk:
        if one := self._resumable(where, slot):
            yield from self._resume(one, Raised(error))

    def _close_step(self, step: Step, function: Function, own: Generated | None, where: str, slot: int) -> Walk:
        if one := self._resumable(where, slot):
            yield from self._close(one)

    def _drop_step(self, step: Step, function: Function, own: Generated | None, where: str, slot: int) -> Walk:
        if one := self._resumable(where, slot):
            self._slots(where)[slot] = None
            yield from self._close(one)

    def _iterate_step(self, step: Step, function: Function, own: Generated | None, number: int, times: int) -> Walk:
        one = self._new(number)
        done = 0
        try:
            while times == 0 or done < times:
                if not (yield from self._resume(one)):
                    break
                yield from self._steps(step.bodies[0], function, own)
                done += 1
        except (Raised, Left):
            yield from self._close(one)
            raise
        else:
            yield from self._close(one)

    def _delegate_step(self, step: Step, function: Function, own: Generated | None, number: int) -> Walk:
        assert own
        yield from self._delegate_to(self._new(number), own)

    def _give_step(self, step: Step, function: Function, own: Generated | None) -> Walk:
        if function.kind == COROUTINE:
            assert own
            yield from self._delegate_to(Generated("pause", _give_once()), own)
        else:
            yield Give()

    def _spawn_step(
        self, step: Step, function: Function, own: Generated | None, slot: int, number: int, parent: int
    ) -> Walk:
        world = self._world
        before = world.greenlets[slot]
        if before is None or before.dead:
            world.parents.append(self._parent(slot, parent))
            world.greenlets[slot] = Greenlet(world.parents[-1], self._run(number))
        yield from ()

    def _parent(self, slot: int, parent: int) -> Greenlet:
        world = self._world
        if parent == -2:
            return world.current
        if parent in (-1, slot):
            return world.main
        return world.greenlets[parent] or world.main

    def _jump_step(self, step: Step, function: Function, own: Generated | None, slot: int) -> Walk:
        if one := self._world.greenlets[slot]:
            yield from self._park(Switch(one))

    def _up_step(self, step: Step, function: Function, own: Generated | None) -> Walk:
        if parent := self._world.current.parent:
            yield Switch(parent)

    def _kick_step(self, step: Step, function: Function, own: Generated | None, slot: int, error: int) -> Walk:
        if one := self._world.greenlets[slot]:
            yield from self._park(Switch(one, Raised(error)))

    def _park(self, switch: Switch) -> Walk:
        """Whoever calls its switch() holds it until that returns."""
        held = self._world.held
        held.append(switch.target)
        try:
            yield switch
        except Raised:
            held.remove(switch.target)
            yield from self._give_up(switch.target)
            raise
        held.remove(switch.target)
        yield from self._give_up(switch.target)

    def _give_up(self, one: Greenlet) -> Walk:
        """One reference less. Whoever drops the last one throws GreenletExit into it."""
        world = self._world
        known = (one in there for there in (world.greenlets, world.parents, world.held))
        if one.started and not one.dead and one is not world.current and not any(known):
            one.parent = world.current
            yield Switch(one, Raised(EXIT))

    def _reparent_step(self, step: Step, function: Function, own: Generated | None, slot: int, parent: int) -> Walk:
        one = self._world.greenlets[slot]
        if one:
            self._world.parents.append(self._parent(slot, parent))
            if one not in upwards(self._world.parents[-1]):
                one.parent = self._world.parents[-1]
        yield from ()

    def _forget_step(self, step: Step, function: Function, own: Generated | None, slot: int) -> Walk:
        world = self._world
        one = world.greenlets[slot]
        if one is world.current:
            return
        world.greenlets[slot] = None
        if one:
            yield from self._give_up(one)

    def _labelled_step(self, step: Step, function: Function, own: Generated | None, name: int) -> Walk:
        before = self._set_label(name)
        try:
            with Tries(own):
                yield from self._steps(step.bodies[0], function, own)
        finally:
            self._set_label(before)

    def _label_step(self, step: Step, function: Function, own: Generated | None, name: int) -> Walk:
        self._set_label(name)
        yield from ()

    def _off_step(self, step: Step, function: Function, own: Generated | None) -> Walk:
        self._on = False
        try:
            with Tries(own):
                yield from self._steps(step.bodies[0], function, own)
        finally:
            self._start()

    def _start(self) -> None:
        if self._on:
            return
        self._on = True
        for world in self._worlds:
            for task in world.all:
                if not task.dead:
                    self._see_stack(task)
                    task.found = False
        self._world.current.found = True
        self._regroup(self._world.current)

    def _threads_step(self, step: Step, function: Function, own: Generated | None, *numbers: int) -> Walk:
        yield from self._call("join_all", self._join_all(numbers))

    def _join_all(self, numbers: Iterable[int]) -> Walk:
        for number in numbers:
            self._enter_thread(self._run(number))
        yield from ()

    def _burn_step(self, step: Step, function: Function, own: Generated | None, microseconds: int) -> Walk:
        yield from self._call("timed_burn", self._call("burn", _nothing()))

    def _block_step(self, step: Step, function: Function, own: Generated | None, microseconds: int) -> Walk:
        yield from self._call("block", _nothing())


_MAIN = Function(PLAIN, ())


def _give_once() -> Walk:
    yield Give()


def _nothing() -> Walk:
    yield from ()
