"""The text of SDPA files in blocks: cuts between numbers, and bombs."""

import gzip
import tracemalloc

import pytest

from psdopt.constraints import sdpa_text
from psdopt.constraints.sdpa_text import SdpaText
from psdopt.errors import DataFileError

BLOCK, LONGEST = 2**14, 2**18


def written(path, content: bytes):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("block", [6, 7, 11, 64])
@pytest.mark.parametrize("end", ["\n", "\r\n", "  \n\n"])
def test_numbers_and_lines_do_not_depend_on_where_blocks_are_cut(tmp_path, monkeypatch, block, end) -> None:
    monkeypatch.setattr(sdpa_text, "BLOCK", block)
    monkeypatch.setattr(sdpa_text, "LONGEST", 100 * block)
    lines = ['"comment', "*", " 3 = m", "(1, -2,", "5)", "{1.0,", "-2.5e0 }", "12 34 5", "6,7", "-1e-3"]
    with SdpaText(written(tmp_path / "a", end.join(lines).encode())) as text:
        assert text.integers(1, "m") == [3]
        assert text.integers(3, "sizes") == [1, -2, 5]
        assert list(text.numbers(2, "c")) == [1.0, -2.5]
        at = text.at
        assert list(text.rest("entries")) == [12.0, 34.0, 5.0, 6.0, 7.0, -1e-3]
    assert at == (7 if len(end.split("\n")) == 2 else 13)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.gz", b"\n" * (LONGEST + 2 * BLOCK), "bytes that unpack to more than"),
        ("a.gz", b"1\n" + b"1 " * LONGEST, "bytes that unpack to more than"),
        ("a", b"1" * (LONGEST + 2 * BLOCK), "line 1: expected m; found a line of more than"),
        ("a", b"\0" * (LONGEST + 2 * BLOCK), "line 1: expected m; found a line of more than"),
        ("a", b"\n" * 4 * BLOCK, "ends before m"),
        ("a", b"1\n2\n" + b"3" * 4 * BLOCK, "line 3: expected rest; found a word of more than"),
    ],
)
def test_a_bomb_is_one_clear_error_in_little_memory(tmp_path, monkeypatch, name, content, words) -> None:
    monkeypatch.setattr(sdpa_text, "BLOCK", BLOCK)
    monkeypatch.setattr(sdpa_text, "LONGEST", LONGEST)
    path = written(tmp_path / name, content)
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match=words):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 30 * LONGEST
    finally:
        tracemalloc.stop()


def read(path) -> None:
    with SdpaText(path) as text:
        text.integers(1, "m")
        text.rest("rest")


def test_more_numbers_than_fit_in_memory_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sdpa_text, "memory", lambda: 1000)
    with pytest.raises(DataFileError, match="has more than 99 numbers"):
        read(written(tmp_path / "a", b"1\n" * 100))
    read(written(tmp_path / "b", b"1\n" * 10))


def test_a_size_with_thousands_of_zeros_is_a_number(tmp_path) -> None:
    with SdpaText(written(tmp_path / "zeros", b"0" * 5000 + b"3\n")) as text:
        assert text.integers(1, "m") == [3]


def test_lines_in_great_number_are_read_together(tmp_path) -> None:
    with SdpaText(written(tmp_path / "lines", b"1\n\n" + b"2\n" * 300 + b"4 and words\n0.5\n1.5\n")) as text:
        assert text.integers(302, "the sizes") == [1, *[2] * 300, 4]
        assert text.numbers(2, "c").tolist() == [0.5, 1.5]
