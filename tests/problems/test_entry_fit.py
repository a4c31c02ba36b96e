"""Fits to entries: runs in any units, with and without a diagonal of L, preconditioners, the bi-convex split."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import LBFGS, ConjugateGradient, EntryFit, FlatQuotient, LagrangeNewton, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg.operators import symmetric_map
from psdopt.linalg.tolerances import ROOT_EPS
from psdopt.methods.admm import ADMM
from psdopt.problems import QuadraticSDP
from psdopt.problems.entry_fit import RIDGE
from psdopt.problems.entry_split import coupling_bound
from psdopt.problems.term_models import TermEvaluation
from psdopt.testing import run_checks
from psdopt.testing.gallery import with_spectrum
from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem
from tests.instances import symmetric
from tests.methods.pairs import pair_problem

N = 24


def linear_term(kind):
    """L: nothing, an indefinite matrix, one with zeros on its diagonal, PSD, or an operator whose trace is negative."""
    rng = np.random.default_rng(1)
    C = rng.standard_normal((N, N))
    psd = C @ C.T / N
    return {
        "none": None,
        "indefinite": C + C.T,
        "no diagonal": psd - np.diag(np.diag(psd)),
        "psd": psd,
        "faint diagonal": psd - np.diag(np.diag(psd)) + 1e-12 * np.eye(N),
        "operator": aslinearoperator(psd - 3.0 * np.eye(N)),
    }[kind]


KINDS = ["none", "indefinite", "no diagonal", "psd", "faint diagonal", "operator"]


def fit(kind, s=1.0):
    """F(M / s): every diagonal entry and a third of the others, of a matrix of rank 3 with noise."""
    rng = np.random.default_rng(2)
    Y = rng.standard_normal((N, 3))
    i, j = np.triu_indices(N)
    known = (i == j) | (rng.random(len(i)) < 0.3)
    targets = (Y @ Y.T + 0.1 * rng.standard_normal((N, N)))[i, j]
    L = linear_term(kind)
    return EntryFit(None if L is None else L / s if isinstance(L, np.ndarray) else L * (1.0 / s),
                    i[known], j[known], s * targets[known], 1.0 / s**2, n=N)  # fmt: skip


@pytest.mark.parametrize("method", [ConjugateGradient(), LBFGS(), LagrangeNewton()], ids=lambda m: m.name)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_run_in_any_units(kind, method):
    """With s a power of four every number of a run is another power of two times what it was."""
    plain = solve(fit(kind), FlatQuotient(N, 8), method, rng=0, tol=1e-5, max_iterations=60)
    for s in (2.0**-60, 2.0**60):
        other = solve(fit(kind, s), FlatQuotient(N, 8), method, rng=0, tol=1e-5, max_iterations=60)
        assert other.iterations == plain.iterations
        assert other.status is plain.status
        np.testing.assert_array_equal(other.history["value"], plain.history["value"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_preconditioner_is_definite_and_saves_steps(kind):
    problem = fit(kind)
    Y = np.random.default_rng(3).standard_normal((N, 4))
    solved = problem.at(Y).preconditioner()
    basis = np.eye(4 * N).reshape(-1, N, 4)
    P = np.array([solved(B).ravel() for B in basis])
    np.testing.assert_allclose(P, P.T, rtol=0, atol=1e-12 * np.abs(P).max())
    assert np.linalg.eigvalsh(P)[0] > 0.0
    steps = [
        solve(problem, FlatQuotient(N, 8), ConjugateGradient(preconditioner=p), rng=0, tol=1e-6).iterations
        for p in ("problem", "none")
    ]
    assert steps[0] < steps[1]


def test_a_run_preconditions_once_per_step_and_not_at_its_end(monkeypatch):
    problem, calls = pair_problem(gamma=10.0), []
    inside = TermEvaluation.preconditioner
    monkeypatch.setattr(TermEvaluation, "preconditioner", lambda e: calls.append(1) or inside(e))
    result = solve(problem, FlatQuotient(24, 6), ConjugateGradient(), tol=1e-5)
    assert result.optimal
    assert len(calls) == result.iterations


def test_completion_without_a_linear_term():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((15, 2))
    i, j = np.triu_indices(15)
    keep = rng.random(len(i)) < 0.7
    problem = EntryFit(None, i[keep], j[keep], (Z @ Z.T)[i[keep], j[keep]], n=15)
    assert problem.split().coupling_bound == 0.0
    result = solve(problem, FlatQuotient(15, 2), ADMM())
    assert result.optimal
    assert result.value < 1e-6 * problem.value_at_zero()
    np.testing.assert_allclose(result.matrix.to_dense(), Z @ Z.T, atol=1e-3 * np.linalg.norm(Z @ Z.T))


def test_entry_fit_rejects_bad_input_and_has_weights_of_one():
    L = np.eye(3)
    for arguments, text in (
        ((None, [0], [1], 1.0), "n must be given"), ((L, [0, 1], [1, 0], 1.0), r"listed once; found \(0, 1\)"),
        ((L, [0], [1], 1.0, 0.0), "weights must be above 0"), ((L, [0], [1], np.nan), "targets must be finite"),
        ((L, [0], [1], [1.0, 2.0]), "targets must be a number or have shape"),
        ((np.triu(np.ones((3, 3))), [0], [1], 1.0), "L must be symmetric"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=text):
            EntryFit(*arguments)
    fit = EntryFit(np.eye(4), [0, 1], [1, 2], 0.5)
    np.testing.assert_array_equal(fit.weights, np.ones(2))
    assert fit.at(np.zeros((4, 1))).value == pytest.approx(0.5)


def preconditioned(ridge, i, j, weights, Y, G):
    """½ (ridge I + Σ_t w_t y_t y_tᵀ)⁻¹ g for each row, summed over its entries; a diagonal one counts four times."""
    rows = []
    for row, g in enumerate(G):
        H = ridge * np.eye(Y.shape[1])
        for a, b, weight in zip(i, j, weights, strict=True):
            if row in (a, b):
                other = b if row == a else a
                H += (4.0 if a == b else 1.0) * weight * np.outer(Y[other], Y[other])
        rows.append(np.linalg.solve(H, g) / 2.0)
    return np.array(rows)


@pytest.mark.parametrize("size", [0.03, 1.0, 700.0])
def test_an_operator_is_preconditioned_by_its_mean_diagonal(size):
    """Of a multiple of I the mean is every entry, and probing vectors see it exactly."""
    L, i, j = size * np.eye(5), [0, 1, 2, 2], [1, 2, 2, 4]
    Y, G = np.random.default_rng(0).standard_normal((2, 5, 2))
    found, expected = (EntryFit(form, i, j, 0.5).at(Y).preconditioner()(G) for form in (aslinearoperator(L), L))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(found, preconditioned(size, i, j, np.ones(4), Y, G), rtol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("with_l", [False, True])
def test_the_ridge_of_rows_without_a_diagonal_is_a_share_of_the_curvature_of_an_entry(with_l, size):
    """The mean weight times |Y|² / n: RIDGE of it without L, and no less than √eps of it with any L."""
    rng = np.random.default_rng(1)
    i, j, w = np.array([0, 1, 2]), np.array([1, 3, 4]), np.array([0.5, 2.0, 3.5])
    Y, G = size * rng.standard_normal((6, 2)), rng.standard_normal((6, 2))
    found = EntryFit(1e-30 * np.eye(6) if with_l else None, i, j, 0.5, w, n=6).at(Y).preconditioner()(G)
    ridge = (ROOT_EPS if with_l else RIDGE) * w.mean() * np.sum(Y * Y) / 6
    np.testing.assert_allclose(found, preconditioned(ridge, i, j, w, Y, G), rtol=1e-6)


def drawn_fit(with_l=True, constant=2.5):
    """Entries of which one is on the diagonal and each has a weight and a target of its own."""
    rng = np.random.default_rng(3)
    i, j = np.array([0, 1, 2, 4, 3, 5]), np.array([1, 3, 2, 5, 0, 2])
    t, w = rng.standard_normal(6), rng.uniform(0.5, 3.0, 6)
    L = symmetric(rng, 6) if with_l else None
    return EntryFit(L, i, j, t, w, n=6, constant=constant), L, rng


def split_by_hand(fit, L, V, U):
    """tr(VᵀL U) + ½ Σ_t w_t ((v_i·u_j − t)² + (v_j·u_i − t)²): a square for each order of i and j."""
    total = fit.constant if L is None else fit.constant + np.sum(V * (L @ U))
    for i, j, t, w in zip(fit.i, fit.j, fit.targets, fit.weights, strict=True):
        total += 0.5 * w * ((V[i] @ U[j] - t) ** 2 + (V[j] @ U[i] - t) ** 2)
    return total


@pytest.mark.parametrize("with_l", [True, False])
def test_the_split_by_hand_and_where_both_blocks_agree(with_l):
    fit, L, rng = drawn_fit(with_l)
    split = fit.split()
    V, U = rng.standard_normal((2, 6, 2))
    assert split.value(V, U, split.image(U)) == pytest.approx(split_by_hand(fit, L, V, U), rel=1e-12)
    assert split.value(U, V, split.image(V)) == pytest.approx(split_by_hand(fit, L, V, U), rel=1e-12)
    assert split.value(U, U, split.image(U)) == pytest.approx(fit.at(U).value, rel=1e-12)
    np.testing.assert_allclose(split.image(U), 0.0 * U if L is None else L @ U, rtol=1e-12)
    before = fit.counts()
    at = split.evaluation(U, split.image(U) if L is None else L @ U)
    assert at.value == pytest.approx(fit.at(U).value, rel=1e-12)
    assert with_l is False or fit.counts()["operator_applications"] == before["operator_applications"] + 1  # fit.at


@pytest.mark.parametrize("with_l", [True, False])
def test_a_split_passes_the_kit(with_l):
    for record in run_checks(drawn_fit(with_l)[0], only=["problem.split_function", "problem.split_update"]):
        assert record.ok, record


def test_the_scale_of_a_split_is_that_of_the_weights_and_targets():
    """rho |V|² is about as large as F: both grow with the weights, and with the square of what is fitted."""
    fit, _, _ = drawn_fit()
    base = fit.split().scale
    ordered = np.concatenate([fit.targets[fit.i != fit.j], fit.targets])
    doubled = np.concatenate([fit.weights[fit.i != fit.j], np.where(fit.i == fit.j, 2.0, 1.0) * fit.weights])
    assert base == pytest.approx(np.mean(np.abs(ordered)) * np.mean(doubled))
    assert EntryFit(None, fit.i, fit.j, 4.0 * fit.targets, fit.weights, n=6).split().scale == pytest.approx(4.0 * base)
    assert EntryFit(None, fit.i, fit.j, fit.targets, 4.0 * fit.weights, n=6).split().scale == pytest.approx(4.0 * base)
    assert EntryFit(None, fit.i, fit.j, 0.0, fit.weights, n=6).split().scale == pytest.approx(np.mean(doubled))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda L: aslinearoperator(np.asarray(L))])
def test_bounds_of_couplings(form):
    """Above λ_max(L) by a few percent of |L|, never negative, and 0 without L."""
    assert coupling_bound(None) == 0.0
    for L in (
        0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]]),  # entries that sum to 0, of norm 1
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.diag([3.0, -1.0]),
        np.diag([-3.0, -1.0]),
        np.zeros((2, 2)),
        1e-9 * np.diag([3.0, -1.0]),
    ):
        largest = max(np.linalg.eigvalsh(L)[-1], 0.0)
        bound = coupling_bound(symmetric_map(form(L), "L"))
        assert largest * (1.0 - 1e-12) <= bound <= largest + 0.03 * np.linalg.norm(L, 2) + 1e-300
    assert coupling_bound(symmetric_map(form(np.zeros((2, 2))), "L")) == 0.0


def solvable():
    """Problems of order nine, and methods that keep something of them."""
    i, j = np.triu_indices(9)
    L, T, A = (
        with_spectrum(np.linspace(*ends, 9), seed) for ends, seed in (((0.1, 0.5), 5), ((-1, 2), 4), ((0.5, 2), 1))
    )
    three = ADMM(), ConjugateGradient(), LagrangeNewton(steps=1)
    yield lambda: EntryFit(L, i, j, T[i, j]), three
    yield lambda: pairwise_kernel_problem(L - 0.1 * np.eye(9), [[0, 1], [1, 2], [3, 5]], [1, 0, 1], 2.0), three
    yield lambda: QuadraticSDP(A, 1.0, -T), (ConjugateGradient(),)


@pytest.mark.parametrize(("make", "methods"), [*solvable()])
def test_nothing_keeps_a_problem_that_was_solved(make, methods):
    problem = make()
    for method in methods:
        assert solve(problem, FlatQuotient(9, 4), method, rng=0).converged
    known = weakref.ref(problem)
    gc.collect()
    gc.disable()
    try:
        del problem
        assert known() is None
    finally:
        gc.enable()
