"""Fingerprints and stamps: whether something must be made again."""

from pathlib import Path

import pytest

from devtools import checkout
from devtools.checkout import Stamp, fingerprint


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.c").write_text("int a;")
    return tmp_path


def test_content_and_name_count(root: Path) -> None:
    # GIVEN a folder WHEN a file is changed, added or renamed THEN the fingerprint is another; else the same
    src = root / "src"
    prints = [fingerprint(src)]
    assert fingerprint(src) == prints[0]
    (src / "a.c").write_text("int b;")
    prints.append(fingerprint(src))
    (src / "b.c").write_text("")
    prints.append(fingerprint(src))
    (src / "b.c").rename(src / "c.c")
    prints.append(fingerprint(src))
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("made", ["node_modules", "dist", "__pycache__", ".ruff_cache"])
def test_what_builds_make_does_not_count(root: Path, made: str) -> None:
    # GIVEN a folder WHEN a build leaves its results in it THEN the fingerprint is the same
    before = fingerprint(root / "src")
    (root / "src" / made).mkdir()
    (root / "src" / made / "result").write_text("made")
    assert fingerprint(root / "src") == before


def test_stamp(tmp_path: Path) -> None:
    # GIVEN a stamp WHEN the work was done, changed its source, or was broken off THEN it tells
    stamp = Stamp(tmp_path / "deep" / "stamp", "source 1")
    assert not stamp.is_current()
    stamp.write()
    assert stamp.is_current()
    assert not Stamp(tmp_path / "deep" / "stamp", "source 2").is_current()
    stamp.remove()
    assert not stamp.is_current()
