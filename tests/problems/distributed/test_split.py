import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.problems.distributed import even_slices, touched


def test_touched_rows_are_sorted_and_give_the_tuples_back():
    tuples = np.array([[7, 2], [2, 9], [7, 9]])
    rows, positions = touched(tuples)
    assert rows.tolist() == [2, 7, 9]
    assert np.array_equal(rows[positions], tuples)


def test_no_tuples_touch_no_rows():
    rows, positions = touched(np.empty((0, 2), dtype=int))
    assert len(rows) == 0
    assert positions.shape == (0, 2)


@given(count=st.integers(0, 50), parts=st.integers(1, 9))
def test_even_slices_cover_everything_once(count, parts):
    slices = even_slices(count, parts)
    assert len(slices) == parts
    assert [t for s in slices for t in range(count)[s]] == list(range(count))
    lengths = [s.stop - s.start for s in slices]
    assert max(lengths) - min(lengths) <= 1


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match=r"tuples must have shape \(p, k\); found \(3,\)"):
        touched([1, 2, 3])
    with pytest.raises(InvalidTypeError, match="tuples must hold integers; found dtype float64"):
        touched([[0.5, 1.0]])
    with pytest.raises(InvalidInputError, match="parts must be an integer of at least 1; found 0"):
        even_slices(5, 0)
