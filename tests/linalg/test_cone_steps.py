"""Steps to the boundary of the cone against the spectrum, factors and inverses, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.errors import InvalidInputError
from psdopt.linalg.cone_steps import (
    boundary,
    cone_step,
    cone_steps,
    inverse_of,
    lower_factor,
    smoothed,
    triangular_inverse,
)
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.simplex import project_simplex
from tests.linalg.instances import matrix, symmetric


def definite(n: int, seed: int, decades: float = 4.0) -> np.ndarray:
    return matrix(10.0 ** np.random.default_rng(seed).uniform(-decades, 0.0, n), seed)


def direction(n: int, seed: int) -> np.ndarray:
    return 2.0 * symmetric(n, seed)


@given(w=st.floats(-1e6, 1e6), mu=st.floats(1e-12, 1e6))
def test_two_numbers_with_this_difference_and_this_product(w, mu) -> None:
    x, z = smoothed(np.array([w]), mu)
    assert x[0] > 0.0
    assert z[0] > 0.0
    assert x[0] * z[0] == pytest.approx(mu, rel=1e-14)
    assert x[0] - z[0] == pytest.approx(w, rel=1e-14, abs=1e-14 * (x[0] + z[0]))
    assert smoothed(np.array([w]), 0.0) == (max(w, 0.0), max(-w, 0.0))


@pytest.mark.parametrize("n", [1, 5, SMALL_ORDER + 40, 150])
@pytest.mark.parametrize("accuracy", [0.1, 0.01])
def test_a_step_is_inside_the_cone_and_at_most_that_share_short(n, accuracy) -> None:
    P, D = definite(n, n), direction(n, n + 1) - 3.0 * np.eye(n)
    L = lower_factor(P[None])
    K = np.linalg.inv(L[0])
    longest = -1.0 / np.linalg.eigvalsh(K @ D @ K.T)[0]
    step = cone_step(L[0], D, accuracy)
    assert (1.0 - 2.0 * accuracy) * longest <= step <= longest * (1.0 + 1e-6)


@pytest.mark.parametrize("n", [4, SMALL_ORDER + 40])
def test_directions_that_never_leave_the_cone_have_no_end(n) -> None:
    assert cone_step(lower_factor(definite(n, 0)[None])[0], definite(n, 1), 0.01) >= 1.0
    assert cone_step(lower_factor(definite(4, 0)[None])[0], definite(4, 1), 0.01) == math.inf


def test_long_steps_need_not_be_known() -> None:
    """Steps beyond one are cut to one: that this one is longer is all that counts."""
    n = SMALL_ORDER + 60
    L = lower_factor(definite(n, 3)[None])
    assert cone_step(L[0], 1e-9 * direction(n, 4), 0.01) > 1.0


@pytest.mark.parametrize("n", [2, 7, SMALL_ORDER + 6])
def test_several_matrices_have_a_step_each(n) -> None:
    P = np.stack([definite(n, seed, 2.0) for seed in range(4)])
    D = np.stack([direction(n, 10 + seed) - 3.0 * np.eye(n) for seed in range(4)])
    L = lower_factor(P)
    longest = [-1.0 / np.linalg.eigvals(np.linalg.solve(A, B)).real.min() for A, B in zip(P, D, strict=True)]
    for k in range(4):
        assert cone_step(lower_factor(P[[k]])[0], D[k], 0.01) == pytest.approx(longest[k], rel=0.01)
    H = np.linalg.inv(L)
    assert cone_steps(H[:, None], D[:, None]) == pytest.approx(longest, rel=1e-8)
    assert cone_steps(np.array([H, H]), np.array([D, P])) == [pytest.approx(min(longest), rel=1e-8), math.inf]


@pytest.mark.parametrize("n", [3, SMALL_ORDER + 6])
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_no_direction_is_no_step(n, wrong) -> None:
    D = direction(n, 4)
    D[0, 0] = wrong
    with pytest.raises(np.linalg.LinAlgError, match="finite"):
        cone_step(lower_factor(np.eye(n)[None])[0], D, 0.1)
    with pytest.raises(np.linalg.LinAlgError, match="finite"):
        cone_steps(np.eye(n)[None, None], D[None, None])
    with pytest.raises(np.linalg.LinAlgError, match="finite"):
        boundary(math.nan)


@pytest.mark.parametrize("n", [1, 30, 90])
@pytest.mark.parametrize("count", [1, 3])
def test_factor_and_inverses(n, count) -> None:
    P = np.stack([definite(n, n + k, 2.0) for k in range(count)])
    L = lower_factor(P)
    assert L.shape == (count, n, n)
    assert np.allclose(L @ L.mT, P, rtol=0, atol=1e-14)
    assert np.array_equal(L, np.tril(L))
    inverse = inverse_of(L[0])
    assert np.array_equal(inverse, inverse.T)
    assert np.allclose(inverse @ P[0], np.eye(n), rtol=0, atol=1e-10)
    assert np.allclose(triangular_inverse(L) @ L, np.eye(n), rtol=0, atol=1e-10)


@pytest.mark.parametrize("bad", [-np.eye(3), np.full((3, 3), np.nan), np.diag([1.0, np.inf, 1.0])])
def test_what_has_no_factor_is_refused(bad) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        lower_factor(bad[None])
    for several in ([bad, np.eye(3)], [np.eye(3), np.eye(3), bad]):
        with pytest.raises(np.linalg.LinAlgError):
            lower_factor(np.stack(several))


def test_singular_factors_have_no_inverse() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        inverse_of(np.diag([1.0, 0.0]))
    for several in ([np.diag([1.0, 0.0])], [np.eye(2), np.diag([1.0, 0.0])]):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            triangular_inverse(np.stack(several))


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
