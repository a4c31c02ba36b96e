"""Fits to entries: a run does not depend on the units of targets and M, with and without a diagonal of L."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from psdopt import LBFGS, ConjugateGradient, EntryFit, FlatQuotient, LagrangeNewton, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import ROOT_EPS, SLIGHT
from psdopt.methods.admm import ADMM
from psdopt.problems.term_sum import TermEvaluation
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


def test_entry_fit_rejects_bad_input():
    L = np.eye(3)
    with pytest.raises(InvalidInputError, match="n must be given"):
        EntryFit(None, [0], [1], 1.0)
    with pytest.raises(InvalidInputError, match=r"listed once; found \(0, 1\)"):
        EntryFit(L, [0, 1], [1, 0], 1.0)
    with pytest.raises(InvalidInputError, match="weights must be above 0"):
        EntryFit(L, [0], [1], 1.0, 0.0)
    with pytest.raises(InvalidInputError, match="targets must be finite"):
        EntryFit(L, [0], [1], np.nan)
    with pytest.raises(InvalidInputError, match="targets must be a number or have shape"):
        EntryFit(L, [0], [1], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="L must be symmetric"):
        EntryFit(np.triu(np.ones((3, 3))), [0], [1], 1.0)


def test_weights_are_one_where_none_are_given():
    fit = EntryFit(np.eye(4), [0, 1], [1, 2], 0.5)
    np.testing.assert_array_equal(fit.weights, np.ones(2))
    assert fit.at(np.zeros((4, 1))).value == pytest.approx(0.5)


@pytest.mark.parametrize("size", [0.03, 1.0, 700.0])
def test_an_operator_is_preconditioned_by_its_mean_diagonal(size):
    """Of a multiple of I the mean is every entry, and probing vectors see it exactly."""
    L, i, j = size * np.eye(5), [0, 1, 2, 2], [1, 2, 2, 4]
    rng = np.random.default_rng(0)
    Y, G = rng.standard_normal((2, 5, 2))
    found, expected = (EntryFit(form, i, j, 0.5).at(Y).preconditioner()(G) for form in (aslinearoperator(L), L))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    ridge = np.full(5, size)
    by_hand = np.zeros((5, 2))
    for row in range(5):
        H = ridge[row] * np.eye(2)
        for a, b in zip(i, j, strict=True):
            if row in (a, b):
                other = b if row == a else a
                H += (4.0 if a == b else 1.0) * np.outer(Y[other], Y[other])
        by_hand[row] = np.linalg.solve(H, G[row]) / 2.0
    np.testing.assert_allclose(found, by_hand, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e5])
@pytest.mark.parametrize("with_l", [False, True])
def test_the_ridge_of_rows_without_a_diagonal_is_a_share_of_the_curvature_of_an_entry(with_l, size):
    """The mean weight times |Y|² / n: a slight share of it without L, and no less than √eps of it with any L."""
    rng = np.random.default_rng(1)
    i, j, w = np.array([0, 1, 2]), np.array([1, 3, 4]), np.array([0.5, 2.0, 3.5])
    Y, G = size * rng.standard_normal((6, 2)), rng.standard_normal((6, 2))
    L = 1e-30 * np.eye(6) if with_l else None
    found = EntryFit(L, i, j, 0.5, w, n=6).at(Y).preconditioner()(G)
    ridge = (ROOT_EPS if with_l else SLIGHT) * w.mean() * np.sum(Y * Y) / 6
    for row in range(6):
        H = ridge * np.eye(2)
        for a, b, weight in zip(i, j, w, strict=True):
            if row in (a, b):
                other = b if row == a else a
                H += weight * np.outer(Y[other], Y[other])
        np.testing.assert_allclose(found[row], np.linalg.solve(H, G[row]) / 2.0, rtol=1e-6)
