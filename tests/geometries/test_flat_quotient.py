"""The flat quotient on ambient vectors and badly scaled spectra, where wrong formulas show; the full cone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import FixedTrace, FlatQuotient, LowRankPSD, Polar, PositiveDefinite, PSDCone, Status, TermSum, solve
from psdopt.capability import Ability
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.terms import Entries, LeastSquares, MeasuredTerm


@st.composite
def points(draw):
    """(geometry, Y, rng): spectrum, frame and scale drawn separately; condition up to 1e4."""
    n = draw(st.integers(2, 8))
    r = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    scale, condition = 10.0 ** draw(st.floats(-5, 5)), 10.0 ** draw(st.floats(0, 4))
    U, V = np.linalg.qr(rng.standard_normal((n, r)))[0], np.linalg.qr(rng.standard_normal((r, r)))[0]
    return FlatQuotient(n, r), scale * (U * np.logspace(0, -np.log10(condition), r)) @ V, rng, condition


@settings(max_examples=80, deadline=None)
@given(points())
def test_horizontal_part(case):
    """Idempotent, symmetric YᵀD, self-adjoint, never longer, and what it removes is vertical, for ambient vectors."""
    geometry, Y, rng, condition = case
    Z, W = rng.standard_normal(Y.shape), rng.standard_normal(Y.shape)
    D = geometry.horizontal(Y, Z)
    allowed = 64 * EPS * condition**2 * np.linalg.norm(Z)
    assert np.linalg.norm(Y.T @ D - D.T @ Y) <= allowed * np.linalg.norm(Y)
    assert np.linalg.norm(geometry.horizontal(Y, D) - D) <= allowed
    assert np.linalg.norm(D) <= np.linalg.norm(Z) + allowed
    assert abs(np.vdot(D, W) - np.vdot(Z, geometry.horizontal(Y, W))) <= allowed * np.linalg.norm(W)
    Omega = np.linalg.lstsq(Y, Z - D, rcond=None)[0]
    removed = 1e3 * allowed / np.linalg.norm(Y) * condition
    assert np.linalg.norm(Omega + Omega.T) <= removed
    vertical = Y @ (Omega - Omega.T)
    assert np.linalg.norm(geometry.horizontal(Y, vertical)) <= 64 * EPS * condition**2 * max(
        np.linalg.norm(vertical), np.linalg.norm(Y)
    )
    if geometry.r > 1:
        assert geometry.check_vector(Y, Z) is not None  # the ambient vector itself is refused
        assert geometry.check_vector(Y, Z).magnitude > geometry.check_vector(Y, Z).allowed


@settings(max_examples=40, deadline=None)
@given(points())
def test_gradient_is_the_derivative_and_horizontal(case):
    geometry, Y, rng, _ = case
    S = rng.standard_normal((geometry.n, geometry.n))
    S = S + S.T
    G = geometry.gradient(Y, S)
    assert geometry.check_vector(Y, G) is None
    D = geometry.random_vector(Y, rng)
    assert geometry.norm(Y, D) == pytest.approx(1.0)
    # F = <S, YYᵀ> is quadratic along a line: central differences are exact up to rounding
    h = np.linalg.norm(Y)
    F = lambda t: float(np.vdot(S, geometry.to_matrix(geometry.retract(Y, t * D)).to_dense()))  # noqa: E731
    assert abs((F(h) - F(-h)) / (2 * h) - geometry.inner(Y, G, D)) <= 1e3 * EPS * np.linalg.norm(S) * h
    moved = geometry.retract(Y, h * D)
    carried = geometry.transport(Y, moved, D)
    Q = np.linalg.cond(moved) if min(moved.shape) else 1.0
    assert geometry.norm(moved, carried) <= 1.0 + 64 * EPS * Q**2


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


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FlatQuotient(0, 1), "n must be an integer of at least 1; found 0"),
        (lambda: FlatQuotient(3, 0), r"r \(rank\) must be an integer between 1 and n = 3; found 0"),
        (lambda: FlatQuotient(3, 4), r"r \(rank\) must be an integer between 1 and n = 3; found 4"),
        (lambda: FlatQuotient(3, 1.5), r"r \(rank\) must be an integer between 1 and n = 3; found 1.5"),
        (lambda: PSDCone(0), "n must be an integer of at least 1; found 0"),
        (lambda: PSDCone(2).validated(np.ones((3, 1))), "start is not a point of PSDCone.*a factor must have shape"),
    ],
)
def test_bad_arguments(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


def test_points_and_vectors_of_wrong_shape_or_nan_are_refused_with_a_reason():
    geometry = FlatQuotient(4, 2)
    assert "must have shape (4, 2); found (4, 3)" in str(geometry.check_point(np.ones((4, 3))))
    assert "non-finite" in str(geometry.check_point(np.full((4, 2), np.nan)))
    assert "must have shape (4, 2)" in str(geometry.check_vector(np.ones((4, 2)), np.ones(4)))
    assert "non-finite" in str(geometry.check_vector(np.ones((4, 2)), np.full((4, 2), np.inf)))


def test_projection_on_the_cone_is_the_closest_member():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((5, 5))
    M = M + M.T
    P = PSDCone(5).project(M).to_dense()
    # optimality: M − P is negative semidefinite and orthogonal to P
    assert np.linalg.eigvalsh(M - P)[-1] <= 64 * EPS * np.linalg.norm(M)
    assert abs(np.vdot(M - P, P)) <= 64 * EPS * np.linalg.norm(M) ** 2


@pytest.mark.parametrize(
    "geometry",
    [FlatQuotient(5, 5), FlatQuotient(5, 2), FixedTrace(5, 5), PSDCone(5), PositiveDefinite(5), Polar(5, 5)],
    ids=str,
)
def test_random_points_are_generic_and_follow_the_generator(geometry):
    """No entry of M is rounding, another seed is another matrix, and at full rank no two eigenvalues agree."""
    seen = [geometry.to_matrix(geometry.random_point(np.random.default_rng(s))).to_dense() for s in (0, 0, 1)]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert np.linalg.norm(seen[0] - seen[2]) > 0.1 * np.linalg.norm(seen[0])
    assert np.abs(seen[0]).min() > 1e-6
    if geometry.rank in (None, geometry.n):
        assert np.all(np.diff(np.linalg.eigvalsh(seen[0])) > 1e-6)


@pytest.mark.parametrize("n", [3, 10, 30])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fit_to_entries_off_the_diagonal_is_solved_from_the_default_start(n, seed):
    """All measurements are orthogonal to I: a start of M = I would see nothing but rounding."""
    rng = np.random.default_rng(seed)
    G, (i, j) = rng.standard_normal((n, 3)), np.triu_indices(n, 1)
    target = G @ G.T
    problem = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(target[i, j]))])
    result = solve(problem, rng=seed)
    assert result.status is Status.OPTIMAL
    assert result.matrix.trace() <= 1e3 * np.trace(target)  # of the starts it was 1e15


@pytest.mark.parametrize("r", [1, 4, 5])
def test_only_factors_of_full_width_are_the_whole_cone(r):
    offered = FlatQuotient(5, r).abilities
    assert {Ability.FACTOR, Ability.STRAIGHT, Ability.RIEMANNIAN} <= offered
    assert (Ability.FULL_CONE in offered) is (r == 5)
