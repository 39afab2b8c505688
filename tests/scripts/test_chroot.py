"""devtools.chroot: what it runs, with which settings. That a Debian comes out of it, `scripts/test next` shows."""

import os
from pathlib import Path

import pytest

from devtools.chroot import Chroot
from devtools.transcript import CommandFailed, Transcript


@pytest.fixture
def debian(tmp_path: Path) -> Chroot:
    return Chroot(tmp_path / "debian", "sid", ["python3.14", "gcc"])


def add_command(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a made-up command before all others on PATH."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_somebody_who_is_not_root_is_told_so(debian: Chroot, monkeypatch: pytest.MonkeyPatch) -> None:
    # GIVEN a user who may not mount WHEN the Debian is wanted THEN one line says what is needed, and nothing was made
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandFailed, match=r"^a Debian in a folder needs root, .*: run scripts/test as root$"):
        debian.ensure(Transcript("test-chroot"))
    assert not debian.folder.exists()


def test_signatures_are_verified(debian: Chroot) -> None:
    # THEN nothing tells apt to take what nobody signed
    words = " ".join(map(str, debian._mmdebstrap())).lower()
    assert "python3.14,gcc" in words
    assert not [word for word in ("trusted", "insecure", "unauthenticated", "weak", "keyring") if word in words]


def test_the_mirror_and_the_proxy_are_the_machines_own(
    debian: Chroot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # GIVEN a machine with a mirror of its own, behind a proxy
    uris = (
        r"'http://mirror.test/debian-security/dists/x/InRelease' a 0\n'http://mirror.test/debian/dists/x/InRelease' b 0"
    )
    add_command(tmp_path, "apt-get", f'printf "%b" "{uris}"', monkeypatch)
    settings = 'Acquire::http "";\nAcquire::http::Proxy "http://proxy.test:3128";'
    add_command(tmp_path, "apt-config", f"cat <<'EOF'\n{settings}\nEOF", monkeypatch)
    # WHEN the Debian is made THEN it comes from there and by that way
    words = debian._mmdebstrap()
    assert words[-1] == "http://mirror.test/debian"
    assert [word for word in words if "Acquire" in str(word)] == [
        '--aptopt=Acquire::http::Proxy "http://proxy.test:3128";'
    ]


def test_a_machine_that_is_no_debian(debian: Chroot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # GIVEN a machine without apt WHEN the Debian is made THEN mmdebstrap is left to know a mirror
    monkeypatch.setenv("PATH", str(tmp_path))
    assert debian._mmdebstrap()[-2:] == ["sid", debian.folder]


def test_commands_run_in_namespaces_of_their_own(debian: Chroot) -> None:
    # THEN what a command mounts and starts goes when it ends, whatever way it ends
    words = debian.command(["python3.14", "-V"])
    assert words[0] == "unshare"
    assert {"--mount", "--pid", "--fork", "--kill-child"} <= {*words}
    assert words[words.index("--propagation") + 1] == "private"
    assert words[-2:] == ["python3.14", "-V"]
