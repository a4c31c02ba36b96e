"""Steps to the boundary of the cone against the spectrum, factors and inverses, and what is refused."""

import math

import numpy as np
import pytest

from psdopt.linalg.cone_steps import cone_step, inverse_of, lower_factor, triangular_inverse
from psdopt.linalg.limits import SMALL_ORDER


def definite(n: int, seed: int, decades: float = 4.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (V * 10.0 ** rng.uniform(-decades, 0.0, n)) @ V.T


def direction(n: int, seed: int) -> np.ndarray:
    D = np.random.default_rng(seed).standard_normal((n, n))
    return D + D.T


@pytest.mark.parametrize("n", [1, 5, SMALL_ORDER + 40, 150])
@pytest.mark.parametrize("accuracy", [0.1, 0.01])
def test_a_step_is_inside_the_cone_and_at_most_that_share_short(n, accuracy) -> None:
    P, D = definite(n, n), direction(n, n + 1) - 3.0 * np.eye(n)
    L = lower_factor(P)
    K = np.linalg.inv(L)
    longest = -1.0 / np.linalg.eigvalsh(K @ D @ K.T)[0]
    step = cone_step(L, D, accuracy)
    assert (1.0 - 2.0 * accuracy) * longest <= step <= longest * (1.0 + 1e-6)


@pytest.mark.parametrize("n", [4, SMALL_ORDER + 40])
def test_directions_that_never_leave_the_cone_have_no_end(n) -> None:
    assert cone_step(lower_factor(definite(n, 0)), definite(n, 1), 0.01) >= 1.0
    assert cone_step(lower_factor(definite(4, 0)), definite(4, 1), 0.01) == math.inf


def test_long_steps_need_not_be_known() -> None:
    """Steps beyond one are cut to one: that this one is longer is all that counts."""
    n = SMALL_ORDER + 60
    L = lower_factor(definite(n, 3))
    assert cone_step(L, 1e-9 * direction(n, 4), 0.01) > 1.0


@pytest.mark.parametrize("n", [1, 30, 90])
def test_factor_and_inverses(n) -> None:
    P = definite(n, n, 2.0)
    L = lower_factor(P)
    assert np.allclose(L @ L.T, P, rtol=0, atol=1e-14)
    assert np.array_equal(L, np.tril(L))
    inverse = inverse_of(L)
    assert np.array_equal(inverse, inverse.T)
    assert np.allclose(inverse @ P, np.eye(n), rtol=0, atol=1e-10)
    assert np.allclose(triangular_inverse(L) @ L, np.eye(n), rtol=0, atol=1e-10)


@pytest.mark.parametrize("bad", [-np.eye(3), np.full((3, 3), np.nan), np.diag([1.0, np.inf, 1.0])])
def test_what_has_no_factor_is_refused(bad) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        lower_factor(bad)


def test_singular_factors_have_no_inverse() -> None:
    for invert in (inverse_of, triangular_inverse):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            invert(np.diag([1.0, 0.0]))
