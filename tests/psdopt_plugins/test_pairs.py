"""Pairs and tuples of samples: what is accepted, and their names."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.pair_sampling import nearest_pairs, random_pairs
from psdopt_plugins.pairs import distinct_pairs, pair_codes, pairs_of, signed_pairs
from psdopt_plugins.tuples import points_of_tuples, samples_of_indices
from tests.psdopt_plugins.instances import distances


def test_both_ways_of_writing_pairs_agree():
    split = signed_pairs(([(1, 0), (2, 3), (0, 1)], [(4, 2)]), 5)
    rows = signed_pairs(np.array([(0, 1, 1), (3, 2, 1), (2, 4, -1)]), 5)
    listed = signed_pairs([(0, 1, 1), (3, 2, 1), (2, 4, -1)], 5)
    for pairs in (split, rows, listed):
        np.testing.assert_array_equal(pairs.ends, [(0, 1), (2, 3), (2, 4)])
        np.testing.assert_array_equal(pairs.signs, [1, 1, -1])
    for pairs in (rows, listed):
        np.testing.assert_array_equal(pairs.listed, [(0, 1, 1), (3, 2, 1), (2, 4, -1)])
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
    D = distances(X) + np.diag(np.full(25, np.inf))
    similar, dissimilar = nearest_pairs(sp.csr_array(X) if sparse else X, y, 2)
    for i in range(25):
        own = np.where(y == y[i], D[i], np.inf).argsort()[:2]
        other = np.where(y != y[i], D[i], np.inf).argsort()[:2]
        assert set(similar[similar[:, 0] == i, 1]) == set(own)
        assert set(dissimilar[dissimilar[:, 0] == i, 1]) == set(other)
    few = nearest_pairs(np.arange(4.0)[:, None], np.array([0, 1, 1, 1]), 5)  # small classes give fewer
    assert [len(pairs) for pairs in few] == [6, 6]


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
        ([(0, 1), (2, 3)], r"or one array \(p, 3\) of rows \(i, j, \+1\) and \(i, j, -1\); found shape \(2, 2\)"),
        ((0, 1), r"pairs must be \(similar, dissimilar\) with shapes .* found shape \(2,\)"),
        (([(0, 1)], (2, 3)), r"dissimilar pairs must have shape \(m, 2\); found \(2,\)"),
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


CODES = np.array([0, 0, 0, 1, 1, 2])


@pytest.mark.parametrize("same", [True, False])
def test_pairs_are_of_the_kind_asked_for_and_never_twice(same):
    found = random_pairs(6, 100, np.random.default_rng(0), CODES, same)
    assert np.all((CODES[found[:, 0]] == CODES[found[:, 1]]) == same)
    assert len(found) == (4 if same else 11)  # all that there are
    assert len(np.unique(pair_codes(found, 6))) == len(found)
    assert np.all(found[:, 0] < found[:, 1])


def test_without_classes_every_pair_is_a_candidate_and_none_is_preferred():
    counts = np.zeros((5, 5))
    rng = np.random.default_rng(1)
    for _ in range(2000):
        i, j = random_pairs(5, 3, rng).T
        counts[i, j] += 1
    drawn = counts[np.triu_indices(5, 1)]
    assert drawn.sum() == 6000
    assert np.all(np.abs(drawn - 600) < 5 * np.sqrt(600))


def test_many_samples_are_drawn_without_listing_their_pairs():
    codes = np.arange(10_000) % 3
    found = random_pairs(10_000, 500, np.random.default_rng(2), codes, False)
    assert len(np.unique(pair_codes(found, 10_000))) == len(found) == 500
    assert np.all(found[:, 0] % 3 != found[:, 1] % 3)
    np.testing.assert_array_equal(found, random_pairs(10_000, 500, np.random.default_rng(2), codes, False))


def test_codes_stand_for_pairs_and_distinct_pairs_are_sorted_once():
    pairs = np.array([[3, 1], [0, 2]])
    np.testing.assert_array_equal(pairs_of(pair_codes(pairs, 5), 5), [[1, 3], [0, 2]])
    assert pair_codes(np.empty((0, 2), dtype=np.intp), 5).shape == (0,)
    pairs, values = distinct_pairs([[3, 1], [0, 2], [1, 3]], [1.0, 0.0, 1.0], 5)
    np.testing.assert_array_equal(pairs, [[0, 2], [1, 3]])
    np.testing.assert_array_equal(values, [0.0, 1.0])
    assert [part.shape for part in distinct_pairs([], [], 5)] == [(0, 2), (0,)]


X = np.random.default_rng(0).standard_normal((9, 4))
ROWS = {2: np.array([(3, 1), (8, 1), (0, 3)]), 3: np.array([(3, 1, 4), (8, 1, 0), (0, 3, 8)])}


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("form", ["points", "list", "array", "sparse", "function"])
def test_tuples_stand_for_their_samples(width, form):
    rows = ROWS[width]
    tuples, preprocessor = {
        "points": (X[rows], None), "list": (X[rows].tolist(), X), "array": (rows, X),
        "sparse": (rows.tolist(), sp.coo_array(X)), "function": (rows, lambda i: X[i]),
    }[form]  # fmt: skip
    samples, found = points_of_tuples(tuples, width, preprocessor)
    samples = samples.toarray() if sp.issparse(samples) else samples
    np.testing.assert_array_equal(samples[found], X[rows])
    written_once = form not in ("points", "list")
    assert len(samples) == (len(np.unique(rows)) if written_once else rows.size)


@pytest.mark.parametrize(
    ("tuples", "preprocessor", "error", "words"),
    [
        (ROWS[2], None, InvalidInputError, r"pairs must have shape \(p, 2, d\), .*; indices \(p, 2\) need a"),
        (X[ROWS[3]], None, InvalidInputError, r"found shape \(3, 3, 4\)"),
        (np.empty((0, 2, 4)), None, InvalidInputError, r"found shape \(0, 2, 4\)"),
        ([[X[0], X[1]], [X[0]]], None, InvalidInputError, "rows of different lengths"),
        (np.full((1, 2, 4), np.nan), None, InvalidInputError, "pairs must hold finite numbers"),
        ([(0, 9)], X, InvalidInputError, "pairs must hold indices between 0 and 8; found 9"),
        ([(0.5, 1.0)], X, InvalidTypeError, "pairs must hold integers"),
        ([(0, 1)], X[0], InvalidTypeError, r"preprocessor must be an array \(N, d\) of samples or a function"),
        ([(0, 1)], lambda i: X, InvalidInputError, "preprocessor must return 2 rows, one per index; found 9"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(tuples, preprocessor, error, words):
    with pytest.raises(error, match=words):
        points_of_tuples(tuples, 2, preprocessor)


@pytest.mark.parametrize("preprocessor", [X, X.tolist(), sp.coo_array(X), lambda i: X[i]])
def test_indices_stand_for_their_samples_in_their_order(preprocessor):
    for listed in ([3, 1, 3], np.array([3, 1, 3], dtype=np.uint8)):
        samples = samples_of_indices(listed, preprocessor)
        np.testing.assert_array_equal(samples.toarray() if sp.issparse(samples) else samples, X[listed])


@pytest.mark.parametrize("other", [X, X.tolist(), sp.csr_array(X), 3, "text", [[1], [2, 3]], X[None]])
def test_what_is_no_list_stays_as_it_is(other):
    assert samples_of_indices(other, X) is other
    assert samples_of_indices([0, 1], None) == [0, 1]
