"""From a seed to a program. The same one on every Python: only what `random` keeps from version to version is used."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from program import COROUTINE, GENERATOR, PLAIN, SLOTS, Body, Function, Program, Step

# How often a kind of step is drawn, against the others that may stand in the same place.
WEIGHTS = {
    "call": 10,
    "repeat": 3,
    "attempt": 4,
    "fail": 2,
    "leave": 1,
    "give": 8,
    "delegate": 4,
    "iterate": 3,
    "make": 3,
    "resume": 5,
    "send": 1,
    "pitch": 2,
    "close": 1,
    "drop": 1,
    "spawn": 6,
    "jump": 7,
    "up": 4,
    "kick": 2,
    "reparent": 1,
    "forget": 2,
    "labelled": 1,
    "label": 1,
    "off": 1,
    "threads": 1,
    "burn": 1,
    "block": 1,
}
# A program draws which of these it has at all, so that there are simple ones of each kind.
FEATURES = {
    "generators": ("make", "resume", "send", "pitch", "close", "drop", "iterate"),
    "greenlets": ("spawn", "jump", "up", "kick", "reparent", "forget"),
    "exceptions": ("fail", "pitch", "kick"),
    "labels": ("labelled", "label"),
    "stops": ("off",),
    "threads": ("threads",),
    "times": ("burn", "block"),
}
_SHARE = {"generators": 0.7, "greenlets": 0.8, "exceptions": 0.8, "labels": 0.25, "stops": 0.3, "threads": 0.2}
_SHARE["times"] = 0.1

_FORMS: tuple[str, ...] = ("name", "name", "name", "star", "lambda", "map", "key", "sort", "partial", "method")
_FORMS += ("instance", "getitem", "add", "property", "init", "genexpr", "exec", "compile")
_QUIET_FORMS = (*_FORMS, "del", "del")
_MAX_COST = 300  # calls, at most, of one function with all that it calls
_MAX_DEPTH = 3  # of steps in steps


def make(seed: int) -> Program:
    return _Maker(seed).program()


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._has = {name for name, share in _SHARE.items() if self._random.random() < share}
        self._seed = seed
        left_out = {op for name, ops in FEATURES.items() if name not in self._has for op in ops}
        self._ops = {op: weight for op, weight in WEIGHTS.items() if op not in left_out}
        self._count = 4 + self._random.randrange(9)
        self._quiet = self._count - 1 - self._random.randrange(2)
        self._stops = self._random.randrange(1, self._quiet)
        self._kinds = [self._kind(number) for number in range(self._count)]
        self._costs = [0] * self._count
        self._length = 3 + self._random.randrange(6)

    def program(self) -> Program:
        functions: list[Function] = []
        for number in reversed(range(self._count)):
            self._number, self._function_kind = number, self._kinds[number]
            body, cost = self._body(0, self._length, _MAX_COST)
            # One that yields from itself is resumed through all of its depth each time.
            depth = self._random.choice((0, 0, 0, 1, 2, 5)) if cost < 30 else 0
            self._costs[number] = 1 + cost * (depth + 1) + depth * depth
            functions.insert(0, Function(self._function_kind, body, depth))
        self._number, self._function_kind = -1, PLAIN
        body, _ = self._body(0, self._length + 6, 3 * _MAX_COST)
        return Program(
            self._seed,
            tuple(functions),
            body,
            self._stops,
            self._quiet,
            "stops" not in self._has and self._random.random() < 0.3,
        )

    def _kind(self, number: int) -> str:
        if "generators" not in self._has or number == self._count - 1:
            return PLAIN
        return self._random.choice((PLAIN, PLAIN, PLAIN, GENERATOR, GENERATOR, COROUTINE))

    def _may(self, op: str, depth: int) -> bool:
        is_quiet = self._number >= self._quiet
        if op in ("give", "delegate"):
            return self._function_kind != PLAIN
        if op in ("repeat", "attempt", "iterate", "labelled", "off") and depth >= _MAX_DEPTH:
            return False
        if op in ("off", "threads"):
            return self._number < self._stops and not is_quiet
        return not is_quiet or op in ("call", "repeat", "iterate", "leave", "burn")

    def _body(self, depth: int, length: int, room: int) -> tuple[Body, int]:
        """Steps, and the calls that they make at most; not more than `room`."""
        steps: list[Step] = []
        cost = 0
        ops = {op: weight for op, weight in self._ops.items() if self._may(op, depth)}
        for _ in range(1 + self._random.randrange(length)):
            op = self._random.choices(list(ops), list(ops.values()))[0]
            made: Callable[[int, int], tuple[Step, int] | None] = getattr(self, "_" + op)
            step = made(depth, room - cost)
            if step and step[1] <= room - cost:
                steps.append(step[0])
                cost += step[1]
                if follow := self._follow(step[0]):
                    steps.append(follow)
            if op in ("fail", "leave") and step:
                break
        return tuple(steps), cost

    def _follow(self, step: Step) -> Step | None:
        """What has been made is often used at once."""
        if self._random.random() < 0.4:
            return None
        slot, number = (*step.args, 0, 0)[:2]
        if step.op == "spawn":
            return Step("jump", (slot,))
        if step.op == "make":
            return Step("resume", ("c" if self._kinds[int(number)] == COROUTINE else "n", slot))
        return None

    def _inner(self, depth: int, room: int) -> tuple[Body, int]:
        return self._body(depth + 1, max(1, self._length - depth - 1), room)

    def _quiet_body(self) -> tuple[Body, int]:
        steps = [
            Step("call", (self._pick((PLAIN,), self._quiet) or self._count - 1, self._random.choice(_QUIET_FORMS)))
            for _ in range(1 + self._random.randrange(2))
        ]
        return tuple(steps), sum(self._costs[number] for step in steps if isinstance(number := step.args[0], int))

    def _pick(self, kinds: tuple[str, ...], least: int = 0) -> int | None:
        """A function of these kinds that may be called here."""
        numbers = range(max(self._number + 1, least), self._count)
        choice = [number for number in numbers if self._kinds[number] in kinds]
        return self._random.choice(choice) if choice else None

    def _slot(self) -> int:
        return self._random.randrange(SLOTS)

    def _where(self) -> str:
        return self._random.choice(("n", "n", "c"))

    # One for each op: the step and its cost, or None where it can't stand here.

    def _call(self, depth: int, room: int) -> tuple[Step, int] | None:
        number = self._pick((PLAIN,))
        if number is None:
            return None
        form = self._random.choice(_QUIET_FORMS if number >= self._quiet else _FORMS)
        return Step("call", (number, form)), 1 + self._costs[number]

    def _repeat(self, depth: int, room: int) -> tuple[Step, int] | None:
        times = self._random.choice((2, 2, 3, 5, 20))
        body, cost = self._inner(depth, room // times)
        return Step("repeat", (times,), (body,)), cost * times

    def _attempt(self, depth: int, room: int) -> tuple[Step, int] | None:
        body, cost = self._inner(depth, room // 3)
        handler, more = self._inner(depth, room // 3)
        final, last = self._quiet_body() if self._random.random() < 0.5 else ((), 0)
        return Step("attempt", (self._random.randrange(4),), (body, handler, final)), cost + more + last

    def _fail(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("fail", (self._random.randrange(2),)), 0

    def _leave(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("leave"), 0

    def _give(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("give"), 1

    def _delegate(self, depth: int, room: int) -> tuple[Step, int] | None:
        number = self._pick((self._function_kind,))
        return None if number is None else (Step("delegate", (number,)), 1 + self._costs[number])

    def _iterate(self, depth: int, room: int) -> tuple[Step, int] | None:
        number = self._pick((GENERATOR,))
        if number is None:
            return None
        times = self._random.choice((0, 0, 1, 2, 3))
        turns = times or min(20, 1 + self._costs[number])
        body, cost = self._inner(depth, room // turns)
        return Step("iterate", (number, times), (body,)), self._costs[number] + turns * cost

    def _make(self, depth: int, room: int) -> tuple[Step, int] | None:
        number = self._pick((GENERATOR, COROUTINE))
        return None if number is None else (Step("make", (self._slot(), number)), self._costs[number])

    def _resume(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("resume", (self._where(), self._slot())), 0

    def _send(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("send", (self._where(), self._slot())), 0

    def _pitch(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("pitch", (self._where(), self._slot(), self._random.randrange(2))), 0

    def _close(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("close", (self._where(), self._slot())), 0

    def _drop(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("drop", (self._where(), self._slot())), 0

    def _spawn(self, depth: int, room: int) -> tuple[Step, int] | None:
        number = self._pick((PLAIN,))
        if number is None:
            return None
        parent = self._random.choice((-2, -2, -1, *range(SLOTS)))
        return Step("spawn", (self._slot(), number, parent)), self._costs[number]

    def _jump(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("jump", (self._slot(),)), 0

    def _up(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("up"), 0

    def _kick(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("kick", (self._slot(), self._random.randrange(3))), 0

    def _reparent(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("reparent", (self._slot(), self._random.randrange(-1, SLOTS))), 0

    def _forget(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("forget", (self._slot(),)), 0

    def _labelled(self, depth: int, room: int) -> tuple[Step, int] | None:
        body, cost = self._inner(depth, room)
        return Step("labelled", (self._random.randrange(3),), (body,)), cost

    def _label(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("label", (self._random.randrange(3),)), 0

    def _off(self, depth: int, room: int) -> tuple[Step, int] | None:
        body, cost = self._inner(depth, room)
        return Step("off", (), (body,)), cost

    def _threads(self, depth: int, room: int) -> tuple[Step, int] | None:
        numbers = [self._pick((PLAIN,), self._stops) for _ in range(1 + self._random.randrange(3))]
        chosen = tuple(number for number in numbers if number is not None)
        return Step("threads", chosen), 2 + sum(2 + self._costs[number] for number in chosen)

    def _burn(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("burn", (self._random.choice((20, 100, 400)),)), 2

    def _block(self, depth: int, room: int) -> tuple[Step, int] | None:
        return Step("block", (self._random.choice((20, 100, 400)),)), 1
