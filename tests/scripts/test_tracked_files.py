"""What no tracked file may contain."""

import subprocess
from pathlib import Path

import pytest

from devtools import tracked_files

HOME, MACHINE = "/ro" + "ot/", "/wo" + "rk/"  # in two parts: this file is tracked too


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tracked_files, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def track(checkout: Path, name: str, text: str) -> None:
    (checkout / name).write_text(text)
    subprocess.run(["git", "add", name], cwd=checkout, check=True)


def test_paths_of_one_machine(checkout: Path) -> None:
    # GIVEN tracked files WHEN one names a path of a machine THEN line and text are told; other paths are no matter
    track(checkout, "good.py", 'a = "main/work/inner"; b = "$HOME/work/x"; c = "https://x.org/root/y"; d = "/usr/bin"')
    track(checkout, "bad.py", f'first = 1\nlog = "{MACHINE}main/log"\nhome = "{HOME}x"\n')
    (checkout / "untracked.py").write_text(f'"{HOME}x"')
    assert tracked_files.paths_of_one_machine() == [
        f'bad.py:2: log = "{MACHINE}main/log"',
        f'bad.py:3: home = "{HOME}x"',
    ]


def test_registries_in_lock_files(checkout: Path) -> None:
    # GIVEN lock files WHEN one tells where to download THEN that is told; the same words elsewhere are no matter
    address = "https://reg" + "istry.example/a.tgz"
    track(checkout, "package-lock.json", f'{{\n"url": "https://example.org/sponsor",\n"resolved": "{address}"\n}}\n')
    track(checkout, "requirements-x.txt", "--index-url https://example.org\nflask==3.1.3\n")
    track(checkout, "notes.md", f'"resolved": "{address}"')
    assert tracked_files.registries_in_lock_files() == [
        f'package-lock.json:3: "resolved": "{address}"',
        "requirements-x.txt:1: --index-url https://example.org",
    ]
