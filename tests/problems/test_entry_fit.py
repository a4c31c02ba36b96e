"""Fits to entries: a run does not depend on the units of targets and M, with and without a diagonal of L."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from psdopt import LBFGS, ConjugateGradient, EntryFit, FlatQuotient, LagrangeNewton, solve

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


def test_a_zero_factor_is_preconditioned_as_well():
    for kind in ("none", "psd"):
        solved = fit(kind).at(np.zeros((N, 2))).preconditioner()
        R = np.random.default_rng(0).standard_normal((N, 2))
        assert np.vdot(R, solved(R)) > 0.0
