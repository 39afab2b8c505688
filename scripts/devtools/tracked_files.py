"""What no tracked file may contain: paths of one machine, and in lock files the address of a package registry."""

import re
import subprocess
from collections.abc import Iterable

from devtools.checkout import ROOT

_PATH_OF_ONE_MACHINE = re.compile(r"(?<![\w.$~}/])/(?:root|work|tmp)/\w")

_LOCK_FILES = re.compile(r"(^|/)(package-lock\.json|requirements[^/]*\.txt|pip\.conf|\.npmrc)$")
_REGISTRY = re.compile(r'"resolved": *"https?:|://registry\.|(^|\s)(-i|--(extra-)?index-url|--find-links|registry)[ =]')

# (file, text in the line) of what is right where it stands, with the reason.
_ALLOWED: dict[tuple[str, str], str] = {
    (
        "web/model/test/activity.test.ts",
        '"/root/.pyenv/versions/',
    ): "an example of where a Python keeps its library; nothing reads it",
    ("protocol.md", "flamelet-UID"): "where the processes of a user find each other, on every machine",
    ("pyshim/flamelet/session.py", "flamelet-{os.getuid()}"): "the same",
}


def names() -> list[str]:
    """All tracked files, from the checkout, sorted."""
    # git trusts only checkouts of the own user; ours may be another's.
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


def paths_of_one_machine() -> list[str]:
    """Complaints, as "file:line: text"."""
    return _lines_with(_PATH_OF_ONE_MACHINE, names())


def registries_in_lock_files() -> list[str]:
    """Complaints, as "file:line: text"."""
    return _lines_with(_REGISTRY, filter(_LOCK_FILES.search, names()))


def _lines_with(pattern: re.Pattern[str], files: Iterable[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:160]}"
        for name in files
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), start=1)
        if pattern.search(line) and not any(name == file and text in line for file, text in _ALLOWED)
    ]
