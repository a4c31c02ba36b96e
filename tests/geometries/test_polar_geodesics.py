"""Geodesics of the polar metric: the closed form obeys its equation, the inverse of the retraction inverts it."""

import numpy as np
import pytest

from psdopt import Polar
from psdopt.geometries import polar_geodesics


def drawn(weight, seed=0):
    rng, geometry = np.random.default_rng(seed), Polar(6, 2, weight)
    p = geometry.random_point(rng)
    v = geometry.random_vector(p, rng)
    return geometry, p, 0.5 * v


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_geodesics_can_be_driven_in_two_legs(weight):
    """The velocity at half time, from differences of the curve, leads on to the same end."""
    _, p, v = drawn(weight)
    at = lambda t: polar_geodesics.exp(p.U, p.R, t * v.U, t * v.K, weight)  # noqa: E731
    whole, half = at(1.0), at(0.5)
    h = 1e-4
    ahead, behind = at(0.5 + h), at(0.5 - h)
    D = (ahead[0] - behind[0]) / (2 * h)
    D -= half[0] @ (half[0].T @ D)
    Bdot = (ahead[1] @ ahead[1].T - behind[1] @ behind[1].T) / (2 * h)
    K = np.linalg.solve(half[1], np.linalg.solve(half[1], Bdot).T)
    end = polar_geodesics.exp(*half, 0.5 * D, 0.5 * (K + K.T) / 2, weight)
    M, N = (U @ R @ R.T @ U.T for U, R in (whole, end))
    assert np.linalg.norm(M - N) <= 1e-5 * np.linalg.norm(M)
