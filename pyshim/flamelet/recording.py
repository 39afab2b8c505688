"""Recordings: files with the messages that a client would have received, one JSON object a line, in gzip.

A recording may come from anybody and may be cut off anywhere, so reading it takes bounded memory (one line, and all of
it unpacked), and a tail that is missing costs no more than that tail. Writing never damages what stood there before.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple, NoReturn

from .errors import ProtocolError, RecordingError, UsageError
from .messages import About, Ended, Message, Update, decode
from .picture import Picture

# A whole picture is one line. A million nodes, which is what the default budget holds, take some 80 MB.
MAX_LINE = 128 << 20
MAX_UNPACKED = 4 << 30
_CHUNK = 1 << 20
_GZIP = 31  # zlib's window bits for gzip
_GZIP_MAGIC = b"\x1f\x8b"


class Recording(NamedTuple):
    """What a recording says at its end.

    complete: the program came to its end. warning: what is missing from the file; empty where nothing is.
    """

    about: About
    picture: Picture
    complete: bool
    warning: str


def read_recording(path: str) -> Recording:
    """Read a `.flamelet` file. RecordingError where it cannot be read or is no recording."""
    try:
        with open(path, "rb") as file:
            return _read(_Lines(_lines(_unpacked(file))))
    except OSError as error:
        raise RecordingError(f"can't read {path!r}: {error.strerror or error}") from None
    except RecordingError as error:
        raise type(error)(f"{path!r}: {error}") from None


def read_lines(lines: bytes) -> Recording:
    """Read the lines of a recording that is not compressed."""
    return _read(_Lines(_lines([lines])))


class RecordingFile:
    """Where a recording is going to be written, checked when it is made: before the program runs for an hour.

    UsageError where nothing could be written there. The path is made absolute: the program may change its directory.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        if not path:
            raise UsageError("-o needs the name of a file")
        try:
            # A link stays a link: what it leads to is replaced.
            self._path = os.path.realpath(path)
            self._temporary = f"{self._path}.{os.getpid()}.tmp"
            if os.path.exists(self._path) and not stat.S_ISREG(os.stat(self._path).st_mode):
                raise UsageError(f"can't write {path!r}: it is not a regular file")
            os.close(self._create())
            os.unlink(self._temporary)
            self._found = self._identity()
        except OSError as error:
            raise UsageError(f"can't write {path!r}: {error.strerror or error}") from None
        except ValueError as error:
            raise UsageError(f"can't write {path!r}: {error}") from None

    def begin(self, program: str) -> None:
        """From here on a native thread writes the recording while the program runs, under this name: what a killed
        program leaves. RecordingError."""
        from . import __version__, _ext, session

        try:
            _ext.record(self._path, f"{self._temporary}.live", program, session.python_version(), __version__)
        except RuntimeError as error:
            raise RecordingError(str(error).removeprefix("flamelet: ")) from None
        session.attend_forks()

    @property
    def prefix(self) -> str:
        """Absolute. Recordings of children have names that begin with it: PREFIX.PID.flamelet."""
        return self._path.removesuffix(".flamelet")

    def has_begun(self) -> bool:
        """Whether what the native thread wrote stands under the name already. False where nothing was to be seen."""
        return self._identity() not in (None, self._found)

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def write(self, lines: bytes) -> None:
        """Write all of it, or nothing: whoever looks sees the old file or the new one. RecordingError."""
        try:
            write_recording(self._path, self._temporary, lines)
        except OSError as error:
            raise RecordingError(f"can't write {self.name!r}: {error.strerror or error}") from None

    def _create(self) -> int:
        return _create(self._temporary)


def write_recording(path: str, temporary: str, lines: bytes) -> None:
    """Write the lines of a recording, all or nothing, by way of a file in the same folder. OSError."""
    packer = zlib.compressobj(wbits=_GZIP)
    data = packer.compress(lines) + packer.flush()
    descriptor = _create(temporary)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        # Also for Ctrl-C: nothing is left behind.
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync(os.path.dirname(path))


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _sync(folder: str) -> None:
    """Make a new name in it durable. Some file systems can't; the data is safe all the same."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Cut(Exception):
    """The bytes end here, or make no sense from here on. The text says why."""


class _Lines:
    """Lines with their numbers, and whether something is missing behind them."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self.number = 0
        self.cut = ""
        self._next = self._pull()

    def _pull(self) -> bytes | None:
        try:
            return next(self._lines, None)
        except _Cut as reason:
            self.cut = str(reason)
            return None

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._next) is not None:
            self._next = self._pull()
            self.number += 1
            yield line

    @property
    def is_last(self) -> bool:
        """Whether the line that was given last is the last one."""
        return self._next is None


def _read(lines: _Lines) -> Recording:
    about: About | None = None
    picture = Picture()
    complete = False
    for line in lines:
        value = _json(line, lines)
        if value is None:
            break
        try:
            message = decode(value)
            if about is None:
                about = _first(message)
            elif isinstance(message, Update):
                picture.apply(message)
            elif isinstance(message, Ended):
                complete = True
        except ProtocolError as error:
            raise ProtocolError(f"line {lines.number}: {error}") from None
    if about is None:
        raise RecordingError(f"not a recording of flamelet: {lines.cut or 'it is empty'}")
    if picture.version == 0:
        raise RecordingError(f"holds no update: {lines.cut or 'the program ended before the first one'}")
    return Recording(about, picture, complete, f"the end is missing: {lines.cut}" if lines.cut else "")


def _json(line: bytes, lines: _Lines) -> object:
    """The value of a line; None for a last line that was cut off."""
    try:
        value: object = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        if lines.number == 1:
            raise RecordingError("not a recording of flamelet: its first line is no message") from None
        if lines.is_last:
            lines.cut = lines.cut or "the last line is cut off"
            return None
        raise ProtocolError(f"line {lines.number} is no JSON: {error}") from None
    if value is None:
        raise ProtocolError(f"line {lines.number} is no message")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _first(message: Message) -> About:
    if not isinstance(message, About):
        raise RecordingError("not a recording of flamelet: it does not begin with the response to `initialize`")
    return message


def _unpacked(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a gzip file of one or more members, or of a plain one, in chunks."""
    chunk = file.read(_CHUNK)
    if not chunk.startswith(_GZIP_MAGIC):
        while chunk:
            yield chunk
            chunk = file.read(_CHUNK)
        return
    while chunk:
        member = zlib.decompressobj(wbits=_GZIP)
        while chunk and not member.eof:
            try:
                yield member.decompress(chunk, _CHUNK)
            except zlib.error as error:
                raise _Cut(f"the compressed data is damaged ({error})") from None
            chunk = member.unconsumed_tail or (b"" if member.eof else file.read(_CHUNK))
        yield member.flush()
        if not member.eof:
            raise _Cut("the file is cut off")
        chunk = member.unused_data or file.read(_CHUNK)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines that are not empty, without their ends. What follows the last line end is a line too. RecordingError over
    the limits."""
    parts: list[bytes] = []
    length = total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > MAX_UNPACKED:
            raise RecordingError(f"unpacks to more than {MAX_UNPACKED >> 30} GiB")
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = b"".join((*parts, end))
            parts, length = [], 0
            if line:
                yield line
        parts.append(rest)
        length += len(rest)
        if length > MAX_LINE:
            raise RecordingError(f"holds a line of more than {MAX_LINE >> 20} MiB")
    if length:
        yield b"".join(parts)
