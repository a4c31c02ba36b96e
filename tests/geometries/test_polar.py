"""Polar geometry: the metric (17), its gradient, retraction, Hessian, invariances, and how it converges."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, QuadraticSDP, Status, TrustRegions, solve
from psdopt.geometries.polar import Polar, PolarPoint, PolarVector
from psdopt.linalg.tolerances import EPS
from psdopt.methods.riemannian_gradient import RiemannianGradient
from tests.geometries.regressions import SEEDS, data, point, regression


def symmetric(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


@given(SEEDS, st.sampled_from([0.1, 0.5, 0.9]))
def test_gradient_represents_the_differential_of_the_printed_metric(seed, weight):
    """g(grad, v) = dF[v] with (17) written out in (U̇, Ḃ), and the printed factors 2 λ and 1 − λ."""
    rng = np.random.default_rng(seed)
    geometry, p, S = Polar(7, 3, weight), point(rng, 7, 3), symmetric(rng, 7)
    v = geometry.random_vector(p, rng)
    g = geometry.gradient(p, S)
    B, Bdot = p.R @ p.R.T, p.R @ v.K @ p.R.T
    Mdot = v.U @ B @ p.U.T + p.U @ B @ v.U.T + p.U @ Bdot @ p.U.T
    scale = np.linalg.cond(B) * np.linalg.norm(S) * np.linalg.norm(B)
    assert abs(geometry.inner(p, g, v) - np.vdot(S, Mdot)) <= 1e4 * EPS * scale
    Bi = np.linalg.inv(B)
    gB = p.R @ g.K @ p.R.T
    printed = np.vdot(g.U, v.U) / weight + np.trace(Bi @ gB @ Bi @ Bdot) / (1 - weight)
    assert abs(printed - geometry.inner(p, g, v)) <= 1e4 * EPS * scale * np.linalg.cond(B)
    np.testing.assert_allclose(gB, (1 - weight) * B @ p.U.T @ S @ p.U @ B, atol=1e4 * EPS * scale * np.linalg.norm(B))


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


def test_weight_zero_keeps_the_range_exactly_and_weight_one_the_matrix():
    X, y, rng = data(8, 4, 200, 1)
    start = point(rng, 8, 3)
    for method in (RiemannianGradient(), ConjugateGradient(), TrustRegions()):
        fixed = solve(regression(X, y), Polar(8, 3, 0.0), method, start=start, max_iterations=15)
        np.testing.assert_array_equal(fixed.point.U, start.U)
        moving = solve(regression(X, y), Polar(8, 3, 1.0), method, start=start, max_iterations=15)
        B = start.R @ start.R.T
        np.testing.assert_allclose(moving.point.R @ moving.point.R.T, B, atol=1e3 * EPS * np.linalg.norm(B))
        assert fixed.value < fixed.history["value"][0]
        assert moving.value < moving.history["value"][0]


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
    flat = solve(regression(X, y), FlatQuotient(n, r), tol=1e-6)
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


def test_one_application_each_way_per_step():
    X, y, _ = data(10, 3, 100, 0)
    problem = regression(X, y)
    result = solve(problem, Polar(10, 3), tol=1e-12, max_iterations=20, rng=1)
    steps = np.diff(result.history["operator_applications"])
    assert steps[0] <= 3  # the driver's unit at zero
    assert np.all(steps[1:] <= 2)


def test_bad_input():
    with pytest.raises(ValueError, match="weight must be a finite number of at least 0 and at most 1"):
        Polar(4, 2, 1.5)
    with pytest.raises(ValueError, match="between 1 and n = 4"):
        Polar(4, 5)
    assert "orthonormal" in str(Polar(4, 2).check_point((np.ones((4, 2)), np.eye(2))))
    assert "invertible" in str(Polar(4, 2).check_point((np.eye(4)[:, :2], np.zeros((2, 2)))))
    p = PolarPoint(np.eye(4)[:, :2], np.eye(2))
    assert "horizontal" in str(Polar(4, 2).check_vector(p, (np.ones((4, 2)), np.eye(2))))
    v = PolarVector(np.ones((4, 2)), np.eye(2))
    assert (2.0 * v - v).U[0, 0] == 1.0


@pytest.mark.parametrize(("weight", "kept"), [(0.0, "the range of M"), (1.0, "the matrix within the range of M")])
@pytest.mark.parametrize("method", [ConjugateGradient(), RiemannianGradient()])
def test_a_run_that_keeps_part_of_the_matrix_ends_stationary_in_the_rest(weight, kept, method):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((200, 6)), rng.standard_normal((6, 2))
    problem = regression(X, np.sum((X @ W) ** 2, axis=1))
    geometry = Polar(6, 2, weight)
    start = geometry.random_point(rng)
    result = solve(problem, geometry, method, start=start, max_iterations=2000)
    assert result.status is Status.STATIONARY
    assert result.message.endswith(f"Polar(n=6, r=2, weight={weight:g}) keeps {kept}")
    G = result.state.evaluation.factor_gradient()
    across = G - start.U @ (start.U.T @ G)
    if weight == 0.0:  # nothing left within the range, much across it, which is the start's still
        assert np.linalg.norm(G - across) <= 1e-3 * np.linalg.norm(across)
        assert np.linalg.norm(result.point.U @ result.point.U.T - start.U @ start.U.T) <= 1e3 * EPS
    else:
        left = geometry.tangent_part(result.point, result.state.evaluation.gradient)
        assert np.linalg.norm(left) <= 1e-3 * np.linalg.norm(G)
        kept_values = np.linalg.svd(start.R)[1]
        assert np.linalg.svd(result.point.R)[1] == pytest.approx(kept_values, rel=1e3 * EPS)


@pytest.mark.parametrize("method", [ConjugateGradient(), ConjugateGradient(search="armijo"), RiemannianGradient()])
@pytest.mark.parametrize("geometry", [Polar(1, 1), Polar(3, 2), Polar(3, 3)], ids=str)
def test_a_minimum_at_zero_which_the_set_lacks_is_approached_without_an_error(geometry, method):
    """F = |M|²/2 + ⟨C, M⟩ with C ≻ 0: the exact step of order one leads to M = 0 at once."""
    problem = QuadraticSDP(None, 1.0, np.diag(np.arange(1.0, geometry.n + 1.0)))
    result = solve(problem, geometry, method, rng=0, max_iterations=400)
    assert result.status not in (Status.UNBOUNDED, Status.NON_FINITE)
    assert 0.0 <= result.value <= 1e-6 * result.history["value"][0]
