"""The JUnit report: what is wrong failed, known differences are skipped with their cause."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from differences import Case, Verdict

if TYPE_CHECKING:
    from run_others import Done

_UNPRINTABLE = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd]")


def write(file: Path, done: Sequence[Done], unlisted: Sequence[str]) -> None:
    suite = ET.Element("testsuite", name="others")
    for one in done:
        name = f"{one.module.suite}.{one.module.name}.{one.setting}"
        if one.skipped:
            _skip(_add(suite, name, "all"), f"not run: {one.skipped}")
        for case in one.cases:
            if case.test in one.late:
                _fail(_add(suite, name, case.test), "at an earlier try")
            element = _add(suite, name, case.test)
            if case.test in one.late:
                properties = ET.SubElement(element, "properties")
                ET.SubElement(properties, "property", name="tries", value="more than one")
            _tell(element, case)
    for module in unlisted:
        _fail(_add(suite, "modules", module), "neither run nor left out by modules.toml")
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _add(suite: ET.Element, module: str, test: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=module, name=_UNPRINTABLE.sub("?", test))


def _tell(element: ET.Element, case: Case) -> None:
    if case.wrong:
        _fail(element, f"{case.verdict.value}: {case.text}")
    elif case.verdict is Verdict.KNOWN:
        _skip(element, f"known difference: {case.text}")
    elif case.verdict is Verdict.USELESS:
        _skip(element, case.verdict.value)


def _fail(element: ET.Element, text: str) -> None:
    ET.SubElement(element, "failure", message=_UNPRINTABLE.sub("?", text))


def _skip(element: ET.Element, text: str) -> None:
    ET.SubElement(element, "skipped", message=_UNPRINTABLE.sub("?", text))
