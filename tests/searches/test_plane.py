"""The plane search for piecewise quadratic objectives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.searches.plane import minimize_plane


class Hinges:
    """Σ max(0, b − A x)² + gᵀx: convex, C¹, piecewise quadratic."""

    def __init__(self, A, b, g):
        self.A, self.b, self.g = A, b, g

    def value(self, alpha, beta):
        x = np.array([alpha, beta])
        return float(np.sum(np.maximum(0.0, self.b - self.A @ x) ** 2) + self.g @ x)

    def derivatives(self, alpha, beta):
        x = np.array([alpha, beta])
        h = np.maximum(0.0, self.b - self.A @ x)
        active = self.A[h > 0]
        return self.g - 2 * self.A.T @ h, 2 * active.T @ active


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([1e-4, 1.0, 1e4]), st.sampled_from([0.3, math.inf]))
def test_plane_minimiser_satisfies_first_order_conditions(seed, unit, top):
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(0.0, 1.0, (15, 2)), rng.uniform(0.5, 2.0, 15)
    A[:, 1] *= unit
    g = np.array([0.3, 0.3 * unit]) * rng.uniform(0, 1, 2)
    plane, upper = Hinges(A, b, g), (math.inf, top)
    x = np.array(minimize_plane(plane, (0.0, 0.0), upper))
    assert np.all(x >= 0.0)
    assert np.all(x <= upper)
    slope = plane.derivatives(*x)[0] / np.array([1.0, unit])
    size = np.abs(plane.derivatives(0.0, 0.0)[0] / np.array([1.0, unit])).max()
    for k in range(2):
        if x[k] < upper[k]:
            assert slope[k] >= -1e-5 * size
        if x[k] > 0:
            assert slope[k] <= 1e-5 * size
    # known-bad: a point moved away from it violates them
    worse = x + np.array([0.5, 0.0])
    assert plane.value(*worse) > plane.value(*x)


def test_plane_unbounded_below():
    plane = Hinges(np.zeros((1, 2)), np.zeros(1), np.array([0.0, -1.0]))
    assert not np.all(np.isfinite(minimize_plane(plane, (0.0, 0.0), (math.inf, math.inf))))
    assert minimize_plane(plane, (0.0, 0.0), (math.inf, 2.0))[1] == pytest.approx(2.0)
