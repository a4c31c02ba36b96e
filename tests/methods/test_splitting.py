"""Closed forms, and splitting in the eigenvectors of A: the minimum of other methods, where these find it, proven."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from psdopt import (
    BILGO,
    ConjugateGradient,
    EigenSplitting,
    FlatQuotient,
    PSDCone,
    QuadraticSDP,
    Status,
    compatible,
    solve,
)
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.linalg import extreme
from psdopt.linalg.tolerances import EPS
from psdopt.methods import splitting as module
from psdopt.problems.diagonal_form import DiagonalDuality
from psdopt.terms import ProductTerm
from psdopt_plugins.metric_learning import kta_problem
from tests.instances import spectrum_matrix, symmetric
from tests.problems.quadratics import N, data


def drawn(seed, n=12, digits=2.0, ridge=1e-2):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return QuadraticSDP((Q * np.logspace(-digits, 0.0, n)) @ Q.T, ridge, symmetric(rng, n))


@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_another_method_and_proven(seed):
    problem = drawn(seed)
    result, other = solve(problem, tol=1e-8), solve(problem, PSDCone(12), BILGO(), tol=1e-8)
    assert result.method == "EigenSplitting"
    assert result.status is other.status is Status.OPTIMAL
    unit = result.certificate.unit
    assert abs(result.value - other.value) <= 2e-8 * unit
    assert result.certificate.dual_value <= other.value + 1e-12 * unit


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 20), seed=st.integers(0, 2**31), digits=st.floats(0.0, 8.0), ridge=st.floats(-8.0, 2.0))
def test_neither_condition_nor_ridge_nor_rank_keeps_it_from_a_proof(n, seed, digits, ridge):
    rng = np.random.default_rng(seed)
    problem = drawn(seed, n, digits, 10.0**ridge)
    if rng.random() < 0.5:  # a solution of low rank
        B = rng.standard_normal((n, max(1, n // 5)))
        problem = QuadraticSDP(problem.A, 10.0**ridge, np.eye(n) - B @ B.T * 10.0 ** rng.uniform(-2.0, 2.0))
    result = solve(problem, PSDCone(n), EigenSplitting(), max_iterations=500)
    assert result.status is Status.OPTIMAL
    assert result.certificate.proves(1e-6)


@pytest.mark.parametrize(("digits", "ridge", "most"), [(2.0, 1.0, 3), (4.0, 1e-2, 8), (4.0, 1e-4, 11)])
def test_a_run_ends_at_the_first_iteration_that_is_proven_to_a_digit(monkeypatch, digits, ridge, most):
    """The gap is looked at after every iteration: no more decompositions than those that it needs to fall."""
    made, inside = [], module.spectrum
    monkeypatch.setattr(module, "spectrum", lambda T: made.append(1) or inside(T))
    for seed in range(3):
        made.clear()
        result = solve(drawn(seed, 40, digits, ridge))
        assert result.optimal
        assert result.state.taken == len(made) <= most
        gaps = result.history["stationarity"][1:]
        assert all(later <= 0.1 * gap for gap, later in itertools.pairwise(gaps))


def test_f_is_evaluated_once_a_step_and_nothing_is_factorised_for_its_proof(monkeypatch):
    """Beside the steps F is evaluated at 0 and by the certificate, which looks at the multiplier once."""
    evaluated, bounded, inside, bound = [], [], ProductTerm.features, DiagonalDuality.dual_bound
    monkeypatch.setattr(ProductTerm, "features", lambda *a: evaluated.append(1) or inside(*a))
    monkeypatch.setattr(DiagonalDuality, "dual_bound", lambda *a: bounded.append(1) or bound(*a))
    monkeypatch.setattr(extreme, "pair_above", lambda *a: pytest.fail("a factor of S decides nothing here"))
    result = solve(drawn(0, 80, 4.0, 1e-2))
    assert result.optimal
    assert result.iterations >= 3
    # of two terms: at the start and for F(0), both at M = 0, and for the certificate
    assert len(evaluated) == 2 * (3 + result.iterations)
    assert len(bounded) == 1


def test_it_ends_at_fine_tolerances_where_h_varies_much():
    """Features of unlike scales: with a penalty that changes at even intervals the gap rises again and again."""
    X, y = load_breast_cancer(return_X_y=True)
    result = solve(kta_problem(X, y, 1.0), tol=1e-9)
    assert result.optimal
    assert result.state.taken <= 80


def test_the_value_of_a_step_is_that_of_f():
    problem = drawn(1)
    for state in (solve(problem, max_iterations=k).state for k in (1, 2)):
        assert state.evaluation.value == pytest.approx(problem.at(state.evaluation.factor).value, rel=1e-12)


def test_a_hundred_times_fewer_decompositions_than_steps_of_a_factor(monkeypatch):
    """At a ridge of 1e-3 and condition 1e6 conjugate gradient takes thousands of steps."""
    problem, made, inside = drawn(1, 30, 6.0, 1e-3), [], module.spectrum
    monkeypatch.setattr(module, "spectrum", lambda T: made.append(1) or inside(T))
    result = solve(problem)
    assert result.optimal
    assert len(made) <= 20


@pytest.mark.parametrize("A", [np.diag([1.0, 2.0, 3.0]), None])
def test_a_known_minimiser_brings_the_multiplier_that_proves_it(A):
    """Ψ = 0 where the minimiser over all symmetric matrices is PSD; with A = 0, b times its negative part."""
    C = np.array([[-3.0, 0.1, 0.0], [0.1, -2.0, 0.2], [0.0, 0.2, -1.0 if A is not None else 1.0]])
    result = solve(QuadraticSDP(A, 0.5, C))
    assert (result.method, result.iterations, result.status) == ("EigenSplitting", 1, Status.OPTIMAL)
    assert result.certificate.dual_value == pytest.approx(result.value, rel=1e-13)


def test_any_dual_that_is_handed_over_is_below_the_minimum():
    problem = drawn(2)
    least, here = solve(problem, tol=1e-9).value, problem.at(np.eye(12))
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-3, 1.0, 1e3):
        bound = problem.duality.dual_bound(here, size * rng.standard_normal((12, 3)))
        assert bound <= least
    assert problem.duality.dual_bound(here) is None


def test_the_diagonal_form_is_f():
    problem, rng = drawn(3), np.random.default_rng(3)
    form = problem.diagonal_form()
    N = rng.standard_normal((12, 4))
    here = problem.at(form.matrix(N).factor)
    assert form.value(N @ N.T) == pytest.approx(here.value)
    np.testing.assert_allclose(form.coordinates(here.matrix), N @ N.T, atol=1e-10 * np.abs(N @ N.T).max())
    np.testing.assert_allclose(np.diagonal(form.h), 2.0)
    Z = N @ N.T
    psi = np.eye(12) * 1e-3
    gap, R = form.gap(Z, psi)
    assert gap == pytest.approx(form.value(Z) - form.bound(psi) - np.sum(psi * Z), rel=1e-10)
    np.testing.assert_allclose(R, form.h * Z + form.c - psi)


@pytest.mark.parametrize("ridge", [1e-6, 1e-12, 1e-16])
def test_rounding_of_null_directions_does_not_lift_the_form_above_f(ridge):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    A = (Q[:, 6:] * np.linspace(0.1, 1.0, 6)) @ Q[:, 6:].T
    problem = QuadraticSDP(0.5 * (A + A.T), ridge, symmetric(rng, 12))
    form = problem.diagonal_form()
    for _ in range(20):
        N = rng.standard_normal((12, 3))
        there = problem.at(form.matrix(N).factor).value
        assert form.value(N @ N.T) <= there + 1e-9 * np.abs(form.c).sum() * np.abs(N @ N.T).max()
    result = solve(problem, max_iterations=3000)
    assert result.status is Status.OPTIMAL
    assert result.certificate.dual_value <= result.value


def test_where_zero_is_best_it_ends_there():
    result = solve(
        QuadraticSDP(np.diag([1.0, 2.0]), 1.0, np.array([[2.0, 0.5], [0.5, 1.0]])), PSDCone(2), EigenSplitting()
    )
    assert result.optimal
    assert result.value == 0.0
    assert result.iterations <= 2


def test_a_zero_on_the_way_is_not_taken_for_an_answer():
    """Z is 0 for some iterations while rho grows: a certificate of M = 0 there would start the run anew."""
    problem = QuadraticSDP(np.diag([1.0, 1e-7]), 9e-5, np.array([[0.508, -1.64e-3], [-1.64e-3, -2.5e-5]]))
    traces = []
    result = solve(problem, callback=lambda snapshot: traces.append(snapshot.state.evaluation.size))
    assert result.optimal
    assert min(traces) == 0.0 < max(traces)
    assert result.state.taken <= 35


def test_a_rank_limit_is_kept_and_other_problems_are_refused():
    problem = drawn(4)
    limited = solve(problem, max_rank=3)
    assert limited.matrix.rank <= 3
    assert limited.method == "ConjugateGradient + TruncatedNewton"
    assert solve(QuadraticSDP(None, 1.0, -np.eye(4)), max_rank=2).matrix.rank <= 2  # although there is a closed form
    assert not compatible(problem, FlatQuotient(12, 3), EigenSplitting())
    plain = QuadraticSDP(np.eye(3), np.diag([1.0, 2.0, 3.0]), -np.eye(3))
    with pytest.raises(IncompatibleError, match="diagonal-form or closed-form"):
        solve(plain, PSDCone(3), EigenSplitting())
    with pytest.raises(InvalidInputError, match="relaxation"):
        EigenSplitting(relaxation=2.5)
    with pytest.raises(InvalidInputError, match="iterations"):
        EigenSplitting(iterations=0)


@pytest.mark.parametrize("rank", range(1, N + 1))
@pytest.mark.parametrize("kind", ["projection", "congruence"])
def test_closed_forms_at_every_rank_against_solve(kind, rank):
    rng, A, _, C = data(rank)
    A = spectrum_matrix(rng, N, np.linspace(0.5, 2.0, N))
    problem = QuadraticSDP(None, 1.5, C) if kind == "projection" else QuadraticSDP(A, None, C)
    exact = problem.solve_in_closed_form(rank)
    best = problem.at(exact.factor).value
    if kind == "projection":
        eigenvalues = np.sort(np.linalg.eigvalsh(-C))[::-1][:rank]
        assert best == pytest.approx(-np.sum(np.maximum(eigenvalues, 0) ** 2) / 1.5, rel=1e3 * EPS)
    assert exact.factor.shape[1] <= rank
    results = [
        solve(problem, FlatQuotient(N, rank), ConjugateGradient(), tol=1e-9, rng=seed, max_iterations=2000)
        for seed in range(2)
    ]
    found = min(results, key=lambda result: result.value)
    assert found.value == pytest.approx(best, rel=1e-7)
    assert found.value >= best - 1e-12 * abs(best)


def test_closed_form_is_chosen_and_certified():
    _, _, _, C = data(1)
    result = solve(QuadraticSDP(None, 2.0, C))
    assert result.status is Status.OPTIMAL
    assert result.method == "EigenSplitting"
    assert result.iterations <= 1
    explicit = solve(QuadraticSDP(None, 2.0, C), PSDCone(N), EigenSplitting())
    assert explicit.value == pytest.approx(result.value, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-100, 1e100])
def test_data_whose_squares_vanish_or_nearly_overflow_are_split(scale):
    _, A, _, C = data(2)
    result = solve(QuadraticSDP(A, 1.0, scale * C), PSDCone(N), EigenSplitting())
    assert result.status is Status.OPTIMAL
    expected = solve(QuadraticSDP(A, 1.0, C), PSDCone(N), EigenSplitting()).value
    assert result.value / scale / scale == pytest.approx(expected, rel=1e-5, abs=1e-5 if scale > 1e-150 else np.inf)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_minimiser_at_which_f_overflows_is_no_answer():
    rng = np.random.default_rng(3)
    A, C = symmetric(rng, 12), symmetric(rng, 12)
    assert solve(QuadraticSDP(1e-160 * A @ A, 1e-300, C)).status is Status.NON_FINITE
