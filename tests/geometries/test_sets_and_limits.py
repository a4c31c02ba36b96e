"""Definite and trace-constrained sets: what is a member, longest steps, padding, projections, atoms, small tools."""

import math

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, PositiveDefinite, Spectraplex
from psdopt.errors import InvalidInputError
from psdopt.geometries.positive_definite import METRICS, Root
from psdopt.geometries.square_root import (
    LARGEST_GROWTH,
    exponential,
    logarithm,
    longest_growth,
    parallel,
    polar_factor,
    random_factor,
    scaled_to_trace,
    shortest,
)
from psdopt.linalg.tolerances import EPS
from tests.instances import symmetric


@pytest.mark.parametrize("metric", METRICS)
def test_the_first_order_retraction_goes_with_one_metric(metric):
    assert PositiveDefinite(3, metric).metric == metric
    if metric == "affine-invariant":
        assert PositiveDefinite(3, metric, "first-order").retraction == "first-order"
    else:
        with pytest.raises(InvalidInputError, match="'first-order' goes with metric 'affine-invariant'"):
            PositiveDefinite(3, metric, "first-order")


def test_what_is_no_root_or_vector_is_told_with_its_size():
    geometry = PositiveDefinite(3)
    G = np.diag([2.0, 1.0, 1e-3])
    assert geometry.check_point(G) is None
    assert geometry.check_point(Root(1e-8 * G)) is None
    hole = G.copy()
    hole[0, 1] = hole[2, 0] = np.inf
    for check in (geometry.check_point, lambda given: geometry.check_vector(Root(G), given)):
        for given, text, size in ((G[:2], "shape", 6.0), (hole, "non-finite", 2.0)):
            defect = check(given)
            assert text in defect.reason
            assert (defect.magnitude, defect.allowed) == (size, 0.0)
    singular = geometry.check_point(np.diag([1.0, 1.0, 0.0]))
    assert "definite" in singular.reason
    assert (singular.magnitude, singular.allowed) == (0.0, 0.0)
    for n in (2, 50):
        K = np.zeros((n, n))
        K[0, 1] = 1.0
        skew = PositiveDefinite(n).check_vector(Root(np.eye(n)), K)
        np.testing.assert_allclose((skew.magnitude, skew.allowed), (math.sqrt(2.0), 64 * EPS * n))
        assert PositiveDefinite(n).check_vector(Root(np.eye(n)), K + K.T) is None


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 5])
def test_any_factor_becomes_a_root(columns):
    rng = np.random.default_rng(columns)
    for scale in (1.0, 1e-20):
        Y = scale * rng.standard_normal((3, columns))
        G = PositiveDefinite(3).from_factor(Y).G
        assert PositiveDefinite(3).check_point(G) is None
        largest = np.linalg.norm(Y, 2) if columns else 1.0
        np.testing.assert_allclose(G @ G.T, Y @ Y.T, atol=8 * EPS * largest**2)
        least = np.linalg.svd(G, compute_uv=False)[-1]
        if columns < 3:
            np.testing.assert_allclose(least, math.sqrt(EPS) * largest, rtol=1e-3)


def test_longest_steps():
    first, exponential_one = PositiveDefinite(2, retraction="first-order"), PositiveDefinite(2)
    K = np.diag([3.0, -0.5])
    assert first.longest_step(K) == pytest.approx(0.999 / 0.5)
    assert first.longest_step(np.diag([3.0, 0.0])) == np.inf
    assert first.longest_step(np.diag([3.0, 0.7])) == np.inf
    assert exponential_one.longest_step(K) == pytest.approx(LARGEST_GROWTH / 3.0)
    assert exponential_one.longest_step(-K) == pytest.approx(LARGEST_GROWTH / 3.0)
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


# --- the spectraplex and the cone


@pytest.mark.parametrize("trace", [0.25, 1.0, 7.0])
def test_members_of_the_spectraplex(trace):
    geometry = Spectraplex(4, trace)
    Y = geometry.from_factor(np.arange(1.0, 9.0).reshape(4, 2))
    assert geometry.check_point(Y) is None
    np.testing.assert_allclose(np.sum(Y**2), trace)
    np.testing.assert_allclose(Y[0] / Y[3], [1.0 / 7.0, 2.0 / 8.0])
    np.testing.assert_allclose(geometry.centre() @ geometry.centre().T, trace / 4.0 * np.eye(4))
    hole = Y.copy()
    hole[1, 1] = np.nan
    for given, text, size in (
        (Y[:3], "shape", 6.0), (Y[:, 0], "shape", 4.0), (Y[:, :0], "shape", 0.0), (hole, "non-finite", 1.0),
    ):  # fmt: skip
        defect = geometry.check_point(given)
        assert text in defect.reason
        assert (defect.magnitude, defect.allowed) == (size, 0.0)
    off = geometry.check_point(2.0 * Y)
    np.testing.assert_allclose((off.magnitude, off.allowed), (3.0 * trace, 64 * EPS * math.sqrt(8.0) * trace))
    assert geometry.check_point(geometry.random_point(np.random.default_rng(0))) is None


@pytest.mark.parametrize("trace", [0.25, 7.0])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_atoms_of_the_spectraplex(trace, count):
    geometry, S = Spectraplex(4, trace), symmetric(np.random.default_rng(2), 4)
    values = np.linalg.eigvalsh(S)
    for guess in (None, np.zeros((4, 1)), np.full((4, 1), np.nan), np.ones((4, 2))):
        atoms = geometry.minimize_linear_many(S, 1e-9, count, guess)
        assert len(atoms) == count
        for k, atom in enumerate(atoms):
            np.testing.assert_allclose(atom.vector @ atom.vector, trace)
            np.testing.assert_allclose(atom.value, trace * values[k], atol=1e-8)
            np.testing.assert_allclose(atom.vector @ S @ atom.vector, atom.value, atol=1e-8)
            assert atom.value - atom.gap_bound <= trace * values[0] <= atom.value - atom.gap_bound + 1e-8 * trace
    assert len(geometry.minimize_linear_many(S, 1e-9, 9)) == 4
    np.testing.assert_allclose(geometry.minimize_linear(S, 1e-9).value, trace * values[0], atol=1e-8)


# --- small tools


def test_tools_of_square_roots():
    rng = np.random.default_rng(4)
    K, R = symmetric(rng, 3), rng.standard_normal((3, 3)) + 2.0 * np.eye(3)
    root = exponential(0.5 * K)
    np.testing.assert_allclose(logarithm(root), K, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="zero at working precision"):
        logarithm(np.zeros((2, 2)))
    X = shortest(R, K)
    np.testing.assert_allclose(X + X.T, K, atol=1e-13)
    np.testing.assert_allclose(R.T @ R @ X, (R.T @ R @ X).T, atol=1e-12)
    Q = parallel(R)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-13)
    assert np.linalg.eigvalsh(Q.T @ R + (Q.T @ R).T)[0] > 0.0


@pytest.mark.parametrize("condition", [1.0, 5.0, 1e3, 1e9])
def test_polar_factors_are_orthonormal_whatever_the_condition(condition):
    rng = np.random.default_rng(5)
    P, _, Qt = np.linalg.svd(rng.standard_normal((6, 3)), full_matrices=False)
    Z = (P * np.geomspace(1.0, 1.0 / condition, 3)) @ Qt
    np.testing.assert_allclose(polar_factor(Z), P @ Qt, atol=64 * EPS * max(condition, 10.0))
    found = polar_factor(Z)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_scaling_to_a_trace_neither_overflows_nor_underflows(size):
    Y = size * np.array([[3.0, 0.0], [0.0, 4.0]])
    np.testing.assert_allclose(scaled_to_trace(Y, 100.0), [[6.0, 0.0], [0.0, 8.0]])
    with pytest.raises(InvalidInputError, match="zero matrix"):
        scaled_to_trace(np.zeros((2, 2)), 1.0)


@pytest.mark.parametrize(("n", "r"), [(5, 1), (5, 4), (5, 5), (1, 1)])
def test_random_factors(n, r):
    """Orthonormal below full rank; at r = n of lengths around one that differ, by about a quarter."""
    lengths = np.concatenate(
        [np.linalg.svd(random_factor(np.random.default_rng(k), n, r), compute_uv=False) for k in range(60)]
    )
    if r < n:
        np.testing.assert_allclose(lengths, 1.0)
    else:
        assert 0.15 <= np.std(np.log(lengths)) <= 0.35
        assert abs(np.mean(np.log(lengths))) <= 0.1


@pytest.mark.parametrize("n", [4, 400])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_what_a_vector_of_factors_may_be_off_grows_with_both_sizes_and_the_order(n, size):
    """Along the fibre, |YᵀD − DᵀY|; and along Y itself where the trace is fixed, |⟨Y, D⟩|."""
    Y = np.eye(n)[:, :2] * [2.0, 1.0]
    Y /= np.linalg.norm(Y)
    along = size * Y @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    for geometry in (FlatQuotient(n, 2), FixedTrace(n, 2)):
        defect = geometry.check_vector(Y, along)
        assert "horizontal" in defect.reason
        np.testing.assert_allclose(defect.magnitude, np.linalg.norm(Y.T @ along - along.T @ Y))
        np.testing.assert_allclose(defect.allowed, 64 * EPS * math.sqrt(n) * np.linalg.norm(along))
    radial = FixedTrace(n, 2).check_vector(Y, size * Y)
    assert "sphere" in radial.reason
    np.testing.assert_allclose((radial.magnitude, radial.allowed), (size, 64 * EPS * math.sqrt(2 * n) * size))
    assert FlatQuotient(n, 2).check_vector(Y, size * Y) is None
