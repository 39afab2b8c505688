"""The form of messages: small checks, each with the path that leads to what is wrong ("body.nodes.add.id[3]").

Unknown fields are ignored, so that a newer peer may say more.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from typing import Any, NoReturn

from .errors import ProtocolError

INT32 = 2**31 - 1
INT64 = 2**63 - 1


def reject(path: str, expected: str, value: object) -> NoReturn:
    raise ProtocolError(f"{path}: expected {expected}, got {_shown(value)}")


def obj(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        reject(path, "an object", value)
    return value


def array(value: object, path: str) -> list[Any]:
    if not isinstance(value, list):
        reject(path, "an array", value)
    return value


def string(value: object, path: str) -> str:
    if not isinstance(value, str):
        reject(path, "a string", value)
    return value


def boolean(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        reject(path, "true or false", value)
    return value


def integer(value: object, path: str, least: int = 0, most: int = INT64) -> int:
    # By type, not isinstance: true is no number here.
    if type(value) is not int or not least <= value <= most:
        reject(path, f"an integer from {least} to {most}", value)
    return value


def one_of(value: object, path: str, choices: tuple[str, ...]) -> str:
    if value not in choices or not isinstance(value, str):
        reject(path, " or ".join(f'"{choice}"' for choice in choices), value)
    return value


def strings(value: object, path: str) -> list[str]:
    column = array(value, path)
    if not set(map(type, column)) <= {str}:
        for i, item in enumerate(column):
            string(item, f"{path}[{i}]")
    return column


def integers(value: object, path: str, most: int = INT64) -> list[int]:
    column = array(value, path)
    # All at once, since columns have 100,000 values; one by one only to say which is wrong.
    if not set(map(type, column)) <= {int} or (column and (min(column) < 0 or max(column) > most)):
        for i, item in enumerate(column):
            integer(item, f"{path}[{i}]", 0, most)
    return column


def columns(value: object, path: str, limits: Mapping[str, int], later: Container[str] = ()) -> list[list[int]]:
    """The columns that `limits` names, with the largest value of each: lists of the same length. Those of `later` may
    be missing."""
    table = obj(value, path)
    lists: list[list[int]] = []
    for name, most in limits.items():
        if name in later and name not in table:
            continue
        lists.append(integers(table.get(name), f"{path}.{name}", most))
        if len(lists[-1]) != len(lists[0]):
            raise ProtocolError(f"{path}.{name}: expected {len(lists[0])} values, got {len(lists[-1])}")
    return lists


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    text = json.dumps(value, default=repr) if not isinstance(value, (dict, list)) else type(value).__name__
    return text if len(text) <= 40 else text[:37] + "..."
