"""Distances and their differences: accuracy under offsets, shared pairs, the order of far and near."""

import numpy as np

from psdopt.contracts.images import Images
from psdopt.linalg.tolerances import EPS
from psdopt.terms.distances import PairDistances, TripletDifferences


def test_a_common_offset_costs_no_accuracy():
    """d(i, j) from differences; |x_i|² + |x_j|² − 2 x_i·x_j would lose ten digits here."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((20, 3)) * 64) / 64  # exact also after the offset
    i, j = np.arange(19), np.arange(1, 20)
    near, far = PairDistances(i, j, X), PairDistances(i, j, X + 2.0**20)
    Y = np.eye(3)
    one, other = (m.pair(Images(m.maps, Y), Images(m.maps, Y)) for m in (near, far))
    np.testing.assert_array_equal(one, other)


def test_shared_pairs_are_measured_once():
    i, j, k = [0, 0, 0, 1], [1, 1, 2, 0], [2, 3, 3, 2]
    measurement = TripletDifferences(i, j, k, n=4)
    pairs = measurement.pairs
    assert pairs.size == 4  # 01 (also as 10), 02, 03, 12
    ends = np.column_stack([pairs.i, pairs.j]).tolist()
    assert [ends[t] for t in measurement.near] == [[0, 1], [0, 1], [0, 2], [0, 1]]
    assert [ends[t] for t in measurement.far] == [[0, 2], [0, 3], [0, 3], [1, 2]]


def test_a_common_offset_costs_no_accuracy_in_the_adjoint_either():
    """Σ_t w_t (e_i − e_j)(e_i − e_j)ᵀ Z annihilates an offset of the rows: what is left is exact to rounding of Z."""
    rng = np.random.default_rng(1)
    i, j, w = np.arange(19), np.arange(1, 20), rng.uniform(0.5, 2.0, 19)
    Z = np.round(rng.standard_normal((20, 3)) * 64) / 64
    measurement = PairDistances(i, j, n=20)
    expected = np.zeros((20, 3))
    for a, b, weight in zip(i, j, w, strict=True):
        expected[a] += weight * (Z[a] - Z[b])
        expected[b] -= weight * (Z[a] - Z[b])
    for offset in (0.0, 2.0**30):
        V = Images(measurement.maps, Z + offset)
        found = sum(force for _, force in measurement.adjoint(w, V))
        # the mean of 20 rows is rounded; its rounding is annihilated like any other offset
        np.testing.assert_allclose(found, expected, atol=64 * EPS * np.abs(expected).max())
