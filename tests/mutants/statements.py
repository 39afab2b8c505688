"""The statements of C files, and what can be done to each: its removal, and small changes of its expressions.

Only what is inside a function is looked at. Left alone, with what is in them: assertions (the shipped build has none),
texts, `sizeof`, and fences. A memory order is no operator and so is left alone too: the machines that run the tests
order memory strictly, whatever is asked for, so that no test can tell; ThreadSanitizer (c-tsan) watches the orders.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_c
from tree_sitter import Language, Node, Parser

FOLDERS = ("core", "server", "pyshim/ext")

_PARSER = Parser(Language(tree_sitter_c.language()))

_OTHER_OPERATOR = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "&": "|",
    "|": "&",
    "^": "|",
    "<<": ">>",
    ">>": "<<",
    "++": "--",
    "--": "++",
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
    "/=": "*=",
    "%=": "*=",
    "&=": "|=",
    "|=": "&=",
    "^=": "|=",
    "<<=": ">>=",
    ">>=": "<<=",
}
_LEFT_ALONE_CALLS = {"assert", "static_assert", "_Static_assert", "atomic_thread_fence", "atomic_signal_fence"}
_LEFT_ALONE = {"sizeof_expression", "alignof_expression", "offsetof_expression", "type_descriptor"}
_LEFT_ALONE |= {
    "attribute_specifier",
    "string_literal",
    "concatenated_string",
    "char_literal",
    "comment",
    "compound_statement",
}
_REMOVABLE = {"expression_statement", "break_statement", "continue_statement", "goto_statement"}
# The fields that hold a statement's own expressions, without the statements inside it.
_OWN = {
    "if_statement": ("condition",),
    "while_statement": ("condition",),
    "do_statement": ("condition",),
    "switch_statement": ("condition",),
    "for_statement": ("initializer", "condition", "update"),
}
_NEGATABLE = {"if_statement", "while_statement", "do_statement"}


@dataclass(frozen=True)
class Alteration:
    """`becomes` instead of the bytes from `start` to `end`, of which there are as many lines."""

    start: int
    end: int
    was: str
    becomes: str


@dataclass(frozen=True)
class Statement:
    """A statement that can be altered. file: from the checkout. Lines count from 1, `last_line` is part of it.
    For an `if` or a loop, lines and text are those of its head. text: with single spaces.
    nth: among statements of the same text in the function."""

    file: str
    function: str
    first_line: int
    last_line: int
    text: str
    start: int
    nth: int
    removal: Alteration | None
    changes: tuple[Alteration, ...]


@dataclass(frozen=True)
class Mutant:
    """One alteration of one statement."""

    statement: Statement
    alteration: Alteration

    @property
    def file(self) -> str:
        return self.statement.file

    @property
    def what(self) -> str:
        if self.alteration == self.statement.removal:
            return f"removed: {self.statement.text}"
        return f"{self.alteration.was} -> {self.alteration.becomes}  in: {self.statement.text}"

    @property
    def key(self) -> str:
        """Tells it from others by its text, not by its place: other lines may change between two runs."""
        statement = self.statement
        place = f"{statement.nth}.{self.alteration.start - statement.start}"
        return f"{self.file} {statement.function} {place} {self.what}"

    def apply(self, source: bytes) -> bytes:
        alteration = self.alteration
        return source[: alteration.start] + alteration.becomes.encode() + source[alteration.end :]


def sources(root: Path) -> list[str]:
    """The files that are mutated, from the checkout."""
    files = [file for folder in FOLDERS for file in (root / folder).glob("*.[ch]")]
    return sorted(file.relative_to(root).as_posix() for file in files)


def statements_of(file: str, source: bytes) -> list[Statement]:
    """Those that can be altered, in their order."""
    found: list[Statement] = []
    for definition in _descendants(_PARSER.parse(source).root_node, {"function_definition"}):
        found += _of_function(file, definition)
    return sorted(found, key=lambda statement: (statement.first_line, statement.text))


def draw(root: Path, seed: int) -> list[Mutant]:
    """A mutant of each statement, in random order. Half of the statements that can be removed are."""
    chance = random.Random(seed)
    statements = [one for file in sources(root) for one in statements_of(file, (root / file).read_bytes())]
    chance.shuffle(statements)
    return [Mutant(statement, _choose(statement, chance)) for statement in statements]


def _choose(statement: Statement, chance: random.Random) -> Alteration:
    remove = chance.random() < 0.5
    if statement.removal is not None and (remove or not statement.changes):
        return statement.removal
    return chance.choice(statement.changes)


def _of_function(file: str, definition: Node) -> Iterator[Statement]:
    body = definition.child_by_field_name("body")
    if body is None:
        return
    name, returns = _signature(definition)
    texts: Counter[str] = Counter()
    for node in _descendants(body, {*_REMOVABLE, *_OWN, "return_statement", "declaration"}, inside=True):
        if node.has_error and node.type not in _OWN:
            continue
        parts = [part for part in _own_parts(node) if not part.has_error]
        changes = [change for part in parts for change in _changes(part)]
        if node.type in _NEGATABLE:
            changes += [_replaced(part, f"(!{_text(part)})") for part in parts]
        if node.type == "return_statement" and parts:
            changes += _other_returns(parts[0], returns)
        removal = _removal(node)
        if not changes and removal is None:
            continue
        head = [node] if node.type not in _OWN else parts
        text = " ".join(_text(node)[: _head_length(node)].split())
        texts[text] += 1
        yield Statement(
            file,
            name,
            min(part.start_point.row for part in head) + 1,
            max(part.end_point.row for part in head) + 1,
            text,
            node.start_byte,
            texts[text],
            removal,
            tuple(sorted(set(changes), key=lambda change: (change.start, change.end, change.becomes))),
        )


def _descendants(node: Node, types: set[str], *, inside: bool = False) -> Iterator[Node]:
    """Those of these types. inside: also those that are within one of them."""
    for child in node.children:
        wanted = child.type in types
        if wanted:
            yield child
        if inside or not wanted:
            yield from _descendants(child, types, inside=inside)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _signature(definition: Node) -> tuple[str, str]:
    """The function's name and the type that it returns, with a "*" for each pointer."""
    kind = definition.child_by_field_name("type")
    returns = _text(kind) if kind is not None else ""
    node = definition.child_by_field_name("declarator")
    while node is not None and node.type != "identifier":
        if node.type == "pointer_declarator":
            returns += "*"
        inner = node.child_by_field_name("declarator")
        node = inner if inner is not None else next((child for child in node.named_children), None)
    return (_text(node) if node is not None else "?"), returns


def _own_parts(node: Node) -> list[Node]:
    if node.type in _OWN:
        fields = [node.child_by_field_name(field) for field in _OWN[node.type]]
        return [field for field in fields if field is not None]
    if node.type == "declaration":
        parts = [child for child in node.named_children if child.type == "init_declarator"]
        return [value for part in parts if (value := part.child_by_field_name("value")) is not None]
    return [child for child in node.named_children if child.type != "comment"]


def _head_length(node: Node) -> int:
    body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
    if node.type not in _OWN or body is None or node.type == "do_statement":
        return node.end_byte - node.start_byte
    return body.start_byte - node.start_byte


def _removal(node: Node) -> Alteration | None:
    if node.type not in _REMOVABLE or (not node.named_children and node.type == "expression_statement"):
        return None
    if node.named_children and _is_left_alone(node.named_children[0]):
        return None
    # The initializer of a `for` is no statement of its own.
    parent = node.parent
    if parent is not None and parent.type == "for_statement" and node != parent.child_by_field_name("body"):
        return None
    return _replaced(node, "{}")


def _is_left_alone(node: Node) -> bool:
    if node.type == "call_expression":
        function = node.child_by_field_name("function")
        return function is not None and _text(function) in _LEFT_ALONE_CALLS
    return node.type in _LEFT_ALONE


def _changes(node: Node) -> Iterator[Alteration]:
    if _is_left_alone(node) or node.type.startswith("preproc"):
        return
    operator = node.child_by_field_name("operator")
    if node.type in ("binary_expression", "assignment_expression", "update_expression"):
        if operator is not None and _text(operator) in _OTHER_OPERATOR:
            yield _replaced(operator, _OTHER_OPERATOR[_text(operator)])
    elif node.type == "unary_expression" and operator is not None and _text(operator) in "!~":
        yield _replaced(operator, "")
    elif node.type == "conditional_expression":
        condition = node.child_by_field_name("condition")
        if condition is not None:
            yield _replaced(condition, f"!({_text(condition)})")
    elif node.type == "number_literal":
        yield from _other_numbers(node)
    elif node.type in ("true", "false"):
        yield _replaced(node, "false" if node.type == "true" else "true")
    for child in node.named_children:
        yield from _changes(child)


def _other_numbers(node: Node) -> Iterator[Alteration]:
    text = _text(node)
    digits = text.rstrip("uUlL")
    try:
        value = int(digits, 8 if digits.startswith("0") and digits.isdigit() and len(digits) > 1 else 0)
    except ValueError:
        if "." in text:
            yield _replaced(node, f"({text} + 1)")
        return
    suffix = text[len(digits) :]
    yield _replaced(node, f"{value + 1}{suffix}")
    if value > 0:
        yield _replaced(node, f"{value - 1}{suffix}")


def _other_returns(value: Node, returns: str) -> list[Alteration]:
    text = _text(value)
    if value.type in ("number_literal", "true", "false", "null"):
        return []  # changed as a constant
    if returns.endswith("*"):
        return [_replaced(value, "NULL")]
    if returns in ("bool", "_Bool"):
        return [_replaced(value, f"!({text})")]
    if returns in ("int", "long", "unsigned", "size_t", "ssize_t", "Py_ssize_t") or returns.endswith("64_t"):
        return [_replaced(value, f"({text}) + 1")]
    return []


def _replaced(node: Node, becomes: str) -> Alteration:
    # As many lines as before, so that __LINE__ stays what it is and the object code tells equivalent mutants.
    was = _text(node)
    return Alteration(node.start_byte, node.end_byte, was, becomes + "\n" * (was.count("\n") - becomes.count("\n")))


def all_mutants(root: Path, file: str) -> Iterator[Mutant]:
    """Of a file; none where it is gone."""
    if not (root / file).is_file():
        return
    for statement in statements_of(file, (root / file).read_bytes()):
        for alteration in (statement.removal, *statement.changes):
            if alteration is not None:
                yield Mutant(statement, alteration)


def of_file(mutants: Sequence[Mutant], names: Sequence[str]) -> list[Mutant]:
    """Those of the named files; all of them where no file is named. A name: a path's end, such as "thread.c"."""
    wanted = [f"/{name.strip('/')}" for name in names]
    return [mutant for mutant in mutants if not wanted or any(f"/{mutant.file}".endswith(name) for name in wanted)]
