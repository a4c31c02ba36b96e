"""The bound by curvature: the minimum of the model where F is the model, never below the truth, in any units."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import ConjugateGradient, Curvature, FlatQuotient, QuadraticSDP, TermSum, certify, solve
from psdopt.certificates import curved_bound
from psdopt.certificates.curved_bound import curved_gap
from psdopt.contracts.gradient import dense_gradient
from psdopt.terms import HalfSquaredOneSided, LeastSquares, LinearTerm, MatrixForm, MeasuredTerm, QuadraticForms
from tests.instances import symmetric


def gaps(problem, Y, trace=None):
    evaluation = problem.at(Y)
    S = dense_gradient(evaluation)
    return [curved_gap(S, Y, each, trace) for each in evaluation.curvatures(thorough=True)]


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 8), seed=st.integers(0, 2**31), digits=st.floats(0.0, 6.0), scale=st.sampled_from([1e-9, 1.0, 1e9])
)
@pytest.mark.parametrize("kind", ["ridge", "product"])
def test_of_a_single_quadratic_the_bound_is_the_true_gap(kind, n, seed, digits, scale):
    rng = np.random.default_rng(seed)
    d = 10.0 ** rng.uniform(-0.5 * digits, 0.5 * digits, n)  # coordinates of other units
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.linspace(1.0, 2.0, n)) @ Q.T * d * d[:, None]
    C = symmetric(rng, n)
    if kind == "ridge":
        problem, U = QuadraticSDP(None, scale, C), np.eye(n)
    else:
        problem, U = QuadraticSDP(A, None, C * d * d[:, None]), np.linalg.inv(np.linalg.cholesky(A)).T
    least = problem.at(problem.solve_in_closed_form().factor).value
    here = problem.at(U @ rng.standard_normal((n, rng.integers(1, n + 1))))
    (gap,) = gaps(problem, here.factor)
    rounding = 1e-9 * (abs(here.value) + abs(least))
    assert here.value - least - rounding <= gap <= here.value - least + rounding


def measured(one_sided, seed, d=5, m=120):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * 10.0 ** rng.uniform(-2.0, 2.0, d)
    a = ((X @ (rng.standard_normal((d, 2)) / np.abs(X).max(axis=0)[:, None])) ** 2).sum(axis=1)
    target = a * rng.uniform(0.3, 1.7, m)
    loss = HalfSquaredOneSided(target, rng.choice([-1.0, 1.0], m)) if one_sided else LeastSquares(target)
    return TermSum([MeasuredTerm(QuadraticForms(X), loss, 1.0 / m)], preconditioner=None)


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_certificates_of_unfinished_runs_bound_the_true_gap(one_sided, seed):
    problem = measured(one_sided, seed)
    best = solve(problem, tol=1e-8, max_iterations=3000)
    lower = best.value - (best.certificate.gap or 0.0)
    for steps in (1, 5, 20):
        result = solve(problem, FlatQuotient(5, 3), ConjugateGradient(), max_iterations=steps, rng=1)
        gap = result.certificate.gap
        assert gap is not None
        assert gap >= result.value - best.value
        assert gap <= (20.0 if one_sided else 1.12) * (result.value - lower)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 6), seed=st.integers(0, 2**31), scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_by_the_fourth_moments_the_gap_of_squares_is_proven_to_a_tenth(n, seed, scale):
    """min F = F(P Pᵀ) = 0: all squares vanish there, and ⟨G, P Pᵀ⟩ = 0 for a G ⪰ 0."""
    rng = np.random.default_rng(seed)
    r, units = n // 2, 10.0 ** rng.uniform(-3.0, 3.0, n)
    X, P = rng.standard_normal((3 * n * (n + 1), n)), rng.standard_normal((n, r))
    G = np.linalg.qr(P, mode="complete")[0][:, r:] * units[:, None] * math.sqrt(scale)
    squares = MeasuredTerm(QuadraticForms(X * units), LeastSquares(np.sum((X @ P) ** 2, axis=1)), scale)
    problem = TermSum([squares, LinearTerm(MatrixForm(G @ G.T))])
    near = np.hstack([P, np.zeros((n, 1))]) + 10.0 ** rng.uniform(-3.0, 0.0) * rng.standard_normal((n, r + 1))
    here = problem.at(near / units[:, None])
    (gap,) = gaps(problem, here.factor)
    assert here.value * (1.0 - 1e-9) <= gap <= 1.12 * here.value


def test_a_search_ends_where_no_bound_is_small_enough():
    problem = measured(False, 0)
    here = problem.at(np.ones((5, 1)))
    (curvature,), S, counted = here.curvatures(thorough=True), dense_gradient(here), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curved_bound, "spectrum", lambda T: counted.append(T) or np.linalg.eigh(T))
        whole = curved_gap(S, here.factor, curvature)
        steps = len(counted)
        assert (
            whole
            <= curved_gap(S, here.factor, curvature, most=0.1 * whole)
            <= curved_gap(S, here.factor, Curvature(curvature.modulus, curvature.root))
        )
    assert steps > 1
    assert len(counted) == steps + 2


@pytest.mark.parametrize("seed", range(4))
def test_what_is_proven_does_not_depend_on_the_accuracy_asked(seed):
    X = np.random.default_rng(seed).standard_normal((6, 4))
    flat = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(1.0))])
    for problem in (measured(False, seed), measured(True, seed), flat):
        Y = problem.starts.proposed_start(np.random.default_rng(seed).standard_normal((problem.n, 2)))
        found = [certify(problem, Y, tol=tol).gap for tol in (1.0, 1e-4, 1e-12)]
        assert found[0] is not None
        assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("seed", range(4))
def test_at_a_fixed_trace_the_model_is_minimised_on_the_spectraplex(seed):
    rng = np.random.default_rng(seed)
    n, t = 6, 2.0
    K = symmetric(rng, n)
    problem = QuadraticSDP(None, 1.0, -K)
    values, U = np.linalg.eigh(K)
    theta = max((values[k:].sum() - t) / (n - k) for k in range(n))
    best = problem.at(U * np.sqrt(np.maximum(values - theta, 0.0)))
    assert best.size**2 == pytest.approx(t)
    assert certify(problem, best, trace=t, tol=1e-9).proves(1e-9)
    Y = rng.standard_normal((n, 3))
    Y *= math.sqrt(t) / np.linalg.norm(Y)
    (gap,) = gaps(problem, Y, trace=t)
    assert gap == pytest.approx(problem.at(Y).value - best.value, rel=1e-9)
    certificate = certify(problem, Y, trace=t)
    assert certificate.gap == pytest.approx(gap)
    assert not certificate.proves(1e-3)


def test_a_gradient_or_a_modulus_without_numbers_gives_no_bound():
    assert curved_gap(np.full((2, 2), np.nan), np.eye(2), Curvature(1.0)) == math.inf
    assert curved_gap(1e300 * np.eye(2), np.eye(2), Curvature(1e-300)) == math.inf


def test_a_gap_that_overflows_is_infinite():
    for form in (None, np.eye(3)):
        assert curved_gap(-1e200 * np.eye(2), np.eye(2), Curvature(1.0, form=form)) == math.inf


def test_at_a_tiny_matrix_the_curvature_is_not_rounding():
    """min F = −9 at a well-conditioned A: ∇F(M + Z) − ∇F(M) for a Z as small as M would be noise."""
    problem = QuadraticSDP(np.array([[2.0, 1.0], [1.0, 2.0]]), None, np.array([[0.0, 3.0], [3.0, 0.0]]))
    for size in (0.0, 1e-12, 1e-9, 1e-8, 1e-3):
        assert certify(problem, size * np.ones((2, 1))).gap >= 9.0 * (1.0 - 1e-9)
    assert certify(QuadraticSDP(None, 1.0, -np.eye(3)), np.full((3, 1), 1e39)).gap >= 1e156


@pytest.mark.parametrize("size", [1e-10, 1e-6, 1.0, 1e4])
def test_no_gap_is_proven_where_f_falls_without_end(size):
    """Along (1, −1)(1, −1)ᵀ F has no curvature, or as little as rounding of B Bᵀ leaves."""
    integers = QuadraticSDP(np.ones((2, 2)), None, np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert certify(integers, size * np.array([[1.0], [0.0]])).gap is None
    rng, tried = np.random.default_rng(0), 0
    for _ in range(20):
        n = int(rng.integers(2, 7))
        B = rng.standard_normal((n, int(rng.integers(1, n))))
        flat, C = np.linalg.svd(B.T)[2][B.shape[1] :].T, symmetric(rng, n)
        if np.linalg.eigvalsh(flat.T @ C @ flat)[0] < -1e-6:
            tried += 1
            assert certify(QuadraticSDP(B @ B.T, None, C), size * rng.standard_normal((n, 1))).gap is None
    assert tried > 5


@pytest.mark.parametrize("seed", range(30))
def test_rounding_of_a_gradient_of_rows_far_from_the_origin_counts(seed):
    """The same rows in coordinates in which they are not nearly equal have the same minimum, without such rounding."""
    rng = np.random.default_rng(seed)
    X, targets = 1e6 + rng.standard_normal((40, 2)), 1e12 * rng.exponential(size=40)
    plain = np.column_stack([X.sum(axis=1) / 2e6, X[:, 0] - X[:, 1]])
    far, near = (TermSum([MeasuredTerm(QuadraticForms(rows), LeastSquares(targets))]) for rows in (X, plain))
    gap = certify(far, np.zeros((2, 1))).gap
    decrease = near.value_at_zero() - solve(near, tol=1e-10).value
    assert decrease * (1.0 - 1e-9) <= gap <= 1.1 * decrease
