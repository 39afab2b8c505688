"""Which test shows which promise: reads tests/promises.toml and finds what is wrong with it.

A promise is a sentence that stands, word for word, in a document. Each needs at least one test that exists, is not
always skipped, and asserts something. Tests are Python functions, cmocka functions, or vitest and Playwright titles.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Promise(NamedTuple):
    """text: a quotation from `document`. tests: "path::name", paths from the top of the checkout."""

    document: str
    text: str
    tests: tuple[str, ...]


def load(file: Path) -> list[Promise]:
    """The promises of a file with tables [[promise]]. ValueError where one lacks something."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("promise", [])
    promises = []
    for number, entry in enumerate(entries, 1):
        if set(entry) != {"document", "text", "tests"} or not entry["tests"] or not entry["text"].strip():
            raise ValueError(f"promise {number} needs document, text and tests, and nothing else")
        promises.append(Promise(entry["document"], entry["text"], tuple(entry["tests"])))
    return promises


def complaints(root: Path, promise: Promise) -> Iterator[str]:
    """What is wrong with a promise; nothing where it holds."""
    document = root / promise.document
    if not document.is_file():
        yield f"there is no {promise.document}"
    elif _one_line(promise.text) not in _one_line(document.read_text(encoding="utf-8")):
        yield f"{promise.document} does not say: {promise.text}"
    for test in promise.tests:
        path, _, name = test.partition("::")
        file = root / path
        if not name or not file.is_file():
            yield f"{test}: there is no such file"
        elif problem := _PROBLEMS[file.suffix](file, name):
            yield f"{test}: {problem}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


# ------------------------------------------------------------------------------------------------------------- Python


def _python_problem(file: Path, name: str) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        return "there is no such test"
    module_marks = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == "pytestmark" for target in node.targets)
    ]
    if any(_always_skips(mark) for mark in (*functions[name].decorator_list, *module_marks)):
        return "is always skipped"
    first = functions[name].body[0]
    if isinstance(first, ast.Expr) and ast.unparse(first).startswith("pytest.skip("):
        return "is always skipped"
    return "" if _asserts(functions[name], file, set()) else "asserts nothing"


def _always_skips(mark: ast.expr) -> bool:
    text = ast.unparse(mark)
    return bool(re.search(r"\bmark\.skip\b", text)) or text.startswith(
        ("pytest.mark.skipif(True", "pytest.mark.xfail(run=False", "pytest.mark.skipif(1")
    )


def _asserts(function: ast.FunctionDef, file: Path, seen: set[tuple[Path, str]]) -> bool:
    """Whether there is an assertion in the function, or in one of the tests' own functions that it calls."""
    if (file, function.name) in seen:
        return False
    seen.add((file, function.name))
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Assert) for node in nodes):
        return True
    calls = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    if "pytest.raises" in calls:
        return True
    return any(_asserts(*found, seen) for name in calls for found in _definitions(name, file))


def _definitions(name: str, file: Path) -> Iterator[tuple[ast.FunctionDef, Path]]:
    """The function of this name in the file, or in a neighbour from which the file imports it."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield node, file
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            neighbour = file.with_name(f"{node.module}.py")
            if neighbour.is_file():
                yield from _definitions(name, neighbour)


# ------------------------------------------------------------------------------------------------------ C, TypeScript


def _c_problem(file: Path, name: str) -> str:
    text = file.read_text(encoding="utf-8")
    found = re.search(
        rf"^static void {re.escape(name)}\(void \*\*state\)\n{{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL
    )
    if not found:
        return "there is no such test"
    if len(re.findall(rf"\b{re.escape(name)}\b", text)) < 2:
        return "is in no list of tests"
    body = found[1]
    if re.match(r"\s*(\(void\)state[^;]*;\s*)?skip\(\);", body):
        return "is always skipped"
    return "" if _c_asserts(text, body, set()) else "asserts nothing"


def _c_asserts(text: str, body: str, seen: set[str]) -> bool:
    """Whether there is an assertion in the body, or in one of the file's own functions that it calls."""
    if re.search(r"\b(assert_\w+|fail|fail_msg)\(", body):
        return True
    for name in set(re.findall(r"\b(\w+)\(", body)) - seen:
        seen.add(name)
        found = re.search(rf"^static [^\n;]*\b{name}\([^;{{]*\)\n{{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
        if found and _c_asserts(text, found[1], seen):
            return True
    return False


def _typescript_problem(file: Path, name: str) -> str:
    text = file.read_text(encoding="utf-8")
    # From one title to the next.
    pieces = re.split(r"\b((?:it|test)(?:\.\w+)*)(?=\(|\.each)", text)
    for call, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in piece[: 2 * len(name) + 400].replace('\\"', '"').partition("=>")[0]:
            if re.search(r"\.(skip|todo|fails)\b", call):
                return "is always skipped"
            return "" if "expect" in piece or "assert" in piece else "asserts nothing"
    return "there is no such test"


_PROBLEMS = {".py": _python_problem, ".c": _c_problem, ".ts": _typescript_problem, ".tsx": _typescript_problem}
