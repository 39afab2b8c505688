"""A Debian of another release in a folder of the checkout, and commands that run in it. Needs root.

Every command gets a mount namespace and a process namespace of its own: nothing stays mounted, and no process goes on,
whatever way it ends. The checkout is at the same path inside.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from devtools.checkout import ROOT, Stamp
from devtools.transcript import CommandFailed, Transcript

# The first process of a namespace does not collect its dead children nor die of signals as others do: sh stays there.
_NAMESPACES = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")
_MOUNT_AND_RUN = """
set -e
root=$1 checkout=$2 cwd=$3
shift 3
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root$checkout"
mount --bind "$checkout" "$root$checkout"
code=0
chroot "$root" /bin/sh -c 'cd "$1"; shift; "$@"' sh "$cwd" "$@" || code=$?
exit $code
"""
# Where a machine says how its network is reached; the same files are read inside.
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
_SETTINGS_OF_APT = tuple(f"Acquire::{name}" for name in ("http", "https", "Check-Valid-Until", "Check-Date", "Retries"))
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_NAMING_FILES = ("PIP_CONFIG_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


class Chroot:
    """`ensure` makes it; it stays until what it is made from changes, or somebody removes the folder."""

    def __init__(self, folder: Path, suite: str, packages: Sequence[str]) -> None:
        """folder: inside the checkout. suite: a Debian release, as "sid". packages: of it, with what they need."""
        self.folder = folder
        self._suite = suite
        self._packages = packages
        self._stamp = Stamp(folder.with_name(f"{folder.name}-made-from"), f"{suite} {' '.join(packages)}")

    def ensure(self, transcript: Transcript) -> None:
        """Raises CommandFailed."""
        if os.geteuid() != 0:
            raise CommandFailed("a Debian in a folder needs root, for its mounts: run scripts/test as root")
        if not (self._stamp.is_current() and self.folder.is_dir()):
            self._stamp.remove()
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            transcript.check([*_NAMESPACES, "--mount-proc", *self._mmdebstrap()])
            self._stamp.write()
        self._copy_how_the_network_is_reached()

    def command(self, words: Sequence[str | Path], cwd: Path = ROOT) -> list[str | Path]:
        """What runs these words inside. cwd: in the checkout."""
        return [*_NAMESPACES, "sh", "-c", _MOUNT_AND_RUN, "chroot", self.folder, ROOT, cwd, *words]

    def _mmdebstrap(self) -> list[str | Path]:
        # Documentation is half of the files.
        unneeded = ("man", "locale", "doc")
        return [
            "mmdebstrap",
            "--mode=root",
            "--variant=apt",
            '--aptopt=APT::Install-Recommends "false"',
            *(f"--aptopt={line}" for line in _own_settings_of_apt()),
            *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in unneeded),
            f"--include={','.join(self._packages)}",
            self._suite,
            self.folder,
            *_mirror(),
        ]

    def _copy_how_the_network_is_reached(self) -> None:
        names = [*_NETWORK, _CERTIFICATES, *(os.environ.get(name, "") for name in _NAMING_FILES)]
        for path in (Path(name).expanduser() for name in names if name):
            if path.is_file():
                copy = self.folder / path.relative_to("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.unlink(missing_ok=True)
                shutil.copyfile(path, copy)


def _mirror() -> list[str]:
    """Where this machine gets its Debian from; nothing where it is no Debian: then mmdebstrap knows."""
    found = re.findall(r"'(\S+/debian)/dists/", _output("apt-get", "update", "--print-uris"))
    return found[:1]


def _own_settings_of_apt() -> list[str]:
    """How this machine's apt reaches its mirrors, and what it thinks of the age of an index. Not which keys it trusts:
    mmdebstrap takes Debian's."""
    lines = _output("apt-config", "dump", "--format", '%f "%v";%n', *_SETTINGS_OF_APT).splitlines()
    return [line for line in lines if not line.endswith(' "";')]


def _output(*command: str) -> str:
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
