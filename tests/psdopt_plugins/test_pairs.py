"""Reading, choosing and summing up pairs."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.pair_sampling import nearest_pairs
from psdopt_plugins.pairs import signed_pairs


def test_both_ways_of_writing_pairs_agree():
    split = signed_pairs(([(1, 0), (2, 3), (0, 1)], [(4, 2)]), 5)
    rows = signed_pairs(np.array([(0, 1, 1), (3, 2, 1), (2, 4, -1)]), 5)
    listed = signed_pairs([(0, 1, 1), (3, 2, 1), (2, 4, -1)], 5)
    for pairs in (split, rows, listed):
        np.testing.assert_array_equal(pairs.ends, [(0, 1), (2, 3), (2, 4)])
        np.testing.assert_array_equal(pairs.signs, [1, 1, -1])
    np.testing.assert_array_equal(split.listed, [(1, 0, 1), (2, 3, 1), (0, 1, 1), (4, 2, -1)])
    np.testing.assert_array_equal(split.summed(np.array([1.0, 2.0, 4.0, 8.0])), [5.0, 2.0, 8.0])
    np.testing.assert_array_equal(signed_pairs(([], [(4, 2)]), 5).ends, [(2, 4)])
    assert signed_pairs(split, 5) is split


def test_laplacian_is_the_signed_sum_of_differences():
    pairs = signed_pairs(([(1, 0), (2, 3)], [(4, 2), (0, 4)]), 6)
    E = np.eye(6)
    rows = zip(pairs.ends.array, pairs.signs, strict=True)
    expected = sum(s * np.outer(E[i] - E[j], E[i] - E[j]) for (i, j), s in rows)
    T = pairs.laplacian()
    assert sp.issparse(T)
    np.testing.assert_array_equal(T.toarray(), expected)


@pytest.mark.parametrize("sparse", [False, True])
def test_nearest_pairs_are_the_nearest(sparse):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((25, 3)), np.arange(25) % 3
    D = np.linalg.norm(X[:, None] - X[None], axis=2) + np.diag(np.full(25, np.inf))
    similar, dissimilar = nearest_pairs(sp.csr_array(X) if sparse else X, y, 2)
    for i in range(25):
        own = np.where(y == y[i], D[i], np.inf).argsort()[:2]
        other = np.where(y != y[i], D[i], np.inf).argsort()[:2]
        assert set(similar[similar[:, 0] == i, 1]) == set(own)
        assert set(dissimilar[dissimilar[:, 0] == i, 1]) == set(other)


def test_small_classes_give_fewer_pairs():
    similar, dissimilar = nearest_pairs(np.arange(4.0)[:, None], np.array([0, 1, 1, 1]), 5)
    assert len(similar) == 6
    assert len(dissimilar) == 6


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        (([], []), "pairs must hold at least one pair; found none"),
        (np.empty((0, 3)), "pairs must hold at least one pair; found none"),
        (([(0, 5)], []), "pairs must hold indices between 0 and 4; found 5"),
        (([], [(-1, 2)]), "pairs must hold indices between 0 and 4; found -1"),
        (([(2, 2)], []), r"pairs must join two different samples; found \(2, 2\)"),
        (([(0, 1)], [(1, 0)]), r"pairs must not be both similar and dissimilar; found \(0, 1\) in both"),
        ([(0, 1, 2), (1, 2, 1), (3, 4, 1)], r"must be \+1 \(similar\) or -1 \(dissimilar\); found 2"),
        (([(0, 1, 2)], [(0, 1)]), r"similar pairs must have shape \(m, 2\); found \(1, 3\)"),
        (np.zeros((3, 4)), r"pairs must be \(similar, dissimilar\) with shapes .* found shape \(3, 4\)"),
        (([(0, 1.5)], []), "similar pairs must hold integers; found dtype float64"),
    ],
)
def test_bad_pairs(pairs, text):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=text):
        signed_pairs(pairs, 5)


@pytest.mark.parametrize("count", [0, 1.5, True])
def test_bad_number_of_neighbours(count):
    with pytest.raises(InvalidInputError, match=f"n_neighbors must be an integer of at least 1; found {count}"):
        nearest_pairs(np.eye(3), np.array([0, 1, 1]), count)
