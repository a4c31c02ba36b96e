"""Reading arrays from .npy and .npz bytes that may be damaged or hostile: sizes are read from the headers first."""

from __future__ import annotations

import hashlib
import io
import math
import os
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from psdopt.checks import BRIEF
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array

#: Arrays may fill this share of the machine's memory.
SHARE = 0.5
#: Memory in bytes, if the system does not report it.
ASSUMED_MEMORY = 8 * 2**30
#: An array above BOMB_SIZE that is compressed by more than BOMB_RATIO is refused: deflate shrinks zeros a thousandfold.
BOMB_RATIO, BOMB_SIZE = 200, 2**28
#: Member that holds the SHA-256 of all others.
CHECKSUM = "checksum"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class Header:
    """The header of an array: `shape` and `dtype`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def entries(self) -> int:
        """Number of entries, a Python integer, which cannot overflow."""
        return math.prod(self.shape)


class Archive:
    """The arrays of a .npz archive by name; each is read on request.

    Raises InvalidInputError, beginning with `what`, for bytes that are not an archive, a member that is not an array of
    numbers or text (pickles are never read), compression other than deflate, encryption, a wrong size of a member, or
    arrays that together are too large, counting 8 bytes per entry, since numbers become float64.
    """

    def __init__(self, content: bytes, what: str, wanted: Collection[str] | None = None) -> None:
        self.what = what
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
            names = [info.filename for info in self._zip.infolist()]
        except Exception as error:  # zipfile raises many kinds of errors for damaged files
            raise self._unusable(error) from error
        self._members = {name.removesuffix(".npy"): name for name in names}
        #: Names of all arrays, in order.
        self.names = list(self._members)
        if len(self.names) != len(names):
            raise self._unusable("a name is used twice")
        #: Name -> header of the `wanted` arrays (default: all).
        self.headers = {name: self._header(name) for name in self._members if wanted is None or name in wanted}
        self._check_sizes(len(content))

    def read(self, name: str) -> Array:
        """The array called `name`, one of `headers`."""
        with self._opened(name) as handle:
            return _read(handle)

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        info = self._zip.getinfo(self._members[name])
        if info.flag_bits & 1:
            raise self._unusable(f"{name} is encrypted")
        if info.compress_type not in _METHODS:
            raise self._unusable(f"{name} is compressed by method {info.compress_type}; only deflate is read")
        try:
            with self._zip.open(info) as handle:
                yield handle
        except Exception as error:  # as above: zlib, struct, tokenize, ...
            raise self._unusable(f"{name}: {_text(error)}") from error

    def _header(self, name: str) -> Header:
        with self._opened(name) as handle:
            return _checked_header(handle, self._zip.getinfo(self._members[name]).file_size)

    def _check_sizes(self, packed: int) -> None:
        sizes = {name: header.entries * max(8, header.dtype.itemsize) for name, header in self.headers.items()}
        total, room = sum(sizes.values()), SHARE * memory()
        if total > room:
            largest = max(sizes, key=lambda name: sizes[name])
            raise InvalidInputError(
                f"{self.what}: {largest} and the others need {total / 2**30:.3g} GiB; "
                f"found {room / 2**30:.3g} GiB to fill"
            )
        if total > BOMB_SIZE and total > BOMB_RATIO * packed:
            raise InvalidInputError(
                f"{self.what}: {packed} bytes unpack to {total / 2**30:.3g} GiB; store a matrix of mostly zeros as CSR"
            )

    def _unusable(self, why: object) -> InvalidInputError:
        return InvalidInputError(f"{self.what} is no usable .npz archive: {_text(why)}")


def sealed(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """`arrays` with their checksum as a further array, for ``numpy.savez``; :func:`unsealed` compares it."""
    known = {name: np.asarray(array) for name, array in arrays.items()}
    return {**known, CHECKSUM: np.array(_checksum(known))}


def unsealed(content: bytes, what: str) -> dict[str, Array]:
    """All arrays of an archive. If it has a checksum that does not agree, InvalidInputError."""
    archive = Archive(content, what)
    arrays = {name: archive.read(name) for name in archive.names}
    checksum = arrays.pop(CHECKSUM, None)
    if checksum is not None and str(checksum) != _checksum(arrays):
        raise InvalidInputError(f"{what} is damaged: its checksum is not that of its content")
    return arrays


def _checksum(arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def read_npy(content: bytes, what: str) -> Array:
    """The one array of a .npy file; InvalidInputError, beginning with `what`, as for :class:`Archive`."""
    try:
        _checked_header(io.BytesIO(content), len(content))
        return _read(io.BytesIO(content))
    except Exception as error:
        raise InvalidInputError(f"{what} is no usable .npy file: {_text(error)}") from error


def _checked_header(handle: IO[bytes], size: int) -> Header:
    """As :func:`read_header`; ValueError for Python objects, or unless the entries fill the file of `size` bytes."""
    header = read_header(handle)
    if header.dtype.hasobject:
        raise ValueError("it holds Python objects, which are not loaded from a file")
    if header.entries * header.dtype.itemsize != size - handle.tell():
        raise ValueError(f"{size - handle.tell()} bytes of entries; its shape {header.shape} needs another number")
    return header


def read_header(handle: IO[bytes]) -> Header:
    """Header of the array that begins at the start of `handle`, which is then where its entries begin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about headers written by Python 2
        version = np.lib.format.read_magic(handle)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ValueError(f"format version {version} of NumPy's arrays; versions 1 and 2 are read")
        shape, _, dtype = readers[version](handle)  # of at most 10,000 bytes, NumPy's own limit
    if any(size < 0 for size in shape):
        raise ValueError(f"shape {shape}")
    return Header(tuple(int(size) for size in shape), dtype)


def memory() -> int:
    """Bytes of physical memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return ASSUMED_MEMORY


def _read(handle: IO[bytes]) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array: Array = np.lib.format.read_array(handle, allow_pickle=False)
    handle.read(1)  # at the end of a stream zipfile compares its checksum
    return array


def _text(why: object) -> str:
    text = " ".join(str(why).split())
    if isinstance(why, MemoryError):
        return text or "it does not fit into memory"
    text = text or type(why).__name__
    # shapes of a damaged header may have thousands of digits
    return text if len(text) <= BRIEF else text[:BRIEF] + "..."
