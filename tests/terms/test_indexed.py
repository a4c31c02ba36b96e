"""Index arrays of measurements: codes of unordered pairs, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt.errors import InvalidInputError
from psdopt.linalg.operators import LinearMap
from psdopt.terms.indexed import checked_indices, codes_of, require_distinct, rows_of


@given(pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_codes_number_unordered_pairs(pairs):
    left, right = np.array(pairs).T
    codes = codes_of(left, right, 10)
    np.testing.assert_array_equal(codes, codes_of(right, left, 10))
    assert len(set(codes.tolist())) == len({frozenset(pair) for pair in pairs})


def test_rows_are_those_of_the_data_or_the_order():
    X = LinearMap(np.ones((5, 3)), "X")
    assert rows_of(X, None) == (X, 5, 3)
    assert rows_of(None, 4) == (None, 4, 4)
    with pytest.raises(InvalidInputError, match="n must be 3, the number of columns of X; found 4"):
        rows_of(X, 4)


def test_indices_of_different_lengths_and_equal_ends_are_refused():
    with pytest.raises(InvalidInputError, match="index arrays must share one length; found a: 1, b: 2"):
        checked_indices({"a": [0], "b": [0, 1]}, 3)
    with pytest.raises(InvalidInputError, match="a and b must differ; found both equal to 2 at position 1"):
        require_distinct(np.array([0, 2]), np.array([1, 2]), "a", "b")
    require_distinct(np.array([0]), np.array([1]), "a", "b")
