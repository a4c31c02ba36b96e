"""Random pairs: of the kind that was asked for, each once, uniform, as many as there are."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt_plugins.pair_sampling import random_pairs
from psdopt_plugins.pairs import distinct_pairs, joined_pairs, listed_pairs, pair_codes, pairs_of

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
    assert found.shape == (500, 2)
    assert np.all(found[:, 0] % 3 != found[:, 1] % 3)
    np.testing.assert_array_equal(found, random_pairs(10_000, 500, np.random.default_rng(2), codes, False))


def test_codes_and_pairs_are_the_same_thing():
    pairs = np.array([[3, 1], [0, 2]])
    np.testing.assert_array_equal(pairs_of(pair_codes(pairs, 5), 5), [[1, 3], [0, 2]])
    assert pair_codes(np.empty((0, 2), dtype=np.intp), 5).shape == (0,)


def test_distinct_pairs_are_sorted_once():
    pairs, values = distinct_pairs([[3, 1], [0, 2], [1, 3]], [1.0, 0.0, 1.0], 5)
    np.testing.assert_array_equal(pairs, [[0, 2], [1, 3]])
    np.testing.assert_array_equal(values, [0.0, 1.0])
    empty, none = distinct_pairs([], [], 5)
    assert empty.shape == (0, 2)
    assert none.shape == (0,)


def test_two_lists_may_have_two_lengths():
    near, far = [(0, 1), (50, 51), (2, 3)], [(0, 50), (1, 51)]
    rows = listed_pairs((near, far))
    np.testing.assert_array_equal(rows[:, 2], [1, 1, 1, -1, -1])
    np.testing.assert_array_equal(rows, joined_pairs(np.array(near), np.array(far)))
    np.testing.assert_array_equal(listed_pairs(rows), rows)
    np.testing.assert_array_equal(listed_pairs([(0, 1, 1), (2, 3, -1)]), [[0, 1, 1], [2, 3, -1]])
