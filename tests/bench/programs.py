"""Whole programs that call a lot: recursion, objects that react to each other, a parser, a web request.

Each is a function that does a fixed amount of work, some milliseconds, and checks its own result.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

JSON_TEXT = '{"shops": [' + ", ".join(f'{{"id": {i}, "name": "n\\u00e9 {i}", "open": true}}' for i in range(40)) + "]}"


def recursive_fib() -> None:
    assert _fib(17) == 1597


def _fib(n: int) -> int:
    return n if n < 2 else _fib(n - 1) + _fib(n - 2)


class _Cell:
    """A value that others are computed from, or that is computed from others."""

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self.rules: list[_Rule] = []

    def set(self, value: int) -> None:
        if value != self.value:
            self.value = value
            for rule in self.rules:
                rule.react()


class _Rule:
    """Keeps `target` equal to what it computes from `source`."""

    def __init__(self, source: _Cell, target: _Cell) -> None:
        self.source, self.target = source, target
        source.rules.append(self)

    def react(self) -> None:
        if self.is_due():
            self.target.set(self.compute(self.source.value))

    def is_due(self) -> bool:
        return self.target is not self.source

    def compute(self, value: int) -> int:
        return value


class _Scale(_Rule):
    def compute(self, value: int) -> int:
        return super().compute(value) * 2 % 1009


class _Offset(_Rule):
    def compute(self, value: int) -> int:
        return super().compute(value) + 1


def constraints() -> None:
    """Chains of one-way constraints that share their beginning, propagated step by step: small methods of objects."""
    first = _Cell()
    ends = []
    for branch in range(4):
        cell = first
        for step in range(60):
            following = _Cell()
            (_Scale if (step + branch) % 2 else _Offset)(cell, following)
            cell = following
        ends.append(cell)
    for value in range(1, 6):
        first.set(value)
    assert len({id(end) for end in ends}) == 4
    assert all(end.value for end in ends)


def json_parser() -> None:
    parsed = _Parser(JSON_TEXT).parse()
    assert len(parsed["shops"]) == 40
    assert parsed["shops"][7] == {"id": 7, "name": "né 7", "open": True}


class _Parser:
    """JSON, by recursive descent, one character at a time."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def parse(self) -> Any:
        value = self.value()
        self.skip()
        assert self.at == len(self.text)
        return value

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def skip(self) -> None:
        while self.peek() == " ":
            self.at += 1

    def value(self) -> Any:
        self.skip()
        first = self.peek()
        if first == "{":
            return dict(self.items("}", self.pair))
        if first == "[":
            return list(self.items("]", self.value))
        if first == '"':
            return self.string()
        if first.isdigit():
            return self.number()
        for word, meaning in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return meaning
        raise ValueError(f"{first!r} at {self.at}")

    def items(self, end: str, item: Callable[[], Any]) -> list[Any]:
        self.take()
        found: list[Any] = []
        self.skip()
        while self.peek() != end:
            found.append(item())
            self.skip()
            if self.peek() == ",":
                self.take()
                self.skip()
        self.take()
        return found

    def pair(self) -> tuple[str, Any]:
        key = self.string()
        self.skip()
        assert self.take() == ":"
        return key, self.value()

    def string(self) -> str:
        self.take()
        letters: list[str] = []
        while (letter := self.take()) != '"':
            letters.append(self.escape() if letter == "\\" else letter)
        return "".join(letters)

    def escape(self) -> str:
        letter = self.take()
        if letter != "u":
            return {"n": "\n", "t": "\t"}.get(letter, letter)
        self.at += 4
        return chr(int(self.text[self.at - 4 : self.at], 16))

    def number(self) -> int:
        start = self.at
        while self.peek().isdigit():
            self.take()
        return int(self.text[start : self.at])


class FlaskRequests:
    """Requests to a small Flask application, through its test client: routing, a template, a response."""

    REQUESTS = 3

    def __init__(self) -> None:
        flask = importlib.import_module("flask")
        app = flask.Flask("shop")

        @app.route("/items/<int:number>")  # type: ignore[untyped-decorator, unused-ignore]
        def items(number: int) -> Any:
            rows = [{"name": f"item {i}", "price": i * 3} for i in range(number)]
            template = "{% for row in rows %}<p>{{ row.name }}: {{ row.price }}</p>{% endfor %}"
            return flask.render_template_string(template, rows=rows)

        self._client = app.test_client()

    def __call__(self) -> None:
        for _ in range(self.REQUESTS):
            response = self._client.get("/items/10")
            assert response.status_code == 200
            assert "item 9: 27" in response.text
