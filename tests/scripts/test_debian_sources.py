"""devtools.debian_sources on a made-up machine. That libraries come out of it, `scripts/test long` shows."""

from pathlib import Path

import pytest

from devtools import debian_sources
from devtools.debian_sources import DebianLibrary, fetch
from devtools.transcript import CommandFailed, Transcript

TARGETS = """Packages|Debian|http://mirror.test/debian/|bookworm|main
DEP-11|Debian|http://mirror.test/debian/|bookworm|main
Packages|Somebody|http://else.test/|stable|main
Packages|Debian|http://mirror.test/debian/|bookworm|main
Packages|Debian|http://mirror.test/debian-security/|bookworm-security|main
"""


class Machine:
    """A PATH whose commands write their last word and their folder into a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = "1.2-3"
        (folder / "bin").mkdir()
        self.add(
            "apt-get",
            f"""case "$*" in
            indextargets*) cat {folder}/targets ;;
            *" source "*) [ -e {folder}/lists-are-new ] && mkdir thing-1.2 && touch thing_1.2.orig.tar ;;
            *update) : >{folder}/lists-are-new ;;
            esac""",
        )
        self.add("cmake", "")
        self.add("ninja", f"[ ! -e {folder}/does-not-build ]")
        self.add("dpkg-query", f"cat {folder}/version")
        (folder / "targets").write_text(TARGETS)
        self.install("1.2-3")

    def add(self, name: str, script: str) -> None:
        (self.folder / "bin" / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{self.folder}/calls\n{script}\n')
        (self.folder / "bin" / name).chmod(0o755)

    def install(self, version: str) -> None:
        (self.folder / "version").write_text(version)

    def calls(self) -> list[str]:
        """Which commands ran since the last look, with their last word."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        words = [line.split() for line in lines if "indextargets" not in line and "dpkg-query" not in line]
        return [f"{line[0]} {line[-1]}" for line in words]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    for name, path in (("_APT", "apt"), ("_LISTS", "apt/lists"), ("_KEYRINGS", "keyrings")):
        monkeypatch.setattr(debian_sources, name, tmp_path / path)
    (tmp_path / "keyrings").mkdir()
    (tmp_path / "keyrings" / "debian-archive-keyring.gpg").touch()
    return Machine(tmp_path)


@pytest.fixture
def library(tmp_path: Path) -> DebianLibrary:
    return DebianLibrary(tmp_path / "library", "thing", "libthing-dev", ["-DX=1"])


def test_sources_are_debians_and_signed(machine: Machine, tmp_path: Path) -> None:
    # GIVEN a machine with packages of others, too WHEN a source is fetched THEN it comes from the machine's mirror of
    # Debian, nobody else is asked, and Debian's keys alone are trusted
    (tmp_path / "here").mkdir()
    assert fetch("thing", tmp_path / "here", Transcript("test-sources")) == tmp_path / "here" / "thing-1.2"
    signed = f"deb-src [signed-by={tmp_path}/keyrings/debian-archive-keyring.gpg] http://mirror.test/"
    assert (tmp_path / "apt" / "sources.list").read_text().splitlines() == [
        f"{signed}debian/ bookworm main",
        f"{signed}debian-security/ bookworm-security main",
    ]


def test_nothing_of_the_machines_own_lists_is_used(machine: Machine, tmp_path: Path) -> None:
    # THEN apt reads and writes in our folder
    options = [word for word in debian_sources._options() if word.startswith("Dir::")]
    assert {f"Dir::Etc::sourcelist={tmp_path}/apt/sources.list", "Dir::Etc::sourceparts=/dev/null"} <= {*options}
    assert {f"Dir::State::lists={tmp_path}/apt/lists", f"Dir::Cache={tmp_path}/apt"} <= {*options}


def test_lists_that_grew_old(machine: Machine, tmp_path: Path) -> None:
    # GIVEN lists that were fetched once, and name what is no longer there WHEN a source is fetched THEN they are
    # fetched anew, which they are not otherwise
    for name, calls in (("new", ["update", "thing"]), ("again", ["thing"]), ("old", ["thing", "update", "thing"])):
        (tmp_path / name).mkdir()
        if name == "old":
            (tmp_path / "lists-are-new").unlink()
        fetch("thing", tmp_path / name, Transcript("test-sources"))
        assert machine.calls() == [f"apt-get {call}" for call in calls]


def test_a_machine_that_is_no_debian(machine: Machine, tmp_path: Path) -> None:
    # GIVEN a machine without Debian's packages WHEN a source is wanted THEN one line says so
    (tmp_path / "targets").write_text("Packages|Somebody|http://else.test/|stable|main\n")
    with pytest.raises(CommandFailed, match=r"^this machine has no Debian to get the source of thing from$"):
        fetch("thing", tmp_path, Transcript("test-sources"))


def test_a_library_is_built_once_for_each_version(machine: Machine, library: DebianLibrary, tmp_path: Path) -> None:
    # GIVEN a library that was built WHEN it is wanted again THEN it is built only if another version is installed,
    # or it is to be another way
    whole = ["apt-get update", "apt-get thing", "cmake -DX=1", "ninja install"]
    transcript = Transcript("test-sources")
    library.ensure(transcript)
    assert machine.calls() == whole
    library.ensure(transcript)
    assert machine.calls() == []
    machine.install("1.2-4")
    library.ensure(transcript)
    assert machine.calls() == whole[1:]
    DebianLibrary(tmp_path / "library", "thing", "libthing-dev", ["-DX=2"]).ensure(transcript)
    assert machine.calls() == ["apt-get thing", "cmake -DX=2", "ninja install"]


def test_a_build_that_fails_is_tried_again(machine: Machine, library: DebianLibrary, tmp_path: Path) -> None:
    # GIVEN a library that does not build WHEN it is wanted again THEN nobody takes what there is for a whole one
    (tmp_path / "does-not-build").touch()
    for _ in range(2):
        with pytest.raises(CommandFailed, match="ninja"):
            library.ensure(Transcript("test-sources"))
    (tmp_path / "does-not-build").unlink()
    library.ensure(Transcript("test-sources"))
    assert machine.calls()[-1] == "ninja install"


def test_pkg_config_finds_it(library: DebianLibrary, tmp_path: Path) -> None:
    # THEN what is built in its environment is built with it
    assert library.environment()["PKG_CONFIG_PATH"] == f"{tmp_path}/library/installed/lib/pkgconfig"
