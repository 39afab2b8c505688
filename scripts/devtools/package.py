"""flamelet itself, built and installed into a venv; a second time only when a source has changed."""

from pathlib import Path

from devtools.checkout import ROOT, Stamp, fingerprint
from devtools.transcript import Transcript, environment
from devtools.venvs import PIP, Venv

_SOURCES = [
    ROOT / name
    for name in ("CMakeLists.txt", "cmake", "core", "server", "pyshim", "web", "pyproject.toml", "README.md", "LICENSE")
]


def install_flamelet(venv: Venv, node: list[Path], transcript: Transcript, *settings: str) -> None:
    """The venv must have what builds flamelet. settings: scikit-build-core's, "key=value". Raises CommandFailed.

    The build's folder is the venv's own and stays, so that only what has changed is compiled.
    """
    if _stamp(venv, settings).is_current():
        return
    _stamp(venv, settings).remove()
    folder = f"build-dir=build/{venv.folder.relative_to(ROOT).as_posix().lstrip('.').replace('/', '-')}"
    how = ["--no-build-isolation", "--no-deps", "--force-reinstall"]
    how += [f"--config-settings={setting}" for setting in (folder, *settings)]  # pip 23.0 does not know -C
    transcript.check(venv.command([venv.python, *PIP, "install", *how, ROOT]), env=environment(venv.bin, *node))
    _stamp(venv, settings).write()


def _stamp(venv: Venv, settings: tuple[str, ...]) -> Stamp:
    # What is installed is part of it: somebody may have installed another build by hand.
    built = [
        f"{file.name} {file.stat().st_mtime_ns}"
        for file in venv.folder.glob("lib/python*/site-packages/flamelet/_ext*.so")
    ]
    return Stamp(venv.folder / "flamelet-built", f"{fingerprint(*_sources())} {settings} {built}")


def _sources() -> list[Path]:
    return [path for path in _SOURCES if path.exists()]
