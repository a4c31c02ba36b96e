"""Archives of arrays: sizes before contents, and one error for whatever is damaged, foreign or too large."""

import io
import struct
import zipfile
from typing import Any

import numpy as np
import pytest

from psdopt.data import archives
from psdopt.data.archives import Archive, read_npy
from psdopt.errors import InvalidInputError


def packed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def zipped(member: str, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(member, content)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_arrays_come_back_and_headers_come_first() -> None:
    archive = Archive(packed(X=np.eye(3), y=np.array(["a", "bc"])), "d.npz")
    assert archive.names == ["X", "y"]
    assert archive.headers["X"].shape == (3, 3)
    assert archive.headers["y"].entries == 2
    np.testing.assert_array_equal(archive.read("X"), np.eye(3))
    assert archive.read("y").tolist() == ["a", "bc"]
    assert list(Archive(packed(X=1, y=2), "d.npz", wanted=("y", "z")).headers) == ["y"]


def test_what_is_no_archive_of_arrays_is_refused() -> None:
    whole = packed(X=np.arange(1000.0))
    stream = bytearray(whole)
    stream[200:210] = b"0123456789"  # within the packed entries
    version = bytearray(whole)
    version[whole.rindex(b"PK\x01\x02") + 6] = 99  # the zip version needed to read it
    encrypted = bytearray(whole)
    encrypted[whole.rindex(b"PK\x01\x02") + 8] |= 1
    for content, text in (
        (b"", "is no usable .npz archive"),
        (b"hello", "File is not a zip file"),
        (npy([1.0]), "File is not a zip file"),
        (bytes(stream), "X: "),
        (bytes(version), "is no usable .npz archive"),
        (bytes(encrypted), "X is encrypted"),
        (zipped("X.npy", npy([1.0]), zipfile.ZIP_LZMA), "X is compressed by method 14; only deflate is read"),
        (zipped("X.npy", npy(np.array([object()]))), "X: it holds Python objects"),
        (zipped("X.npy", npy([1.0, 2.0])[:-3]), "X: 13 bytes of entries; its shape (2,) needs another number"),
        (zipped("X.npy", npy([1.0, 2.0]) + b"more"), "X: 20 bytes of entries; its shape (2,) needs another number"),
        (zipped("X.npy", b"no array"), "X: "),
        (zipped("X.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 3) + b"[((1"), "X: "),
    ):
        with pytest.raises(InvalidInputError) as caught:
            Archive(content, "d.npz").read("X")
        assert str(caught.value).startswith("d.npz is no usable .npz archive: ")
        assert text in str(caught.value)


def test_a_header_is_not_longer_than_numpy_reads() -> None:
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }}{' ' * 20_000}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
    with pytest.raises(InvalidInputError, match=r"d\.npy is no usable \.npy file: Header info"):
        read_npy(content, "d.npy")


def test_a_lie_about_the_size_is_found_before_memory_is_taken() -> None:
    huge = npy(np.zeros(1))[:-8].replace(b"(1,), }" + b" " * 12, b"(999999999999,), }" + b" ")
    with pytest.raises(InvalidInputError, match="X: 0 bytes of entries"):
        Archive(zipped("X.npy", huge), "d.npz")


def test_arrays_larger_than_memory_and_bombs_are_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    content = packed(X=np.zeros((1000, 100), dtype=np.uint8), y=np.zeros(3))
    monkeypatch.setattr(archives, "memory", lambda: 1_000_000)  # 8 bytes each: 800,000, and half may be filled
    with pytest.raises(InvalidInputError, match=r"d.npz: X and the others need .* GiB; found .* GiB to fill"):
        Archive(content, "d.npz")
    assert list(Archive(content, "d.npz", wanted=("y",)).headers) == ["y"]
    monkeypatch.undo()
    monkeypatch.setattr(archives, "BOMB_SIZE", 100_000)
    with pytest.raises(InvalidInputError, match=r"bytes unpack to .* GiB; store a matrix of mostly zeros as CSR"):
        Archive(content, "d.npz")


def test_memory_is_known_or_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert archives.memory() > 2**26

    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(archives.os, "sysconf", unknown)
    assert archives.memory() == archives.ASSUMED_MEMORY


def test_a_single_array() -> None:
    np.testing.assert_array_equal(read_npy(npy([[1, 2]]), "d.npy"), [[1, 2]])
    for content in (b"", npy([1.0])[:-1], npy(np.array([None])), packed(X=1)):
        with pytest.raises(InvalidInputError, match=r"^d.npy is no usable .npy file: "):
            read_npy(content, "d.npy")
