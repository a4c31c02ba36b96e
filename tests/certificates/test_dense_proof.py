"""Bounds on the whole cone: never below the excess, tight next to an optimum, and at the price that is promised."""

import math

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import (
    AutogradProblem,
    FlatQuotient,
    FunctionProblem,
    LagrangeNewton,
    QuadraticSDP,
    TermEvaluation,
    TermSum,
    certify,
    solve,
)
from psdopt.certificates import computation, dense_proof
from psdopt.certificates.dense_proof import DenseProof, may_be_formed
from psdopt.constraints.limits import NUMBERS
from psdopt.contracts import gradient
from psdopt.contracts.gradient import dense_gradient
from psdopt.linalg import definite
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import EPS
from psdopt.terms import LinearTerm, MeasuredTerm, QuadraticForms, SquaredHinge
from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem
from tests.instances import symmetric


def proof_of(problem, Y):
    evaluation = problem.at(Y)
    return DenseProof(evaluation, dense_gradient(evaluation))


def projection(n, rng, scale=1.0):
    """(problem, K₊, its factor): F(M) = |M − K|² / 2 up to a constant, of eigenvalues ±1 to ±2."""
    K = symmetric(rng, n) * scale
    values, U = np.linalg.eigh(K)
    root = U * np.sqrt(np.maximum(values, 0.0))
    return QuadraticSDP(None, 1.0, -K), root


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 8), seed=st.integers(0, 2**31), away=st.sampled_from([0.0, 1e-9, 1e-5, 1e-2, 1.0]))
@pytest.mark.parametrize("way", ["quadratic", "any F"])
def test_a_bound_is_never_below_the_excess(way, n, seed, away):
    rng = np.random.default_rng(seed)
    problem, root = projection(n, rng)
    if way == "any F":
        C = problem.at(np.zeros((n, 1))).gradient @ np.eye(n)
        problem = AutogradProblem(lambda M: 0.5 * anp.sum(M * M) + anp.sum(C * M), n, convex=True)
    least, here = problem.at(root).value, problem.at(root + away * rng.standard_normal((n, n)))
    S = dense_gradient(here)
    for goal in (1e-8, 1e-3, 1.0, 100.0):
        bound = DenseProof(here, S).gap(goal)
        assert bound is None or bound >= here.value - least - 1e-12 * (1.0 + abs(least))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("goal", [1e-8, 1e-4])
def test_next_to_an_optimum_the_goal_is_proven(scale, goal):
    rng = np.random.default_rng(0)
    problem, root = projection(12, rng, scale)
    Y = root + 1e-3 * goal * np.sqrt(scale) * rng.standard_normal(root.shape)
    bound = proof_of(problem, Y).gap(goal * scale**2)
    assert 0.0 <= bound <= goal * scale**2


@pytest.mark.parametrize(("sigma", "proven"), [(2.0, False), (2e12, True), (0.0, True)])
def test_rounding_of_the_gradient_is_charged_where_strong_convexity_bounds_it(sigma, proven) -> None:
    """S = ∇F(0) = diag(1e12, 1) is definite up to 16 n eps times the diagonals of S, S and ∇F(0): e = (0.02, 2e-14)."""
    problem = QuadraticSDP(C=np.diag([1e12, 1.0]), constant=1.0)
    problem.lower_curvature = sigma
    evaluation = problem.at(np.zeros((2, 1)))
    gap = DenseProof(evaluation, dense_gradient(evaluation)).gap(1e-6)
    assert (gap is not None) == proven
    assert gap is None or gap == pytest.approx((16 * 2 * EPS * 3e12) ** 2 / (2.0 * sigma) if sigma else 0.0)


def test_coordinates_of_any_scale_are_proven_alike():
    """F(D M D) for D of entries 1e±4: the first Z = I is far too large for one coordinate, the scaled one is not."""
    rng = np.random.default_rng(1)
    d = 10.0 ** rng.uniform(-4, 4, 6)
    K = symmetric(rng, 6)
    values, U = np.linalg.eigh(K)
    problem = QuadraticSDP(np.diag(d**2), None, -K * np.outer(d, d))
    Y = (U * np.sqrt(np.maximum(values, 0.0))) / d[:, None]
    moved = Y * (1.0 + 1e-9 * rng.standard_normal(Y.shape))
    assert proof_of(problem, moved).gap(1e-6) is not None


def test_nothing_is_proven_of_a_gradient_that_is_not_finite():
    problem = QuadraticSDP(None, 1.0, np.eye(2))
    proof = DenseProof(problem.at(np.eye(2)), np.full((2, 2), np.nan))
    assert proof.gap(1.0) is None
    assert proof.descent() is None


@pytest.mark.parametrize("turn", [0.1, 0.8])
def test_a_gradient_whose_rounding_hides_that_at_zero_proves_nothing(turn):
    """F falls without end where A has no range; at a huge M rounding of A M A hides the C that says so."""
    Q = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    problem = QuadraticSDP(A=Q @ np.diag([1.0, 0.0]) @ Q.T, C=Q @ np.diag([0.0, -1.0]) @ Q.T)
    for trace in (1.0, 1e10, 1e20, 1e30):
        evaluation = problem.at(math.sqrt(trace) * Q[:, :1])
        for share in (1e-6, 1e-3, 1.0):
            goal = share * abs(evaluation.value)
            assert DenseProof(evaluation, dense_gradient(evaluation)).gap(goal) is None


def test_the_direction_of_descent_leads_down_in_units_of_the_coordinates():
    problem = QuadraticSDP(B=np.diag([1.0, 1e-8]), C=np.diag([1.0, -1e-6]))
    proof = proof_of(problem, np.eye(2)[:, :1])
    v = proof.descent()
    assert abs(v[1]) == pytest.approx(1.0)
    assert proof.gap(1e-3) is None


def pairs_problem(n, rng):
    labels = np.arange(n) % 3
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < 0.1
    pairs, same = np.column_stack([i, j])[kept], (labels[i] == labels[j])[kept]
    W = sp.random_array((n, n), density=0.1, random_state=rng)
    W = abs(W + W.T)
    return pairwise_kernel_problem(sp.csr_array(sp.diags_array(W.sum(axis=1)) - W), pairs, same.astype(float))


def test_a_certificate_of_a_quadratic_fit_takes_a_few_factorisations(monkeypatch):
    """Two for the eigenpair, one or two of S + s H, one of S unless a Ritz value refutes it; S is assembled once."""
    problem = pairs_problem(80, np.random.default_rng(0))
    result = solve(problem, FlatQuotient(80, 12), LagrangeNewton(), tol=1e-10)
    assert result.optimal
    certify(problem, result.matrix, tol=1e-8)  # makes what the problem keeps
    factored, assembled = [], []
    inside = definite.dpotrf
    monkeypatch.setattr(definite, "dpotrf", lambda *a, **k: factored.append(1) or inside(*a, **k))
    entries = TermEvaluation._gradient_entries
    monkeypatch.setattr(TermEvaluation, "_gradient_entries", lambda self: assembled.append(1) or entries(self))
    again = certify(problem, result.matrix, tol=1e-8)
    assert again.proves(1e-8)
    assert len(assembled) == 1
    assert len(factored) <= 4


def test_beyond_its_order_nothing_dense_is_formed(monkeypatch):
    for where in (computation, gradient):
        monkeypatch.setattr(where, "dense_gradient", lambda evaluation: pytest.fail("formed"))
    monkeypatch.setattr(QuadraticSDP, "value_and_gradient_at", lambda self, Y: pytest.fail("formed"))
    n = SPECTRUM_ORDER + 1
    problem = QuadraticSDP(None, 1.0, sp.diags_array(np.r_[-1.0, np.ones(n - 1)]).tocsr())
    assert certify(problem, np.eye(n)[:, :1]).proves(1e-6)


def beyond():
    """A quadratic problem and its factor at the optimum, of an order that dense eigensolvers do not take."""
    n = DENSE_LIMIT + 1
    problem = QuadraticSDP(None, 1.0, np.diag(np.r_[-1.0, np.ones(n - 1)]))
    Y = np.eye(n)[:, :1]
    return problem, Y * math.sqrt(problem.at(Y).best_multiple()) * (1.0 - 1e-9)


def test_beyond_the_dense_order_a_quadratic_f_is_proven_on_the_whole_cone():
    problem, Y = beyond()
    problem.lower_curvature = 0.0  # strong convexity would prove the gap by itself
    certificate = certify(problem, Y, tol=1e-6)
    assert certificate.proves(1e-6)
    assert certificate.lower_bound < 0.0  # by no eigenvalue


def test_images_that_are_too_large_are_not_made():
    problem, _ = beyond()
    assert may_be_formed(problem)
    for problem.rows in (NUMBERS, None):  # None: not known
        assert not may_be_formed(problem)


@pytest.mark.parametrize("pulled", [True, False])
def test_beyond_the_dense_order_s_is_formed_only_where_a_proof_uses_it(pulled):
    """A sum of exponentials is neither quadratic nor a hinge with a pull: no bound would come of S."""
    n = DENSE_LIMIT + 1
    push = MeasuredTerm(QuadraticForms(np.eye(n)[:3]), SquaredHinge(1.0), 1.0)
    other = AutogradProblem(lambda M: anp.sum(anp.exp(-anp.diag(M))), n, convex=True)
    problem = TermSum([LinearTerm(np.eye(n)), push]) if pulled else other
    problem.rows = n
    assert may_be_formed(problem) == pulled
    certificate = certify(problem, 1e-3 * np.eye(n)[:, :1])
    assert certificate.provable == pulled


def held_back():
    """Hinges that hold two directions back, a pull that does not see one of them: S stays indefinite whatever P is."""
    pull = LinearTerm(np.diag([1.0, 1.0, 0.0]))
    push = MeasuredTerm(QuadraticForms(np.eye(3)[2:]), SquaredHinge(1.0), 1.0)
    return TermSum([pull, push])


def test_a_proof_that_cannot_succeed_is_given_up_after_one_trial_for_each_direction(monkeypatch):
    problem, made = held_back(), []
    inside = TermSum.value_and_gradient_at
    monkeypatch.setattr(TermSum, "value_and_gradient_at", lambda self, Y: made.append(1) or inside(self, Y))
    proof = proof_of(problem, np.diag([1e-3, 1e-3, 1e-3]))
    before = len(made)
    assert proof.gap(1e-12) is None
    assert proof.shortfall > 0.3
    assert len(made) - before <= 4


def test_a_direction_that_lifts_the_gradient_by_rounding_alone_is_given_up(monkeypatch):
    """Entries off the diagonal do not see a diagonal Z: the gradient at M + s Z is that at M, whatever s is."""
    i, j = np.triu_indices(30, 1)
    a = np.random.default_rng(0).standard_normal(len(i))

    def fit(Y):
        return anp.sum((anp.sum(Y[i] * Y[j], axis=1) - a) ** 2) + anp.sum(Y * Y)

    problem = FunctionProblem(fit, 30, of="factor", convex=True)
    Y = solve(problem, tol=1e-3).matrix.factor
    made, inside = [], dense_proof.value_and_gradient
    monkeypatch.setattr(dense_proof, "value_and_gradient", lambda *given: made.append(1) or inside(*given))
    proof = proof_of(problem, Y)
    proof.gap()
    assert len(made) <= 6


def test_a_search_that_failed_is_not_repeated_at_the_same_shortfall(monkeypatch):
    searched = []
    monkeypatch.setattr(DenseProof, "_least_perturbed", lambda proof, L, most: searched.append(most))
    proof = proof_of(held_back(), np.diag([1e-3, 1e-3, 1e-3]))
    goal = 4e-6 * abs(float(np.trace(proof.S)))  # ⟨S, M⟩ leaves three quarters of it
    assert proof.gap(goal, tried=proof.shortfall) is None
    assert proof.gap(goal, tried=1.3 * proof.shortfall) is None
    assert not searched
    assert proof.gap(goal, tried=1.4 * proof.shortfall) is None
    assert len(searched) == 2  # scaled coordinates, and the identity


def test_rounding_of_the_largest_entries_hides_no_slope_at_zero() -> None:
    """F falls by 1e-4 from M = 0 along an eigenvector of C whose eigenvalue, -0.01, is rounding beside 1e12."""
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    problem = QuadraticSDP(B=1.0, C=turn @ np.diag([1e12, -0.01]) @ turn.T, constant=1.0)
    assert not certify(problem, np.zeros((2, 1))).proves(1e-6)
