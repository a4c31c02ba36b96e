"""Quotients of factors, and square roots."""

import numpy as np
import pytest

from psdopt import (
    Ability,
    ConjugateGradient,
    FixedTrace,
    FlatQuotient,
    Polar,
    PositiveDefinite,
    PSDCone,
    QuadraticSDP,
    Spectraplex,
    Status,
    TermSum,
    solve,
)
from psdopt.errors import InvalidInputError
from psdopt.geometries import square_root
from psdopt.linalg.tolerances import EPS
from psdopt.terms import Entries, LeastSquares, MeasuredTerm
from psdopt.testing.gallery import with_spectrum
from tests.instances import symmetric


@pytest.mark.parametrize("r", [1, 4, 5])
def test_only_factors_of_full_width_are_the_whole_cone(r):
    offered = FlatQuotient(5, r).abilities
    assert {Ability.FACTOR, Ability.STRAIGHT, Ability.RIEMANNIAN} <= offered
    assert (Ability.FULL_CONE in offered) is (r == 5)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e10])
@pytest.mark.parametrize("geometry", [FlatQuotient(5, 3), FixedTrace(5, 3)], ids=["flat", "fixed-trace"])
def test_the_horizontal_part_does_not_depend_on_the_scale_of_the_factor(geometry, scale):
    rng = np.random.default_rng(10)
    Y, Z = rng.standard_normal((2, 5, 3))
    expected = geometry.horizontal(Y, Z)
    np.testing.assert_allclose(geometry.horizontal(scale * Y, Z), expected, rtol=0.0, atol=1e-13)
    np.testing.assert_array_equal(FlatQuotient(5, 3).horizontal(0.0 * Y, Z), Z)
    skew = Y.T @ expected
    np.testing.assert_allclose(skew, skew.T, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("trace", [0.04, 1.0, 9.0])
def test_great_circles_of_any_radius(trace):
    """A quarter of a circle of radius √trace is π/2 √trace long and ends at √trace D/|D|."""
    geometry, rng = FixedTrace(5, 2, trace), np.random.default_rng(11)
    p = geometry.random_point(rng)
    D = geometry.random_vector(p, rng)
    D /= np.linalg.norm(D)
    quarter = geometry.exp(p, 0.5 * np.pi * np.sqrt(trace) * D)
    np.testing.assert_allclose(quarter, np.sqrt(trace) * D, atol=1e-14 * np.sqrt(trace))
    for length in (0.1, 0.6):
        v = length * np.sqrt(trace) * D
        np.testing.assert_allclose(geometry.log(p, geometry.exp(p, v)), v, atol=1e-12 * np.sqrt(trace))
        np.testing.assert_allclose(np.linalg.norm(geometry.exp(p, v)) ** 2, trace)
    np.testing.assert_allclose(geometry.exp(p, 0.0 * D), p, atol=0.0)


@pytest.mark.parametrize("method", [ConjugateGradient(), ConjugateGradient("none")], ids=str)
def test_a_step_applies_each_map_once_and_drift_is_bounded(method):
    problem = QuadraticSDP(A=with_spectrum(np.linspace(0.5, 2.0, 9), 1), C=with_spectrum(np.linspace(-2.0, 1.0, 9), 2))
    geometry = FixedTrace(9, 3, 2.0)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    spent = []
    for _ in range(12):
        before = problem.counts()["operator_applications"]
        state = method.step(state)
        spent.append(problem.counts()["operator_applications"] - before)
    assert spent == [2] * 12  # one with A and one with C, whatever the search tries
    for _ in range(80):
        state = method.step(state)
    assert geometry.check_point(state.point) is None
    fresh = problem.at(state.point)
    assert abs(fresh.value - state.evaluation.value) <= 1e-12 * abs(fresh.value)


def test_however_long_a_step_is_it_ends_in_the_set():
    geometry, rng = FixedTrace(5, 2, 3.0), np.random.default_rng(1)
    point = geometry.random_point(rng)
    curve = geometry.curve(point, 1e-3 * geometry.random_vector(point, rng))
    T = curve.mixture(curve.longest).frame
    assert geometry.check_point(np.hstack([point, curve.block]) @ T) is None


def test_tools_of_square_roots():
    rng = np.random.default_rng(4)
    K, R = symmetric(rng, 3), rng.standard_normal((3, 3)) + 2.0 * np.eye(3)
    root = square_root.exponential(0.5 * K)
    np.testing.assert_allclose(square_root.logarithm(root), K, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="zero at working precision"):
        square_root.logarithm(np.zeros((2, 2)))
    X = square_root.shortest(R, K)
    np.testing.assert_allclose(X + X.T, K, atol=1e-13)
    np.testing.assert_allclose(R.T @ R @ X, (R.T @ R @ X).T, atol=1e-12)
    Q = square_root.parallel(R)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-13)
    assert np.linalg.eigvalsh(Q.T @ R + (Q.T @ R).T)[0] > 0.0


@pytest.mark.parametrize("condition", [1.0, 5.0, 1e3, 1e9])
def test_polar_factors_are_orthonormal_whatever_the_condition(condition):
    rng = np.random.default_rng(5)
    P, _, Qt = np.linalg.svd(rng.standard_normal((6, 3)), full_matrices=False)
    Z = (P * np.geomspace(1.0, 1.0 / condition, 3)) @ Qt
    np.testing.assert_allclose(square_root.polar_factor(Z), P @ Qt, atol=64 * EPS * max(condition, 10.0))
    found = square_root.polar_factor(Z)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_scaling_to_a_trace_neither_overflows_nor_underflows(size):
    Y = size * np.array([[3.0, 0.0], [0.0, 4.0]])
    np.testing.assert_allclose(square_root.scaled_to_trace(Y, 100.0), [[6.0, 0.0], [0.0, 8.0]])
    assert Spectraplex(2, 3.0).check_point(Spectraplex(2, 3.0).from_factor(Y)) is None
    with pytest.raises(InvalidInputError, match="zero matrix"):
        square_root.scaled_to_trace(np.zeros((2, 2)), 1.0)


@pytest.mark.parametrize(("n", "r"), [(5, 1), (5, 4), (5, 5), (1, 1)])
def test_random_factors(n, r):
    """Orthonormal below full rank; at r = n of lengths around one that differ, by about a quarter."""
    lengths = np.concatenate(
        [np.linalg.svd(square_root.random_factor(np.random.default_rng(k), n, r), compute_uv=False) for k in range(60)]
    )
    if r < n:
        np.testing.assert_allclose(lengths, 1.0)
    else:
        assert 0.15 <= np.std(np.log(lengths)) <= 0.35
        assert abs(np.mean(np.log(lengths))) <= 0.1


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
