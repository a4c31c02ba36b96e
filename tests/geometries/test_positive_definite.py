"""The interior of the cone: metrics, retractions, and the LogDet and von Neumann updates as special cases."""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from psdopt import ConjugateGradient, QuadraticSDP, Status, TrustRegions, solve
from psdopt.errors import InvalidInputError
from psdopt.geometries.positive_definite import METRICS, PositiveDefinite, Root
from psdopt.geometries.square_root import exponential, longest_growth
from psdopt.linalg.tolerances import EPS
from psdopt_plugins.regression import psd_regression_problem

SEEDS = st.integers(0, 2**32 - 1)


def setting(seed, n=4):
    rng = np.random.default_rng(seed)
    G, A = rng.standard_normal((n, n)) + 2 * np.eye(n), rng.standard_normal((n, n))
    W, S = G @ G.T, A + A.T
    return rng, Root(G), W, S, 1e5 * EPS * np.linalg.cond(W)


def dense(point):
    return point.G @ point.G.T


@given(SEEDS)
def test_affine_invariant_metric_and_exponential(seed):
    """(11) and (13)."""
    rng, p, W, _, tol = setting(seed)
    geometry = PositiveDefinite(4)
    K, L = geometry.random_vector(p, rng), geometry.random_vector(p, rng)
    xi, zeta, Wi = p.G @ K @ p.G.T, p.G @ L @ p.G.T, np.linalg.inv(W)
    assert np.trace(Wi @ xi @ Wi @ zeta) == pytest.approx(geometry.inner(p, K, L), abs=tol * np.linalg.cond(W))
    root = scipy.linalg.sqrtm(W).real
    inverse = np.linalg.inv(root)
    expected = root @ scipy.linalg.expm(inverse @ xi @ inverse) @ root
    np.testing.assert_allclose(dense(geometry.retract(p, K)), expected, atol=tol * np.linalg.norm(W) * np.e)


@given(SEEDS)
def test_first_order_retraction_is_the_logdet_update(seed):
    """W − s W S W (Davis et al.)."""
    _, p, W, S, tol = setting(seed)
    geometry = PositiveDefinite(4, retraction="first-order")
    g = geometry.gradient(p, S)
    s = 0.5 / np.linalg.norm(g)
    size = np.linalg.norm(W) + s * np.linalg.norm(W) ** 2 * np.linalg.norm(S)
    np.testing.assert_allclose(dense(geometry.retract(p, -s * g)), W - s * W @ S @ W, atol=tol * size)


@given(SEEDS)
def test_von_neumann_gradient_step_is_tsudas_update(seed):
    """exp(log W − s S)."""
    _, p, W, S, tol = setting(seed)
    geometry = PositiveDefinite(4, "von-neumann")
    s = 0.3 / np.linalg.norm(S)
    moved = geometry.retract(p, -s * geometry.gradient(p, S))
    values, vectors = np.linalg.eigh(W)
    expected = scipy.linalg.expm((vectors * np.log(values)) @ vectors.T - s * S)
    np.testing.assert_allclose(dense(moved), expected, atol=tol * np.linalg.norm(W) * 10)


@given(SEEDS)
def test_log_euclidean_gradient_is_the_integral(seed):
    """∫₀¹ Wᵗ S W¹⁻ᵗ dt, not S."""
    _, p, W, S, tol = setting(seed)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    values, vectors = np.linalg.eigh(W)
    total = np.zeros((4, 4))
    for x, w in zip(0.5 * (nodes + 1), 0.5 * weights, strict=True):
        left, right = (vectors * values**x) @ vectors.T, (vectors * values ** (1 - x)) @ vectors.T
        total += w * left @ S @ right
    found = PositiveDefinite(4, "log-euclidean").gradient(p, S)
    np.testing.assert_allclose(found, total, atol=tol * np.linalg.norm(S) * np.linalg.norm(W))


@pytest.mark.parametrize("metric", METRICS)
def test_gradient_descent_finds_the_optimum(metric):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((60, 3)), np.diag([1.0, 2.0, 3.0])
    problem = psd_regression_problem(X, np.einsum("ij,jk,ik->i", X, W, X))
    result = solve(
        problem,
        PositiveDefinite(3, metric=metric),
        ConjugateGradient("none"),
        start=np.eye(3),
        max_iterations=400,
    )
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense(), W, atol=1e-3)


LINEAR = QuadraticSDP(C=-np.eye(4))


MIXED = QuadraticSDP(None, 1.0, np.diag([1e8, -1.0, 2.0, 1e-8]))


@pytest.mark.parametrize("problem", [LINEAR, MIXED], ids=["unbounded", "mixed units"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "method",
    [ConjugateGradient(), ConjugateGradient("none"), TrustRegions()],
    ids=["exact", "gradient", "trust"],
)
def test_hostile_units_end_in_a_status(problem, metric, method):
    """Eigenvalues run off to zero and to infinity: no LinAlgError, no word of arrays that the caller never made."""
    result = solve(problem, PositiveDefinite(4, metric), method, max_iterations=60)
    assert isinstance(result.status, Status)
    assert result.value <= result.history["value"][0]


def test_longest_steps():
    first, exponential_one = PositiveDefinite(2, retraction="first-order"), PositiveDefinite(2)
    K = np.diag([3.0, -0.5])
    assert first.longest_step(K) == pytest.approx(0.999 / 0.5)
    assert first.longest_step(np.diag([3.0, 0.0])) == np.inf
    assert first.longest_step(np.diag([3.0, 0.7])) == np.inf
    assert exponential_one.longest_step(K) == pytest.approx(-2.0 * math.log(EPS) / 3.0)
    assert exponential_one.longest_step(-K) == pytest.approx(-2.0 * math.log(EPS) / 3.0)
    assert longest_growth(np.zeros((2, 2))) == np.inf
    p, s = Root(np.array([[1.0, 0.2], [0.0, 2.0]])), 0.9 * first.longest_step(K)
    G = p.G
    np.testing.assert_allclose(first.to_matrix(first.retract(p, s * K)).to_dense(), G @ (np.eye(2) + s * K) @ G.T)
    with pytest.raises(InvalidInputError, match="leaves the cone"):
        first.retract(p, 2.1 * K)
    with pytest.raises(InvalidInputError, match="leaves the cone"):
        first.retract(p, np.diag([0.0, -1.0]))
    grown = exponential_one.to_matrix(exponential_one.retract(p, s * K)).to_dense()
    np.testing.assert_allclose(grown, G @ exponential(s * K) @ G.T)
