"""The preconditioner of quadratic SDPs: close to the factor Hessian, damped where S has a positive trace."""

import numpy as np
import pytest

from psdopt import FlatQuotient, QuadraticSDP
from psdopt.problems import quadratic_preconditioner
from psdopt.problems.quadratic_preconditioner import QuadraticPreconditioner
from psdopt.testing.gallery import with_spectrum
from tests.instances import psd

N, R = 8, 3


def problem(**parts):
    rng = np.random.default_rng(0)
    given = {"A": psd(rng, N, N), "B": 0.5, "C": with_spectrum(np.linspace(-2.0, 1.0, N), 1), **parts}
    return QuadraticSDP(**given), rng.standard_normal((N, R)), rng


def test_the_decomposition_is_made_once_and_leading_pairs_agree(monkeypatch):
    p, Y, rng = problem()
    full = p.at(Y).preconditioner()
    assert isinstance(p.curvature, QuadraticPreconditioner)
    basis = p.curvature.basis
    assert p.curvature.basis is basis
    monkeypatch.setattr(quadratic_preconditioner, "FACTOR_ORDER", N - 1)
    other, _, _ = problem()
    G = rng.standard_normal((N, R))
    leading = other.at(Y).preconditioner()(G)
    np.testing.assert_allclose(leading, full(G), rtol=0, atol=1e-6 * np.abs(leading).max())


def test_a_gradient_of_positive_trace_damps():
    """S is large and positive far beyond the optimum: there the step is shorter than without C."""
    heavy, Y, rng = problem(C=50.0 * np.eye(N))
    light, _, _ = problem(C=-50.0 * np.eye(N))
    G = rng.standard_normal((N, R))
    sizes = [np.linalg.norm(p.at(1e-2 * Y).preconditioner()(G)) for p in (heavy, light)]
    assert sizes[0] < 0.5 * sizes[1]


def test_it_saves_most_steps_where_a_is_badly_conditioned():
    from psdopt import ConjugateGradient, solve

    p = QuadraticSDP(np.diag(10.0 ** np.linspace(0, 3, N)), 1e-2, with_spectrum(np.linspace(-2.0, 1.0, N), 1))
    steps = {
        kind: solve(p, FlatQuotient(N, N), ConjugateGradient(preconditioner=kind), rng=0, tol=1e-7).iterations
        for kind in ("problem", "gram")
    }
    assert 2 * steps["problem"] <= steps["gram"]


@pytest.mark.parametrize("kind", ["A", "number", "no A"])
@pytest.mark.parametrize("ridge", [None, 0.6, "matrix"])
@pytest.mark.parametrize("push", [2.0, 0.0, -50.0])
def test_it_is_the_inverse_of_the_pencil_by_hand(kind, ridge, push):
    """A D (YᵀAY) + D (b YᵀY + eta I), b = tr B / n, eta = max(0, |A Y|² + b |Y|² + tr C) / n, where S Y = 0.

    C = K − A M A − ½ (B M + M B) with K Y = 0, so that S = 2 K and what S is within the span of Y adds nothing.
    """
    rng = np.random.default_rng(5)
    Y = rng.standard_normal((N, R))
    A = {"A": psd(rng, N, N) + 0.1 * np.eye(N), "number": 1.5 * np.eye(N), "no A": np.zeros((N, N))}[kind]
    B = psd(rng, N, N) if ridge == "matrix" else (ridge or 0.0) * np.eye(N)
    M, outside = Y @ Y.T, np.eye(N) - Y @ np.linalg.pinv(Y)
    C = push * outside - A @ M @ A - 0.5 * (B @ M + M @ B)
    given = {"A": A, "number": 1.5, "no A": None}[kind]
    problem = QuadraticSDP(given, B if ridge == "matrix" else ridge, 0.5 * (C + C.T))
    b = np.trace(B) / N
    eta = max(0.0, np.sum((A @ Y) ** 2) + b * np.sum(Y * Y) + np.trace(C)) / N
    D = rng.standard_normal((N, R))
    here = problem.at(Y)
    for solve, seen in ((here.preconditioner(), A), (here.diagonal_preconditioner(), np.diag(np.diag(A)))):
        if not (eta > 0.0 or b > 0.0 or kind != "no A"):
            continue
        own = max(0.0, np.sum((seen @ Y) ** 2) + b * np.sum(Y * Y) + np.trace(C)) / N
        G = seen @ D @ (Y.T @ A @ Y) + D @ (b * Y.T @ Y + own * np.eye(R))
        np.testing.assert_allclose(solve(G), D, rtol=0, atol=1e-6 * np.abs(D).max())


def test_without_c_the_mean_of_the_gradient_is_that_of_a_and_b():
    rng = np.random.default_rng(6)
    A, Y, D = psd(rng, N, N), 1e-6 * np.eye(N)[:, :R], rng.standard_normal((N, R))
    problem = QuadraticSDP(A, 0.5)
    found = problem.at(Y).preconditioner()(D)
    eta = (np.sum((A @ Y) ** 2) + 0.5 * np.sum(Y * Y)) / N
    assert np.linalg.norm(found) >= 0.1 * np.linalg.norm(D) / (eta + 0.5e-12 + 1e-12 * np.linalg.norm(A) ** 2)


@pytest.mark.parametrize("A", [None, 2.0])
def test_what_needs_no_decomposition(A):
    basis = QuadraticSDP(A, 0.5, n=N).curvature.basis
    assert basis.V is None
    np.testing.assert_array_equal(basis.a, [A or 0.0])
