"""Factors modulo rotations: the horizontal part on badly scaled spectra, ranks, refusals."""

import numpy as np

from psdopt import FlatQuotient, LowRankPSD
from psdopt.linalg.tolerances import EPS


def test_rank_deficient_points():
    geometry, rng = FlatQuotient(6, 3), np.random.default_rng(0)
    Y = np.zeros((6, 3))
    Y[:, 0] = rng.standard_normal(6)
    Z = rng.standard_normal((6, 3))
    D = geometry.horizontal(Y, Z)
    assert geometry.check_vector(Y, D) is None
    np.testing.assert_allclose(geometry.horizontal(Y, D), D, atol=64 * EPS * np.linalg.norm(Z))
    np.testing.assert_array_equal(geometry.horizontal(np.zeros((6, 3)), Z), Z)


def test_from_matrix_pads_or_truncates():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((6, 3))
    M = LowRankPSD(Y)
    for r in (3, 5):
        point = FlatQuotient(6, r).from_matrix(M)
        assert point.shape == (6, r)
        np.testing.assert_allclose(point @ point.T, Y @ Y.T, atol=64 * EPS * np.linalg.norm(Y) ** 2)
    point = FlatQuotient(6, 2).from_matrix(M)
    best = LowRankPSD.from_dense(Y @ Y.T, rank=2).to_dense()
    np.testing.assert_allclose(point @ point.T, best, atol=64 * EPS * np.linalg.norm(Y) ** 2)
