"""Projection onto the capped simplex."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.errors import InvalidInputError
from psdopt.linalg.simplex import project_simplex

EPS = np.finfo(float).eps


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.integers(1, 40), st.integers(0, 10**6), st.sampled_from([1e-8, 1.0, 1e8]), st.sampled_from([0.1, 1.0, 7.0]))
def test_simplex_projection_meets_its_optimality_conditions(m, seed, scale, total):
    rng = np.random.default_rng(seed)
    x = scale * np.round(rng.standard_normal(m), rng.integers(0, 3))  # ties are likely
    for upper in (np.inf, total, 1.5 * total / m, total / m):
        p = project_simplex(x, total, upper)
        slack = 32 * EPS * m * max(total, scale)
        assert p.min() >= 0.0
        assert p.max() <= upper * (1 + 4 * EPS)
        assert abs(p.sum() - total) <= slack
        # ⟨x − p, q − p⟩ <= 0 for the vertex q that maximises ⟨x − p, q⟩
        order, q, left = np.argsort(p - x), np.zeros(m), total
        for i in order:
            q[i] = min(upper, left)
            left -= q[i]
        assert (x - p) @ (q - p) <= slack * max(total, scale) * m


@pytest.mark.parametrize(("x", "total", "upper"), [([], 1.0, 1.0), ([np.nan], 1.0, 1.0), ([0.0, 0.0], 1.0, 0.4)])
def test_simplex_projection_refuses_the_impossible(x, total, upper):
    with pytest.raises(InvalidInputError):
        project_simplex(np.array(x), total, upper)


@pytest.mark.parametrize("size", [1e15, 1e18, 1e25, 1e300])
@pytest.mark.parametrize("upper", [0.15, 0.25, 1.0])
def test_entries_beside_which_the_cap_is_rounding_are_filled_in_their_order(size, upper):
    """The shift cannot be represented, and the sum is `total` all the same."""
    x = size * np.array([0.3, 1.0, -1.0, 0.7, 0.7, 0.1, -0.5, 0.2])
    p = project_simplex(x, 1.0, upper)
    assert p.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.all((p >= 0.0) & (p <= upper))
    assert p[3] == p[4]
    assert np.all(np.diff(p[np.argsort(-x, kind="stable")]) <= 0.0)
    small = project_simplex(x / size * 1e6, 1.0, upper)
    np.testing.assert_allclose(p, small, atol=1e-9)
