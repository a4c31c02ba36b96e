"""SDPA's formats: what is read, and what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from psdopt import Status, read_sdpa, solve
from psdopt.constraints.sdpa import MOST_ROWS
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
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
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
        (("(2, -2)", "(2, -4000000000)"), f"add up to at most {MOST_ROWS}; found 4000000002"),
        (("0 1 1 2 0.5", "0 1 1 2 0.5\n0 1 2 1 0.7"), "two values at one place"),
        ((SPARSE, '"nothing'), "ends before"),
    ],
)
def test_a_malformed_file_is_one_clear_error(tmp_path, change, words) -> None:
    with pytest.raises(DataFileError, match=words):
        read_sdpa(written(tmp_path / "a.dat-s", SPARSE.replace(*change)))


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(DataFileError, match="cannot read"):
        read_sdpa(tmp_path / "absent.dat-s")
    whole = gzip.compress(SPARSE.encode())
    (tmp_path / "cut.dat-s.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match="damaged"):
        read_sdpa(tmp_path / "cut.dat-s.gz")
