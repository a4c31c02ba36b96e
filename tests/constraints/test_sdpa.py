"""SDPA's formats: what is read, whatever blocks the text is cut into, and what is refused."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from psdopt import Status, read_sdpa, solve
from psdopt.constraints import sdpa_text
from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.sdpa import _once
from psdopt.constraints.sdpa_text import SdpaText
from psdopt.errors import DataFileError

#: Blocks 2 and a diagonal one of 2; braces, commas and comments as the format has them.
SPARSE = """"A comment
* another
2 = mDIM
2 = nBLOCK
(2, -2) = bLOCKsTRUCT
{1.0, 3.0}
0 1 1 1 1.0
0 1 1 2 0.5
0 2 1 1 -2.0
1 1 1 1 1.0
1 2 1 1 1.0
2 1 2 2 1.0
2 2 2 2 1.0
"""
DENSE = """2
2
2, -2
{1.0, 3.0}
{ {1.0, 0.5}, {0.5, 0.0} } {-2.0, 0.0}
{ {1.0, 0.0}, {0.0, 0.0} } {1.0, 0.0}
{ {0.0, 0.0}, {0.0, 1.0} } {0.0, 1.0}
"""


def written(path, text):
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(("name", "text"), [("a.dat-s", SPARSE), ("a.dat-s.gz", SPARSE), ("a.dat", DENSE)])
def test_all_spellings_of_one_problem_are_one_problem(tmp_path, name, text) -> None:
    problem = read_sdpa(written(tmp_path / name, text))
    assert (problem.n, problem.m) == (4, 2)
    C = problem.conic.C.toarray()
    assert np.array_equal(C, -np.array([[1, 0.5, 0, 0], [0.5, 0, 0, 0], [0, 0, -2, 0], [0, 0, 0, 0]]))
    A = problem.forms.matrix(np.array([1.0, 10.0])).toarray()
    assert np.array_equal(A, np.diag([1.0, 10.0, 1.0, 10.0]))
    assert np.array_equal(problem.lower, [1.0, 3.0])
    assert np.array_equal(problem.upper, problem.lower)
    assert sorted(map(len, problem.conic.blocks)) == [1, 1, 2]


def test_the_value_is_minus_that_of_the_file(tmp_path) -> None:
    # max M_11 + M_12 − 2 x_1 with M_11 + x_1 = 1, M_22 + x_2 = 3: M = [1, √3; √3, 3], x = 0
    result = solve(read_sdpa(written(tmp_path / "a.dat-s", SPARSE)))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(-(1.0 + np.sqrt(3.0)), rel=2e-6)


@pytest.mark.parametrize(("change", "words"), [
    (("2 = mDIM", "two"), "expected the number of constraints m; found 'two'"),
    (("2 = mDIM", "0"), "at least 1; found 0"),
    (("(2, -2)", "(2, 0)"), "must not be 0"),
    (("{1.0, 3.0}", "{1.0, 3.0, 4.0}"), "2 numbers; found 3"),
    (("{1.0, 3.0}", "{1.0, nan}"), "finite"),
    (("2 2 2 2 1.0", "3 2 2 2 1.0"), "matrix numbers must lie between 0 and 2; found 3"),
    (("2 2 2 2 1.0", "2 3 2 2 1.0"), "block numbers must lie between 1 and 2; found 3"),
    (("2 2 2 2 1.0", "2 2 2 3 1.0"), "between 1 and 2"),
    (("2 2 2 2 1.0", "2 2 1 2 1.0"), "is diagonal"),
    (("2 2 2 2 1.0", "2 2 2 2 1.0\n1"), "five numbers"),
    (("2 2 2 2 1.0", "2 2 2 2 one"), "line 13: expected entries"),
    (("2 2 2 2 1.0", "2 2 2 2 inf"), "finite"),
    (("2 2 2 2 1.0", "2 2 2 2.5 1.0"), "integers"),
    (("2 2 2 2 1.0", "-1e308 2 2 2 1.0"), "integers"),
    (("(2, -2)", f"(2, -{NUMBERS})"), f"add up to at most {NUMBERS}; found {NUMBERS + 2}"),
    (("(2, -2)", "(2, -4000000000)"), f"line 5: expected the block sizes, at most {NUMBERS}; found '-4000000000'"),
    (("0 1 1 2 0.5", "0 1 1 2 0.5\n0 1 2 1 0.7"), "two values at one place"),
    ((SPARSE, '"nothing'), "ends before"),
    (("2 = mDIM", "9" * 5000), "line 3: expected the number of constraints m, at most"),
    (("(2, -2)", f"(2, -{'9' * 5000})"), "line 5: expected the block sizes, at most"),
    (("(2, -2)", "(inf, -2)"), "line 5: expected the block sizes; found 'inf'"),
    (("{1.0, 3.0}", "{1.0, 3_0.0}"), "line 6: expected finite numbers of the vector c; found '3_0.0'"),
    (("2 2 2 2 1.0", "2 2 2 2 1_0"), "line 13: expected entries"),
    (("2 2 2 2 1.0", "2 2 2 2 ١"), "line 13: expected entries"),
    (("2 2 2 2 1.0", "2 2 2 2 " + "9" * 5000), "line 13: expected entries of five finite numbers"),
])  # fmt: skip
def test_a_malformed_file_is_one_clear_error(tmp_path, change, words) -> None:
    with pytest.raises(DataFileError, match=words):
        read_sdpa(written(tmp_path / "a.dat-s", SPARSE.replace(*change)))


@pytest.mark.parametrize("sizes", ["1, 20000", "1, -40000000", "1, 40000000"])
def test_a_file_is_sized_by_its_entries_before_memory_is_taken(tmp_path, sizes) -> None:
    text = f"1\n2\n{sizes}\n1.0\n0 1 1 1 1.0\n1 1 1 1 1.0\n1 2 2 2 1.0\n"
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match=r"at most 40000000|more than twice the rows"):
            read_sdpa(written(tmp_path / "a.dat-s", text))
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_some_rows_without_entries_are_kept(tmp_path) -> None:
    problem = read_sdpa(written(tmp_path / "a.dat-s", "1\n1\n100\n1\n0 1 1 1 1\n1 1 1 1 1\n1 1 99 99 1\n"))
    assert (problem.n, solve(problem).value) == (100, pytest.approx(-1.0, rel=1e-5))


def test_places_of_entries_are_not_confused_where_one_number_for_them_would_overflow(tmp_path) -> None:
    # (t n + i) n + j of the two entries differs by 2^64
    n, t = 2**12, 2**40
    entries = [np.array(values) for values in ([1, 1 + t], [7, 7], [7, 7], [1.0, 2.0])]
    assert (t * n * n) % 2**64 == 0
    assert [list(part) for part in _once(Path("a.dat-s"), *entries)] == [list(part) for part in entries]


def test_files_that_cannot_be_read(tmp_path) -> None:
    for name in ("absent.dat-s", "a\0.dat-s"):
        with pytest.raises(DataFileError, match="cannot read"):
            read_sdpa(str(tmp_path / name))
    whole = gzip.compress(SPARSE.encode())
    (tmp_path / "cut.dat-s.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match="damaged"):
        read_sdpa(tmp_path / "cut.dat-s.gz")


def test_multipliers_are_the_x_of_the_other_problem(tmp_path) -> None:
    """y as x in (P), min cᵀx, Σ x_t F_t − F_0 ⪰ 0, written from the text of the file: feasible, of its value."""
    text = "2\n2\n2 -1\n1.0 2.0\n" + "".join(
        f"{t} {block} {i} {j} {x}\n"
        for t, block, i, j, x in [
            (0, 1, 1, 1, 1.0), (0, 1, 1, 2, 2.0), (0, 1, 2, 2, -1.0), (0, 2, 1, 1, -3.0),
            (1, 1, 1, 1, 1.0), (1, 2, 1, 1, 1.0), (2, 1, 2, 2, 1.0), (2, 1, 1, 2, 0.5),
        ]
    )  # fmt: skip
    path = tmp_path / "two.dat-s"
    path.write_text(text)
    result = solve(read_sdpa(path), tol=1e-9)
    assert result.status is Status.OPTIMAL
    F = np.zeros((3, 3, 3))
    for line in text.splitlines()[4:]:
        t, block, i, j = (int(word) for word in line.split()[:4])
        at = 2 * (block - 1) - 1
        F[t, i + at, j + at] = F[t, j + at, i + at] = float(line.split()[4])
    c, x = np.array([1.0, 2.0]), result.certificate.constraints.multipliers
    assert np.linalg.eigvalsh(np.tensordot(x, F[1:], axes=1) - F[0])[0] >= -1e-7
    assert c @ x == pytest.approx(-result.value, rel=1e-7)
    assert np.linalg.eigvalsh(np.tensordot(-x, F[1:], axes=1) - F[0])[0] < -1.0


def test_an_entry_that_overflows_when_it_counts_twice_is_named(tmp_path) -> None:
    path = written(tmp_path / "large.dat-s", "1\n1\n2\n1\n1 1 1 2 1e308\n1 1 1 1 1\n")
    with pytest.raises(DataFileError, match=r"large\.dat-s: entries off the diagonal .* found 1e\+308 in matrix 1"):
        read_sdpa(path)


BLOCK, LONGEST = 2**14, 2**18


@pytest.mark.parametrize("block", [6, 7, 11, 64])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "  \n\n"])
def test_numbers_and_lines_do_not_depend_on_where_blocks_are_cut(tmp_path, monkeypatch, block, end) -> None:
    monkeypatch.setattr(sdpa_text, "BLOCK", block)
    lines = ['"comment', "*", " 3 = m", "(1, -2,", "5)", "{1.0,", "-2.5e0 }", "12 34 5", "6,7", "-1e-3"]
    text = SdpaText(written(tmp_path / "a", end.join(lines).encode()))
    assert text.integers(1, "m") == [3]
    assert text.integers(3, "sizes") == [1, -2, 5]
    assert list(text.numbers(2, "c")) == [1.0, -2.5]
    at = text.at
    assert list(text.rest("entries")) == [12.0, 34.0, 5.0, 6.0, 7.0, -1e-3]
    assert at == (7 if end.count("\n") < 2 else 13)


@pytest.mark.parametrize(("name", "content", "words"), [
    ("a.gz", b"\n" * (LONGEST + 2 * BLOCK), "bytes that unpack to more than"),
    ("a.gz", b"1\n" + b"1 " * LONGEST, "bytes that unpack to more than"),
    ("a", b"1" * (LONGEST + 2 * BLOCK), "line 1: expected m, at most .*; found '1"),
    ("a", b"\0" * (LONGEST + 2 * BLOCK), "line 1: expected m; found"),
    ("a", b"\n" * 4 * BLOCK, "ends before m"),
    ("a", b"1\n2\n" + b"3" * 4 * BLOCK, "line 3: expected rest; found '3"),
])  # fmt: skip
def test_a_bomb_is_one_clear_error_in_little_memory(tmp_path, monkeypatch, name, content, words) -> None:
    monkeypatch.setattr(sdpa_text, "BLOCK", BLOCK)
    monkeypatch.setattr(sdpa_text, "NUMBERS", LONGEST)
    path = written(tmp_path / name, content)
    tracemalloc.start()
    try:
        with pytest.raises(DataFileError, match=words):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 30 * LONGEST
    finally:
        tracemalloc.stop()


def read(path) -> None:
    text = SdpaText(path)
    text.integers(1, "m")
    text.rest("rest")


def test_more_numbers_than_fit_in_memory_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sdpa_text, "memory", lambda: 1000)
    with pytest.raises(DataFileError, match="has more than 99 numbers"):
        read(written(tmp_path / "a", b"1\n" * 100))
    read(written(tmp_path / "b", b"1\n" * 10))


def test_a_size_with_thousands_of_zeros_is_a_number(tmp_path) -> None:
    assert SdpaText(written(tmp_path / "zeros", b"0" * 5000 + b"3\n")).integers(1, "m") == [3]


def test_numbers_of_the_head_may_have_lines_of_their_own(tmp_path) -> None:
    text = SdpaText(written(tmp_path / "lines", b"1\n\n" + b"2\n" * 300 + b"4 and words\n0.5\n1.5\n"))
    assert text.integers(302, "the sizes") == [1, *[2] * 300, 4]
    assert text.numbers(2, "c").tolist() == [0.5, 1.5]
