"""Libraries built from their Debian source packages, into folders of the checkout.

Neither apt's own lists nor anything that is installed changes: apt is given its files in build/sources.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from devtools.checkout import BUILD, Stamp
from devtools.transcript import CommandFailed, Transcript, environment

_SOURCES = BUILD / "sources"
_APT = _SOURCES / "apt"
_LISTS = _APT / "lists"
_lock = Lock()  # of apt's files; suites run in threads
_KEYRINGS = Path("/usr/share/keyrings")


class DebianLibrary:
    """`ensure` builds it; it stays until another version of it is installed, or it is to be built in another way."""

    def __init__(self, folder: Path, source: str, package: str, options: Sequence[str]) -> None:
        """folder: in build/, for this library and way alone. source: the source package, which CMake builds.
        package: one made of it that is installed here, for the version. options: CMake's."""
        self._prefix = folder / "installed"
        self._folder = folder
        self._source = source
        self._package = package
        self._options = options

    def environment(self) -> dict[str, str]:
        """In which pkg-config finds this one."""
        return environment(PKG_CONFIG_PATH=str(self._prefix / "lib" / "pkgconfig"))

    def ensure(self, transcript: Transcript) -> None:
        """Raises CommandFailed."""
        stamp = Stamp(self._folder / "made-from", f"{_installed_version(self._package)} {self._options}")
        if stamp.is_current():
            return
        stamp.remove()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        source, build = fetch(self._source, self._folder, transcript), self._folder / "build"
        where = (f"-DCMAKE_INSTALL_PREFIX={self._prefix}", "-DCMAKE_INSTALL_LIBDIR=lib")
        transcript.check(["cmake", "-G", "Ninja", "-S", source, "-B", build, *where, *self._options])
        transcript.check(["ninja", "-C", build, "install"])
        stamp.write()


def fetch(source: str, folder: Path, transcript: Transcript) -> Path:
    """The newest source package of that name in this machine's Debian, signed by Debian, unpacked and with Debian's
    patches, in the folder. Raises CommandFailed."""
    lines = "".join(f"{line}\n" for line in _source_lines())
    if not lines:
        raise CommandFailed(f"this machine has no Debian to get the source of {source} from")
    stamp = Stamp(_APT / "made-from", lines)
    command = ["apt-get", *_options(), "source", source]
    with _lock:
        # Lists grow old, and name then what is no longer there.
        if not (stamp.is_current() and transcript.run(command, cwd=folder) == 0):
            stamp.remove()
            for made in (_LISTS, _APT / "archives"):
                (made / "partial").mkdir(parents=True, exist_ok=True)
            (_APT / "sources.list").write_text(lines)
            transcript.check(["apt-get", *_options(), "update"])
            stamp.write()
            transcript.check(command, cwd=folder)
    (unpacked,) = (path for path in folder.glob(f"{source}-*") if path.is_dir())
    return unpacked


def _options() -> list[str]:
    settings = {
        "Dir::Etc::sourcelist": _APT / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": _LISTS,
        "Dir::Cache": _APT,
        "APT::Sandbox::User": "root",  # apt's own user may not be able to enter the checkout
        "Acquire::Languages": "none",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _source_lines() -> list[str]:
    """For apt, where this machine's Debian has its sources; nothing where it is no Debian."""
    form = "$(CREATED_BY)|$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    rows = [line.split("|") for line in _output("apt-get", "indextargets", "--format", form).splitlines()]
    keyring = next(iter(sorted(_KEYRINGS.glob("debian-archive-keyring.*"))), None)
    signed = f"[signed-by={keyring}] " if keyring else ""
    lines = [
        f"deb-src {signed}{uri} {release} {component}"
        for kind, origin, uri, release, component in rows
        if (kind, origin) == ("Packages", "Debian")
    ]
    return list(dict.fromkeys(lines))


def _installed_version(package: str) -> str:
    return _output("dpkg-query", "--show", "--showformat=${source:Version}", package)


def _output(*command: str) -> str:
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
