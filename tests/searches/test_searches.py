"""Armijo backtracking and the plane search for piecewise quadratic objectives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.searches.armijo import armijo_step
from psdopt.searches.plane import minimize_plane


class Line:
    def __init__(self, f, df):
        self.value, self.derivatives = f, lambda mu: (df(mu), 0.0)


@settings(max_examples=50, deadline=None)
@given(st.floats(-12, 12), st.floats(-12, 12))
def test_armijo_decreases_enough_at_any_scale(log_size, log_place):
    size, place = 10.0**log_size, 10.0**log_place
    line = Line(lambda t: size * (t / place - 1.0) ** 2, lambda t: 2 * size / place * (t / place - 1.0))
    mu = armijo_step(line)
    assert 0.0 < mu < 2.0 * place
    assert line.value(mu) <= line.value(0.0) + 1e-4 * mu * line.derivatives(0.0)[0]
    assert mu > 0.1 * place  # doubling keeps it from being needlessly short


def test_armijo_at_the_edges():
    assert armijo_step(Line(lambda t: t, lambda t: 1.0)) == 0.0
    assert armijo_step(Line(lambda t: -t, lambda t: -1.0)) == math.inf
    assert armijo_step(Line(lambda t: math.nan if t else 0.0, lambda t: -1.0)) == 0.0


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
