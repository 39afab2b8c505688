"""scripts/machine.sh on made-up machines: a PATH that has only what a test puts there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the script itself uses.
ALWAYS = ("awk", "bash", "cat", "env", "find", "grep", "mktemp", "rm", "tail")
BUILD = "gcc libc6-dev cmake ninja-build pkg-config libwebsockets-dev libjansson-dev zlib1g-dev"


class Machine:
    def __init__(self, folder: Path) -> None:
        self.bin = folder
        for name in ALWAYS:
            path = shutil.which(name)
            assert path is not None
            (folder / name).symlink_to(path)

    def add(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.bin / name).chmod(0o755)

    def run(self, what: str) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": str(self.bin), "HOME": str(self.bin), "TMPDIR": str(self.bin), "STATE": str(self.bin)}
        # /usr/bin/python3 is looked for by its path, so a test cannot hide it.
        script = f'set -euo pipefail; . scripts/machine.sh; find_python() {{ echo "$STATE/python3"; }}; {what}'
        return subprocess.run(
            [self.bin / "bash", "-c", script], check=False, cwd=ROOT, env=env, capture_output=True, text=True
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "bin").mkdir()
    return Machine(tmp_path / "bin")


def test_a_user_who_may_not_install(machine: Machine) -> None:
    # GIVEN a machine without compilers and a user without sudo WHEN packages are needed THEN one line names them all
    machine.add("id", "echo 1000")
    machine.add("sudo", "exit 1")
    machine.add("apt-get", 'echo apt-get >>"$STATE/calls"')
    run = machine.run("install_packages build")
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].strip() == f"sudo apt-get install --no-install-recommends {BUILD}"
    assert not (machine.bin / "calls").exists()


def test_root_installs(machine: Machine) -> None:
    # GIVEN root WHEN the lists of packages are too old THEN they are updated once, and the installation is tried again
    machine.add("id", "echo 0")
    machine.add(
        "apt-get",
        'echo "$@" >>"$STATE/calls"; case $* in *update*) : >"$STATE/new" ;; *) [ -e "$STATE/new" ] ;; esac',
    )
    run = machine.run("install_packages build")
    assert run.returncode == 0, run.stderr
    calls = [line.split("300 ")[1] for line in (machine.bin / "calls").read_text().splitlines()]
    install = f"install --no-install-recommends {BUILD}"
    assert calls == [install, "update", install]


def test_an_installation_that_fails(machine: Machine) -> None:
    # GIVEN root WHEN apt-get cannot install THEN its last words and the packages are told
    machine.add("id", "echo 0")
    machine.add("apt-get", "echo E: no space left; exit 100")
    run = machine.run("install_packages build")
    assert run.returncode == 1
    assert "E: no space left" in run.stderr
    assert run.stderr.splitlines()[-1] == f"apt-get could not install: {BUILD}"


def test_no_apt(machine: Machine) -> None:
    # GIVEN a machine without apt-get WHEN packages are needed THEN it says which
    run = machine.run("install_packages build")
    assert run.returncode == 1
    assert run.stderr == f"this machine misses (by Debian's names): {BUILD}\n"


def test_nothing_is_missing(machine: Machine) -> None:
    # GIVEN a machine that has all WHEN packages are needed THEN nothing is said or done
    for name in ("gcc", "cmake", "ninja", "pkg-config"):
        machine.add(name, "exit 0")
    run = machine.run("install_packages build")
    assert (run.returncode, run.stderr) == (0, "")


def test_one_part_alone_needs_redis(machine: Machine) -> None:
    # GIVEN a machine without apt-get and Redis WHEN the real programs are to run THEN it is named, and only then
    assert "redis-server" in machine.run("install_packages build real").stderr.split()
    assert "redis-server" not in machine.run("install_packages build c web lint long next").stderr.split()


def test_what_two_parts_need_is_named_once(machine: Machine) -> None:
    # GIVEN parts that need the same WHEN it is missing THEN it is named once
    run = machine.run("install_packages web e2e")
    assert run.stderr.count("chromium") == 1


@pytest.mark.parametrize("good", [True, False])
def test_the_python_that_is_found_works(tmp_path: Path, good: bool) -> None:
    # GIVEN a python3 first on PATH, which works or not WHEN one is looked for THEN it is taken only where it works
    (tmp_path / "python3").write_text(f'#!/bin/bash\nexec {sys.executable} "$@"\n' if good else "#!/bin/bash\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = ". scripts/machine.sh; command -v $(find_python)"
    run = subprocess.run(["bash", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert (run.stdout.strip() == str(tmp_path / "python3")) == good
