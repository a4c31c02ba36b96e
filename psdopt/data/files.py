"""Writing files completely or not at all, and reading them whole, unpacked where they are compressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from platform import node
from typing import IO
from uuid import uuid4

from psdopt.errors import DataFileError, InvalidInputError

#: Suffix of files that are being written.
PARTIAL = ".partial"
#: What opens files of these suffixes, which stand after that of the content.
COMPRESSED: dict[str, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
#: Whether files have owners, and signals may ask whether a process lives: not on Windows.
POSIX = hasattr(os, "chown")


@contextmanager
def atomic_write(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file handle under a temporary name in the same folder, renamed to `path` at the end.

    A symbolic link is followed: its target is written. The new file gets the permissions of an existing one. On any
    error the temporary file is removed and an existing `path` is unchanged; temporary files of killed processes are
    removed first, but on Windows. Raises DataFileError if `path` is a folder, a FIFO, a device or a socket, if the
    folder cannot be written, or if the disk is full.
    """
    target = check_writable(path)
    _remove_strays(target)
    partial = target.parent / f"{_prefix(target)}{os.getpid()}.{uuid4().hex}{PARTIAL}"
    try:
        before = target.stat() if target.exists() else None
        mode = 0o666 if before is None else stat.S_IMODE(before.st_mode)
        with open(partial, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        if before is not None:
            if POSIX:
                with suppress(OSError):  # only a privileged user may change the owner
                    os.chown(partial, before.st_uid, before.st_gid)
            os.chmod(partial, mode)
        os.replace(partial, target)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, DataFileError):
            raise _cannot_write(path, error) from error
        raise


def check_writable(path: str | Path) -> Path:
    """`path` with symbolic links followed; DataFileError unless it is, or may become, a regular file."""
    try:
        target = Path(os.path.realpath(path))
        mode = target.stat().st_mode if os.path.lexists(target) else None
        inside = target.parent.is_dir()
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise _cannot_write(path, error) from error
    if mode is not None and stat.S_ISDIR(mode):
        raise DataFileError(f"cannot write {path}: it is a folder; name a file")
    if mode is not None and not stat.S_ISREG(mode):
        raise DataFileError(f"cannot write {path}: it is a device, FIFO or socket; name a regular file")
    if not inside:
        raise DataFileError(f"cannot write {path}: the folder {target.parent} does not exist; make it first")
    return target


def read_bytes(path: str | Path, kind: str = "") -> bytes:
    """The whole file; DataFileError, which names it after its `kind`, such as "result ", if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise DataFileError(f"cannot read {kind}{path}: {_reason(error)}") from error


def without_compression(path: Path) -> Path:
    """`path` less the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def unpacked(path: Path, content: bytes, most: int) -> bytes:
    """The `content` of the file `path`, unpacked if its suffix is that of a compression.

    Raises InvalidInputError if it is damaged, or unpacks to more than `most` bytes.
    """
    opened = COMPRESSED.get(path.suffix.lower())
    if opened is None:
        return content
    try:
        with opened(io.BytesIO(content)) as file:
            found = file.read(most + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InvalidInputError(f"{path} is a damaged {path.suffix} file: {error}") from error
    if len(found) > most:
        raise InvalidInputError(f"{path} must unpack to at most {most / 2**30:.3g} GiB, a share of the memory")
    return found


def _prefix(target: Path) -> str:
    """Prefix of temporary files for `target` on this machine; a process number follows."""
    text = f"{target.name} on {node()}"  # hashed, because names may be as long as the file system allows
    return f".psdopt.{zlib.crc32(text.encode(errors='surrogateescape')):08x}-"


def _remove_strays(target: Path) -> None:
    """Remove temporary files for `target` whose process has ended."""
    prefix = _prefix(target)
    try:
        names = [name for name in os.listdir(target.parent) if name.startswith(prefix) and name.endswith(PARTIAL)]
    except OSError:
        return
    for name in names:
        process = name.removeprefix(prefix).partition(".")[0]
        if process.isdigit() and not _lives(int(process)):
            with suppress(OSError):
                (target.parent / name).unlink()


def _lives(process: int) -> bool:
    if not POSIX:  # on Windows a signal 0 is Ctrl-C to the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _cannot_write(path: str | Path, error: Exception) -> DataFileError:
    return DataFileError(f"cannot write {path}: {_reason(error)}")


def _reason(error: Exception) -> object:
    return getattr(error, "strerror", None) or error
