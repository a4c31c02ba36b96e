"""Nearest rows of data that are read in blocks: those of all distances, in few passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from psdopt.linalg import linear_map, row_sources
from psdopt_plugins import block_neighbours
from psdopt_plugins.block_neighbours import ANY, OTHER, SAME, nearest_rows
from psdopt_plugins.pair_sampling import nearest_pairs, nearest_triplets
from tests.psdopt_plugins.instances import OnDisk


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_sources, "BLOCK", 3 * 7)  # seven rows of three columns
    monkeypatch.setattr(block_neighbours, "BLOCK", 20)


def listed(X, own, candidates, count):
    """The nearest by all differences, those of equal distance by number."""
    squared = ((X[candidates] - X[own]) ** 2).sum(axis=1)
    return candidates[np.lexsort((candidates, squared))][:count]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", [SAME, OTHER, ANY])
def test_neighbours_are_those_of_all_distances(kind):
    @settings(max_examples=30)
    @given(seed=st.integers(0, 10_000), m=st.integers(2, 40), count=st.integers(1, 5), whole=st.booleans())
    def holds(seed, m, count, whole):
        rng = np.random.default_rng(seed)
        X = rng.integers(-3, 4, (m, 3)) if whole else rng.standard_normal((m, 3)) + 1e6  # ties, offsets
        X, codes = X.astype(float), rng.integers(3, size=m)
        (found,) = nearest_rows(linear_map(OnDisk(X)), codes, count, (kind,))
        for own in range(m):
            near = codes == codes[own]
            allowed = near if kind == SAME else ~near if kind == OTHER else np.ones(m, dtype=bool)
            allowed = allowed & (np.arange(m) != own)
            expected = listed(X, own, np.flatnonzero(allowed), count)
            kept = found[own][found[own] >= 0]
            assert len(kept) == len(expected)
            distances = [((X[rows] - X[own]) ** 2).sum(axis=1) for rows in (kept, expected)]
            assert np.array_equal(np.sort(distances[0]), np.sort(distances[1]))
            assert np.all(allowed[kept])

    holds()


@pytest.mark.usefixtures("small_blocks")
def test_chosen_queries_cost_a_pass_per_block_of_them():
    X, codes = np.random.default_rng(0).standard_normal((50, 3)), np.arange(50) % 4
    rows = linear_map(OnDisk(X))
    queries = np.array([3, 49, 17])
    (found,) = nearest_rows(rows, codes, 2, (ANY,), queries)
    assert rows.passes == 1
    expected = NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X[queries], return_distance=False)[:, 1:]
    assert np.array_equal(found, expected)
    nearest_rows(rows, codes, 2, (SAME, OTHER))
    assert rows.passes == 1 + 8  # both kinds in one pass over all rows, for each of eight blocks of queries


@pytest.mark.usefixtures("small_blocks")
def test_pairs_and_triplets_of_blocks_are_those_of_the_array():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)), np.array(["a", "b", "c", "c"] * 10)
    X[5], y[5] = X[4] + 9.0, "alone"  # a class of one sample
    for blocks, array in zip(nearest_pairs(linear_map(OnDisk(X)), y, 3), nearest_pairs(X, y, 3), strict=True):
        assert {tuple(pair) for pair in blocks} == {tuple(pair) for pair in array}
        assert len(blocks) == len(array)
    blocks, array = nearest_triplets(linear_map(OnDisk(X)), y, 2), nearest_triplets(X, y, 2)
    assert {tuple(row) for row in blocks} == {tuple(row) for row in array}
