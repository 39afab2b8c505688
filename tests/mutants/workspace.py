"""A copy of the sources, in which mutants are made and built; the checkout itself is never touched.

    FOLDER/source             the copy
    FOLDER/c                  the C tests, with AddressSanitizer and UBSan: what is freed too often or never is seen
    FOLDER/c-whole            their programs, as built without a mutant
    FOLDER/py-3.13, py-3.11   the extension as it ships: -O2, no assertions, warnings are errors
    FOLDER/venv-3.13, ...     what runs the Python tests: flamelet from FOLDER/site-3.13, the rest from the given Python

A mutant is built where its object code differs from what was there: in the newest Python's build, else in an older
one's. The same object code everywhere is no mutant, nor is what the compiler refuses.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import run
from statements import Mutant

# What the builds need, from the checkout.
_COPIED = ("CMakeLists.txt", "cmake", "core", "server", "pyshim", "tests/c", "tests/vectors", "web/app/dist")


class BuildFailed(Exception):
    """The sources without a mutant do not build."""


@dataclass(frozen=True)
class Python:
    """An interpreter that has what the Python tests need. minor: "3.13"."""

    path: Path
    minor: str

    @staticmethod
    def at(path: Path) -> Python:
        ask = "import sys; print('%d.%d' % sys.version_info[:2])"
        return Python(path, _asked(path, ask))


@dataclass
class Build:
    """One build folder, and its object files as they are without a mutant: name to bytes."""

    folder: Path
    whole: dict[Path, bytes] = field(default_factory=dict)

    def configure(self, source: Path, *options: str) -> None:
        command = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(self.folder), "-DCMAKE_BUILD_TYPE=None"]
        self._must([*command, "-DFLAMELET_PAGE=OFF", *options])

    def make(self, *targets: str) -> None:
        """Raises BuildFailed."""
        self._must(["ninja", "-C", str(self.folder), "-j1", *targets])
        self.whole = {file: file.read_bytes() for file in self._objects()}

    def try_to_make(self, *targets: str) -> bool:
        return run(["ninja", "-C", self.folder, "-j1", *targets], cwd=self.folder).code == 0

    def changed(self) -> list[Path]:
        """The object files that are not what they are without a mutant."""
        return [file for file, content in self.whole.items() if not file.exists() or file.read_bytes() != content]

    def restore(self) -> None:
        """The object files get their bytes back and keep their times, by which ninja takes them for built from the
        sources that are restored after this; what was linked from them is made anew when it is asked for."""
        for file in self.folder.rglob("*"):
            if file.is_file() and (file.suffix in (".a", ".so") or _is_program(file)):
                file.unlink()
        for file in self.changed():
            if not file.exists():
                continue  # ninja makes it
            times = file.stat()
            file.write_bytes(self.whole[file])
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def extension(self) -> Path:
        return next((self.folder / "pyshim" / "ext").glob("_ext*.so"))

    def _objects(self) -> list[Path]:
        return sorted(self.folder.rglob("*.c.o"))

    def _must(self, command: Sequence[str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        ended = run(command, cwd=self.folder)
        if ended.code != 0:
            raise BuildFailed(f"`{' '.join(command)}` failed ({ended.code}):\n{ended.output[-4000:]}")


def _is_program(file: Path) -> bool:
    return file.name.startswith("test_") and not file.suffix and os.access(file, os.X_OK)


class Workspace:
    """What one worker uses; two workers share nothing."""

    def __init__(self, checkout: Path, folder: Path, pythons: Sequence[Python]) -> None:
        """pythons: newest first."""
        self.checkout = checkout
        self.folder = folder
        self.source = folder / "source"
        self.pythons = pythons
        self.c = Build(folder / "c")
        self.py = {python.minor: Build(folder / f"py-{python.minor}") for python in pythons}
        self.whole_programs = folder / "c-whole"

    def prepare(self) -> None:
        """Builds all of it without a mutant. Raises BuildFailed."""
        copy_sources(self.checkout, self.source)
        self.c.configure(
            self.source,
            "-DFLAMELET_EXTENSION=OFF",
            "-DFLAMELET_TESTS=ON",
            "-DFLAMELET_SANITIZE=address,undefined",
            "-DCMAKE_C_FLAGS=-O1 -g1",
        )
        self.c.make()
        shutil.rmtree(self.whole_programs, ignore_errors=True)
        self.whole_programs.mkdir()
        for file in (self.c.folder / "tests" / "c").iterdir():
            if file.is_file() and _is_program(file):
                shutil.copy2(file, self.whole_programs)
        for python in self.pythons:
            venv = make_venv(self.folder, python, self.checkout)
            build = self.py[python.minor]
            build.configure(
                self.source,
                f"-DPython_EXECUTABLE={python.path}",
                "-DFLAMELET_WERROR=ON",
                "-DCMAKE_C_FLAGS=-O2 -DNDEBUG",
            )
            build.make("_ext")
            shutil.copy2(build.extension(), venv.whole_extension)

    def put(self, mutant: Mutant) -> Python | None:
        """Puts the mutant into the copy and builds the extension with it. Returns the Python for which that makes a
        difference; None where there is none, or where the compiler refuses it."""
        file = self.source / mutant.file
        file.write_bytes(mutant.apply((self.checkout / mutant.file).read_bytes()))
        for python in self.pythons:
            build = self.py[python.minor]
            if not build.try_to_make("_ext"):
                return None
            if build.changed():
                install(build.extension(), self.venv(python).extension)
                return python
        return None

    def take_away(self, mutant: Mutant) -> None:
        """After `put`, whatever that returned."""
        for build in (self.c, *self.py.values()):
            build.restore()
        copy_file(self.checkout / mutant.file, self.source / mutant.file)

    def venv(self, python: Python) -> Venv:
        return Venv(self.folder, python)


@dataclass(frozen=True)
class Venv:
    folder: Path
    base: Python

    @property
    def python(self) -> Path:
        return self.folder / f"venv-{self.base.minor}" / "bin" / "python"

    @property
    def site(self) -> Path:
        return self.folder / f"site-{self.base.minor}"

    @property
    def extension(self) -> Path:
        return self.site / "flamelet" / "_ext.so"

    @property
    def whole_extension(self) -> Path:
        """The extension without a mutant, kept beside the package."""
        return self.folder / f"ext-{self.base.minor}.so"


def make_venv(folder: Path, base: Python, checkout: Path) -> Venv:
    """Python code of flamelet and of the packages that its tests need; the extension is still missing."""
    venv = Venv(folder, base)
    if not venv.python.exists():
        ended = run([base.path, "-m", "venv", "--without-pip", venv.python.parents[1]], cwd=checkout)
        if ended.code != 0:
            raise BuildFailed(ended.output)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs, ours = (_asked(python, ask) for python in (base.path, venv.python))
    Path(ours, "mutants.pth").write_text(f"{venv.site}\n{theirs}\n")
    for script in base.path.parent.iterdir():
        copy = venv.python.with_name(script.name)
        if script.is_file() and not copy.exists() and script.read_bytes().startswith(b"#!/") and _is_python(script):
            copy.write_bytes(b"#!" + os.fsencode(venv.python) + b"\n" + script.read_bytes().partition(b"\n")[2])
            copy.chmod(0o755)
    command = venv.python.with_name("flamelet")
    command.write_text(f"#!{venv.python}\nimport sys\nfrom flamelet.__main__ import main\nsys.exit(main())\n")
    command.chmod(0o755)
    shutil.rmtree(venv.site, ignore_errors=True)
    shutil.copytree(checkout / "pyshim" / "flamelet", venv.site / "flamelet", ignore=shutil.ignore_patterns("*.so"))
    return venv


def _asked(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _is_python(script: Path) -> bool:
    return b"python" in script.read_bytes().partition(b"\n")[0]


def install(extension: Path, place: Path) -> None:
    """By a rename: a process of an earlier test may have it mapped still."""
    new = place.with_suffix(".new")
    shutil.copy2(extension, new)
    new.replace(place)


def copy_sources(checkout: Path, target: Path) -> None:
    """Only what differs is written: the rest is not compiled again."""
    wanted: set[Path] = set()
    for name in _COPIED:
        path = checkout / name
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file() and file.suffix != ".so" and "__pycache__" not in file.parts:
                wanted.add(file.relative_to(checkout))
    for file in wanted:
        copy = target / file
        if not (copy.exists() and filecmp.cmp(checkout / file, copy, shallow=False)):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(checkout / file, copy)
    for file in list(target.rglob("*")):
        if file.is_file() and file.relative_to(target) not in wanted:
            file.unlink()


def copy_file(original: Path, copy: Path) -> None:
    """With a time that is older than what was built: the objects have been restored."""
    shutil.copyfile(original, copy)
    os.utime(copy, (1_000_000_000, 1_000_000_000))


def fingerprint(checkout: Path, names: Sequence[str]) -> str:
    """Of the files' names and contents; of a folder, of all files in it."""
    digest = hashlib.sha256(sys.version.encode())
    for name in names:
        path = checkout / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(checkout)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def environment_of_tests(venv: Venv | None = None, **variables: str) -> Mapping[str, str]:
    """The environment of a test: as scripts/test gives it."""
    foreign = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in foreign}
    if venv is not None:
        env["PATH"] = os.pathsep.join([str(venv.python.parent), env.get("PATH", os.defpath)])
    sanitizers = {
        "ASAN_OPTIONS": "handle_segv=2:detect_leaks=1",
        "UBSAN_OPTIONS": "halt_on_error=1",
    }
    return {**env, **sanitizers, **variables}
