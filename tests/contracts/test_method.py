"""The contracts of methods and matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import FixedTrace, FlatQuotient, LowRankPSD, PSDCone, QuadraticSDP, Spectraplex, factor_residual
from psdopt.contracts.method import State, ensure_finite
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from tests.instances import psd
from tests.running.problems import Waiting


def problem(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return QuadraticSDP(psd(rng, n, n), 0.5, rng.standard_normal() * np.eye(n) - psd(rng, n, 2)), rng


def test_a_method_begins_anew_where_columns_are_added_and_takes_no_notice_of_the_callers_rank():
    p, rng = problem()
    method, Y = Waiting(), rng.standard_normal((6, 2))
    state = method.init(p, FlatQuotient(6, 2), Y)
    wider = np.hstack([Y, np.zeros((6, 1))])
    moved = method.widened(state, FlatQuotient(6, 3), wider, p.at(wider))
    assert moved.point is wider
    assert moved.geometry.rank == 3
    assert method.with_escape(True, 5) is method
    assert method.name == "Waiting"


@pytest.mark.parametrize(
    ("geometry", "trace"),
    [(FlatQuotient(6, 2), None), (PSDCone(6), None), (FixedTrace(6, 2, 3.0), 3.0), (Spectraplex(6, 3.0), 3.0)],
    ids=repr,
)
def test_the_residual_is_the_factor_gradient_without_the_multiplier_of_a_fixed_trace(geometry, trace):
    p, rng = problem()
    Y = geometry.factor(geometry.random_point(rng))
    S = p.at(Y).gradient @ np.eye(6)
    s = np.trace(Y.T @ S @ Y) / trace if trace else 0.0
    assert factor_residual(geometry, p.at(Y)) == pytest.approx(2.0 * np.linalg.norm(S @ Y - s * Y), rel=1e-12)


def test_what_is_not_finite_is_refused_and_a_state_is_described_by_keyword():
    p, rng = problem()
    evaluation = p.at(rng.standard_normal((6, 2)))
    assert ensure_finite(evaluation).value
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="the value is"):
        ensure_finite(p.at(np.full((6, 1), 1e200)))
    given = p, FlatQuotient(6, 2), evaluation.factor, evaluation
    assert State(*given, gradient_norm=2.0).gradient_norm == 2.0
    with pytest.raises(TypeError, match="positional"):
        State(*given, 2.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 12), st.floats(-5, 5), st.floats(-6, 0), st.integers(0, 2**31))
def test_low_rank_matrix_equals_its_dense_twin(n, r, log_scale, log_condition, seed):
    rng = np.random.default_rng(seed)
    k = min(n, r)
    U, V = np.linalg.qr(rng.standard_normal((n, k)))[0], np.linalg.qr(rng.standard_normal((r, k)))[0]
    Y = 10.0**log_scale * (U * np.logspace(0, log_condition, k)) @ V.T
    M, dense = LowRankPSD(Y), Y @ Y.T
    top = np.linalg.norm(dense, 2)
    allowed = 64 * (n + r) * EPS * top
    assert abs(M.trace() - np.trace(dense)) <= allowed * n
    assert abs(M.norm() - np.linalg.norm(dense)) <= allowed * n
    np.testing.assert_array_equal(M.to_dense(), dense)
    values, vectors = M.eigh()
    assert np.all(np.diff(values) <= 0)
    assert np.linalg.norm((vectors * values) @ vectors.T - dense) <= allowed * n
    assert np.linalg.norm(vectors.T @ vectors - np.eye(len(values))) <= 64 * n * EPS
    X = rng.standard_normal((5, n))
    assert np.max(np.abs(M.quadratic_form(X) - np.einsum("ij,jk,ik->i", X, dense, X))) <= allowed * np.sum(X**2)
    assert np.linalg.norm(M @ X.T - dense @ X.T) <= allowed * np.linalg.norm(X)
    assert np.linalg.norm(X @ M - X @ dense) <= allowed * np.linalg.norm(X)
    small = M.compress()
    assert small.factor.shape[1] == small.rank <= k
    assert np.linalg.norm(small.to_dense() - dense) <= allowed * n
    rebuilt = LowRankPSD.from_dense(dense)
    assert np.linalg.norm(rebuilt.to_dense() - dense) <= allowed * n


def test_from_dense_is_the_closest_psd_matrix():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 6))
    M = M + M.T
    values, vectors = np.linalg.eigh(M)
    closest = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(LowRankPSD.from_dense(M).to_dense(), closest, atol=64 * EPS * np.abs(values).max())
    top = LowRankPSD.from_dense(M, rank=1)
    assert top.rank == 1
    assert top.trace() == pytest.approx(values[-1])
    assert LowRankPSD.from_dense(-np.eye(3)).rank == 0
    assert LowRankPSD.from_dense(np.zeros((3, 3))).trace() == 0.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LowRankPSD(np.ones(3)), r"factor must be an \(n, r\) array with n >= 1; found shape \(3,\)"),
        (lambda: LowRankPSD([[np.nan], [1.0]]), "factor must be finite; found 1 NaN or infinite entries"),
        (lambda: LowRankPSD.from_dense(np.ones((2, 3))), r"M must be square; found shape \(2, 3\)"),
        (lambda: LowRankPSD.from_dense([[np.inf, 0], [0, 1]]), "M must be finite; found 1 NaN or infinite entries"),
        (lambda: LowRankPSD.from_dense(np.eye(2), rank=-1), "rank must be None or an integer of at least 0; found -1"),
    ],
)
def test_bad_matrices(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


def test_small_eigenvalues_are_those_of_the_factor_and_not_of_its_gram_matrix():
    """λ = 1e-14 of 1 is exact to ten digits from the singular values of Y; YᵀY would leave one or two."""
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.standard_normal((k, 2)))[0] for k in (20, 2))
    M = LowRankPSD((U * [1.0, 1e-7]) @ V.T)
    values, vectors = M.eigh()
    assert values[1] == pytest.approx(1e-14, rel=1e-8)
    assert abs(vectors[:, 1] @ U[:, 1]) == pytest.approx(1.0, abs=1e-8)
    assert M.compress().factor.shape == (20, 2)
    assert M.compress(1e-12).factor.shape == (20, 1)
