"""Spectraplex: oracle and projection against what optimality demands, points, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from psdopt.errors import InvalidInputError
from psdopt.geometries.spectraplex import Spectraplex

EPS = np.finfo(float).eps


def symmetric(n, seed, scale=1.0):
    W = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * scale * (W + W.T)


@pytest.mark.parametrize("trace", [1.0, 3.5])
@pytest.mark.parametrize("n", [1, 2, 12])
def test_oracle_is_the_lowest_eigenvector(n, trace):
    S, geometry = symmetric(n, n), Spectraplex(n, trace)
    atom = geometry.minimize_linear(S, 0.0)
    exact = trace * np.linalg.eigvalsh(S)[0]
    slack = 64 * EPS * n * trace * np.linalg.norm(S)
    assert abs(np.linalg.norm(atom.vector) ** 2 - trace) <= slack
    assert abs(atom.vector @ S @ atom.vector - atom.value) <= slack
    assert atom.value - atom.gap_bound <= exact <= atom.value + slack
    assert atom.gap_bound <= slack
    assert geometry.check_point(atom.vector[:, None]) is None


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


def test_several_columns_come_sorted_and_orthogonal():
    S = symmetric(9, 5)
    atoms = Spectraplex(9, 2.0).minimize_linear_many(S, 0.0, 4)
    V = np.array([atom.vector for atom in atoms]).T
    assert np.allclose(V.T @ V, 2.0 * np.eye(4), atol=64 * EPS)
    assert np.allclose([atom.value for atom in atoms], 2.0 * np.linalg.eigvalsh(S)[:4])
    assert len(Spectraplex(2).minimize_linear_many(np.eye(2), 0.0, 5)) == 2


@pytest.mark.parametrize("guess", [np.zeros(4), np.full(4, np.nan)])
def test_a_useless_guess_does_no_harm(guess):
    S = symmetric(4, 1)
    assert np.isclose(Spectraplex(4).minimize_linear(S, 0.0, guess).value, np.linalg.eigvalsh(S)[0])


@settings(deadline=None, max_examples=40, derandomize=True)
@given(st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([0.5, 1.0, 40.0]))
def test_projection_meets_the_variational_inequality(n, seed, scale, trace):
    geometry, A = Spectraplex(n, trace), symmetric(n, seed, scale)
    P = geometry.project(A)
    assert geometry.check_point(P.factor) is None
    R = A - P.to_dense()
    best = trace * np.linalg.eigvalsh(R)[-1]
    slack = 64 * EPS * n * (np.linalg.norm(A) + trace) * trace
    assert best - np.sum(R * P.to_dense()) <= slack
    again = geometry.project(P.to_dense())
    assert np.linalg.norm(again.to_dense() - P.to_dense()) <= 64 * EPS * n * trace


def test_projection_against_a_conic_solver():
    cp = pytest.importorskip("cvxpy")
    A, n = symmetric(6, 8), 6
    M = cp.Variable((n, n), PSD=True)
    cp.Problem(cp.Minimize(cp.sum_squares(M - A)), [cp.trace(M) == 2.0]).solve(solver="CLARABEL")
    assert np.linalg.norm(Spectraplex(n, 2.0).project(A).to_dense() - M.value) < 1e-5


def test_points():
    geometry = Spectraplex(5, 2.0)
    rng = np.random.default_rng(0)
    assert geometry.check_point(geometry.random_point(rng)) is None
    assert geometry.check_point(geometry.centre()) is None
    Y = geometry.from_factor(rng.standard_normal((5, 3)))
    assert geometry.check_point(Y) is None
    assert np.isclose(geometry.to_matrix(Y).trace(), 2.0)
    assert "trace" in str(geometry.check_point(2 * Y))
    assert "shape" in str(geometry.check_point(Y[:3]))
    assert "shape" in str(geometry.check_point(np.zeros((5, 0))))
    assert "finite" in str(geometry.check_point(np.full((5, 1), np.nan)))
    with pytest.raises(InvalidInputError, match="Y = 0"):
        geometry.from_factor(np.zeros((5, 1)))
    with pytest.raises(InvalidInputError, match="shape"):
        geometry.project(np.eye(4))


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


def test_a_random_point_is_extreme():
    geometry = Spectraplex(5, 3.0)
    v = geometry.random_point(np.random.default_rng(0))
    assert v.shape == (5, 1)
    assert np.vdot(v, v) == pytest.approx(3.0)


def test_random_points_are_extreme_and_spread_evenly():
    """v (n, 1) with |v|² = t; the mean of v vᵀ over many is t I / n."""
    rng, geometry = np.random.default_rng(0), Spectraplex(3, 2.0)
    points = [geometry.random_point(rng) for _ in range(2000)]
    assert {point.shape for point in points} == {(3, 1)}
    mean = sum(point @ point.T for point in points) / len(points)
    assert np.abs(mean - 2.0 * np.eye(3) / 3.0).max() <= 5.0 * 2.0 / np.sqrt(2000)
    assert all(np.isclose(np.sum(point**2), 2.0) for point in points)
