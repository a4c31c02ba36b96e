"""Spectraplex: oracle and projection against what optimality demands, points, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt.errors import InvalidInputError
from psdopt.geometries.spectraplex import Spectraplex

EPS = np.finfo(float).eps


def symmetric(n, seed, scale=1.0):
    W = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * scale * (W + W.T)


def test_iterative_oracle_bounds_its_own_error():
    n, geometry = 700, Spectraplex(700)
    S = symmetric(n, 3)
    exact, rounding = np.linalg.eigvalsh(S)[0], 64 * EPS * np.linalg.norm(S)
    for tol in (1.0, 1e-3):
        atom = geometry.minimize_linear(aslinearoperator(S), tol)
        assert atom.value - atom.gap_bound <= exact <= atom.value + rounding
        assert atom.gap_bound <= 1.01 * tol
    warm = geometry.minimize_linear(aslinearoperator(S), 1e-3, atom.vector)
    assert warm.products <= atom.products


def test_projection_against_a_conic_solver():
    cp = pytest.importorskip("cvxpy")
    A, n = symmetric(6, 8), 6
    M = cp.Variable((n, n), PSD=True)
    cp.Problem(cp.Minimize(cp.sum_squares(M - A)), [cp.trace(M) == 2.0]).solve(solver="CLARABEL")
    assert np.linalg.norm(Spectraplex(n, 2.0).project(A).to_dense() - M.value) < 1e-5


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0,), "n"), ((2.5,), "n"), ((3, 0.0), "trace"), ((3, -1.0), "trace"), ((3, np.inf), "trace")],
)
def test_bad_arguments_are_named(arguments, name):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        Spectraplex(*arguments)


@pytest.mark.parametrize("trace", [1e-3, 1e4])
def test_the_oracle_keeps_to_its_tolerance_whatever_the_trace(trace):
    """`tol` bounds ⟨S, vvᵀ⟩ − min, which is `trace` times the error of the eigenvalue."""
    n = 700
    S = sp.diags_array(np.linspace(-1.0, 1.0, n) ** 3)
    tol = 1e-4 * trace
    atom = Spectraplex(n, trace).minimize_linear(S, tol)
    assert -trace - 64.0 * EPS * trace <= atom.value <= -trace + tol
    assert 0.0 <= atom.gap_bound <= 1.01 * tol
    assert atom.value - atom.gap_bound <= -trace


def test_a_start_of_any_size_is_scaled():
    for Y in (1e200 * np.ones((4, 2)), 1e-200 * np.ones((4, 2))):
        point = Spectraplex(4, 3.0).from_factor(Y)
        assert Spectraplex(4, 3.0).check_point(point) is None


def test_random_points_are_extreme_and_spread_evenly():
    """v (n, 1) with |v|² = t; the mean of v vᵀ over many is t I / n."""
    rng, geometry = np.random.default_rng(0), Spectraplex(3, 2.0)
    points = [geometry.random_point(rng) for _ in range(2000)]
    assert {point.shape for point in points} == {(3, 1)}
    mean = sum(point @ point.T for point in points) / len(points)
    assert np.abs(mean - 2.0 * np.eye(3) / 3.0).max() <= 5.0 * 2.0 / np.sqrt(2000)
    assert all(np.isclose(np.sum(point**2), 2.0) for point in points)
