"""Polar geometry: the metric (17), its gradient, retraction, Hessian, invariances, and how it converges."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, QuadraticSDP, Status, TrustRegions, solve
from psdopt.geometries.polar import Polar, PolarPoint, PolarVector
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.linalg.tolerances import EPS, MINOR
from psdopt.methods.searches.paths import locate, path_along
from psdopt_plugins.regression import psd_regression_problem as regression
from tests.instances import symmetric

SEEDS = st.integers(0, 2**32 - 1)


def data(n, rank, m, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((m, n)), rng.standard_normal((n, rank))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(m)), rng


def point(rng, n, r):
    return PolarPoint(orthonormal_columns(rng, n, r), rng.standard_normal((r, r)) + 2.0 * np.eye(r))


@given(SEEDS, st.sampled_from([0.1, 0.5, 0.9]))
def test_the_metric_is_the_printed_one(seed, weight):
    """(17) written out in (U̇, Ḃ), with the printed factors 2 λ and 1 − λ."""
    rng = np.random.default_rng(seed)
    geometry, p = Polar(7, 3, weight), point(rng, 7, 3)
    v, w = geometry.random_vector(p, rng), geometry.random_vector(p, rng)
    B, (Bv, Bw) = p.R @ p.R.T, (p.R @ x.K @ p.R.T for x in (v, w))
    printed = np.vdot(v.U, w.U) / weight + np.trace(np.linalg.solve(B, Bv) @ np.linalg.solve(B, Bw)) / (1 - weight)
    assert abs(printed - geometry.inner(p, v, w)) <= 1e4 * EPS * np.linalg.cond(B)


@given(SEEDS)
def test_retraction_is_the_corrected_update(seed):
    """uf(U + U̇) by SVD; R exp(K/2) squared is (19) with any square root."""
    rng = np.random.default_rng(seed)
    geometry, p = Polar(6, 3), point(np.random.default_rng(seed), 6, 3)
    v = 0.7 * geometry.random_vector(p, rng)
    moved = geometry.retract(p, v)
    Z, _, Vt = np.linalg.svd(p.U + v.U, full_matrices=False)
    np.testing.assert_allclose(moved.U, Z @ Vt, atol=1e3 * EPS)
    B = p.R @ p.R.T
    root = scipy.linalg.sqrtm(B).real
    inverse = np.linalg.inv(root)
    expected = root @ scipy.linalg.expm(inverse @ p.R @ v.K @ p.R.T @ inverse) @ root
    tol = 1e5 * EPS * np.linalg.cond(B) * np.linalg.norm(B)
    np.testing.assert_allclose(moved.R @ moved.R.T, expected, rtol=0, atol=tol)


def test_transport_along_the_retraction_keeps_the_metric_in_the_matrix_part():
    rng = np.random.default_rng(3)
    geometry, p = Polar(5, 3), point(rng, 5, 3)
    v, w = geometry.random_vector(p, rng), geometry.random_vector(p, rng)
    carried = geometry.transport(p, geometry.retract(p, v), w)
    np.testing.assert_allclose(carried.K, w.K, atol=1e4 * EPS * np.linalg.cond(p.R))


def test_weight_zero_solves_the_problem_within_the_range():
    """The optimum over W = U B Uᵀ is that of a full-rank problem on the projected data."""
    X, y, rng = data(8, 8, 300, 2, 0.1)
    start = point(rng, 8, 3)
    found = solve(regression(X, y), Polar(8, 3, 0.0), start=start, tol=1e-9, max_iterations=200)
    best = solve(regression(X @ start.U, y), FlatQuotient(3, 3), tol=1e-9)
    assert found.value == pytest.approx(best.value, rel=1e-9)


STARTS = {
    "gaussian": lambda rng, n, r: rng.standard_normal((n, r)),
    "ill-conditioned": lambda rng, n, r: rng.standard_normal((n, r)) * 10.0 ** -np.linspace(0, 4, r),
    "tiny": lambda rng, n, r: 1e-3 * rng.standard_normal((n, r)),
    "rank one": lambda rng, n, r: np.concatenate([rng.standard_normal((n, 1)), np.zeros((n, r - 1))], axis=1),
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("n", "true", "r", "noise"), [(8, 8, 8, 0.1), (8, 4, 8, 0.1), (8, 4, 4, 0.0), (8, 8, 4, 0.1)])
def test_defaults_converge_from_any_start(start, n, true, r, noise):
    """Certificate, or stationarity where the rank binds, of 1e-6 within twice the steps that the flat geometry takes
    from a start made for it. The printed method is still several times above the optimum after 500 steps."""
    X, y, rng = data(n, true, 300, 7, noise)
    Y = STARTS[start](rng, n, r)
    result = solve(regression(X, y), Polar(n, r), start=LowRankPSD(Y), tol=1e-6, max_iterations=300)
    assert result.converged, result.message
    flat = solve(regression(X, y), FlatQuotient(n, r), ConjugateGradient(), tol=1e-6)
    assert result.iterations <= 2 * flat.iterations + 20
    if r == n:  # where the rank binds there may be several local minima
        assert result.value <= flat.value + 1e-5 * (flat.history["value"][0] - flat.value)


def test_a_short_vector_beside_a_long_one_of_the_fibre_is_horizontal_to_its_own_rounding():
    """U̇ = U A + D with D a millionth of A: what is left of U A would be a rounding of A, far above one of D."""
    rng, geometry = np.random.default_rng(0), Polar(30, 3)
    point = geometry.random_point(rng)
    D = 1e-6 * np.linalg.qr(rng.standard_normal((30, 3)))[0]
    vector = geometry.horizontal(point, (point.U @ symmetric(rng, 3) + D, np.zeros((3, 3))))
    assert np.linalg.norm(point.U.T @ vector.U) <= 8.0 * EPS * np.linalg.norm(vector.U)


@pytest.mark.parametrize(("weight", "kept"), [(0.0, "the range of M"), (1.0, "the matrix within the range of M")])
@pytest.mark.parametrize("method", [ConjugateGradient(), ConjugateGradient("none"), TrustRegions()])
def test_a_run_that_keeps_part_of_the_matrix_ends_stationary_in_the_rest(weight, kept, method):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((200, 6)), rng.standard_normal((6, 2))
    problem = regression(X, np.sum((X @ W) ** 2, axis=1))
    geometry = Polar(6, 2, weight)
    start = geometry.random_point(rng)
    result = solve(problem, geometry, method, start=start, max_iterations=2000)
    assert result.status is Status.STATIONARY
    assert result.value < result.history["value"][0]
    assert result.message.endswith(f"Polar(n=6, r=2, weight={weight:g}) keeps {kept}")
    G = result.state.evaluation.factor_gradient()
    across = G - start.U @ (start.U.T @ G)
    if weight == 0.0:  # nothing left within the range, much across it, which is the start's still
        assert np.linalg.norm(G - across) <= 1e-3 * np.linalg.norm(across)
        np.testing.assert_array_equal(result.point.U, start.U)
    else:
        left = geometry.tangent_part(result.point, result.state.evaluation.gradient)
        assert np.linalg.norm(left) <= 1e-3 * np.linalg.norm(G)
        B = start.R @ start.R.T
        np.testing.assert_allclose(result.point.R @ result.point.R.T, B, atol=1e3 * EPS * np.linalg.norm(B))


@pytest.mark.parametrize(
    "method",
    [ConjugateGradient(), ConjugateGradient("none")],
)
@pytest.mark.parametrize("geometry", [Polar(1, 1), Polar(3, 2), Polar(3, 3)], ids=str)
def test_a_minimum_at_zero_which_the_set_lacks_is_approached_without_an_error(geometry, method):
    """F = |M|²/2 + ⟨C, M⟩ with C ≻ 0: the exact step of order one leads to M = 0 at once."""
    problem = QuadraticSDP(None, 1.0, np.diag(np.arange(1.0, geometry.n + 1.0)))
    result = solve(problem, geometry, method, rng=0, max_iterations=400)
    assert result.status not in (Status.UNBOUNDED, Status.NON_FINITE)
    assert 0.0 <= result.value <= 1e-6 * result.history["value"][0]


@given(SEEDS, st.sampled_from([False, True]))
@settings(max_examples=20)
def test_paths_agree_with_points_and_cost_one_application(seed, straight):
    X, y, rng = data(7, 3, 30, seed)
    problem, geometry, p = regression(X, y), Polar(7, 3), point(rng, 7, 3)
    here = locate(problem, geometry, p)
    v = -0.1 * geometry.gradient(here.point, here.evaluation.gradient)
    v = (0.3 / geometry.norm(p, v)) * v
    before = problem.counts()["operator_applications"]
    path = path_along(problem, geometry, here, v, straight)
    values = {s: path.value(s) for s in (0.0, 0.3, 1.0)}
    moved = path.at(1.0)
    assert problem.counts()["operator_applications"] == before + 1
    fresh = problem.at(moved.point.factor).value
    assert moved.evaluation.value == pytest.approx(fresh, rel=1e6 * EPS)
    assert values[1.0] == pytest.approx(fresh, rel=1e6 * EPS)
    assert geometry.check_point(moved.point) is None
    if not straight:
        retracted = geometry.retract(here.point, v)
        np.testing.assert_allclose(moved.point.factor, retracted.factor, atol=1e5 * EPS * np.linalg.norm(p.R))


@pytest.mark.parametrize("weight", [0.0, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("curvature", [None, 0.0, 0.01, 1.0, 50.0])
def test_the_polar_preconditioner_in_the_eigenbasis_of_the_matrix(weight, curvature):
    """U̇ᵢ / (bᵢ (bᵢ + η)) and Kᵢⱼ (1 / (bᵢ (bⱼ + η)) + 1 / (bⱼ (bᵢ + η))), from any representative."""
    geometry, rng = Polar(5, 3, weight), np.random.default_rng(16)
    b = np.array([9.0, 1.0, 0.2])
    p = PolarPoint(orthonormal_columns(rng, 5, 3), np.diag(np.sqrt(b)))
    g = geometry.random_vector(p, rng)
    g = PolarVector(g.U, g.K + (weight < 1.0) * 3.0 * np.eye(3))
    eta = MINOR * b.mean()
    if curvature and weight < 1.0:
        eta = max(eta, (np.diag(g.K) / b).max() / ((1.0 - weight) * curvature))
    found = geometry.gram_preconditioned(p, g, curvature)
    np.testing.assert_allclose(found.U, g.U / (b * (b + eta)), rtol=1e-10, atol=1e-12)
    one_way = 1.0 / np.outer(b, b + eta)
    np.testing.assert_allclose(found.K, g.K * (one_way + one_way.T), rtol=1e-10, atol=1e-12)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turned = geometry.gram_preconditioned(geometry.move_along_fibre(p, Q), geometry.move_along_fibre(g, Q), curvature)
    back = geometry.move_along_fibre(turned, Q.T)
    np.testing.assert_allclose(back.U, found.U, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(back.K, found.K, rtol=1e-9, atol=1e-10)
