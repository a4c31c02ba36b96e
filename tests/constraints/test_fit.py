"""Constraints in multiplier form against dense algebra: gradient, pairs, forces, curvature, the system of order m."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints


def random_problem(curved: bool, seed: int = 0) -> Constrained:
    rng = np.random.default_rng(seed)
    n = 6
    forms = []
    for scale in (1.0, 30.0, 0.02, 5.0):
        G = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)
        forms.append(scale * (G + G.T + np.eye(n)))
    G = rng.standard_normal((n, n))
    F = QuadraticSDP(A=G @ G.T / n, B=0.4, C=G + G.T) if curved else QuadraticSDP(C=G + G.T)
    return Constrained(
        F, constraints.sparse_forms(forms, lower=[0.0, 1.0, -np.inf, 2.0], upper=[0.0, 1.0, 3.0, np.inf])
    )


@pytest.mark.parametrize("curved", [False, True])
def test_the_members_are_what_they_say(curved) -> None:
    rng = np.random.default_rng(1)
    problem = random_problem(curved)
    fit = problem.constrained_fit()
    forms = [problem.forms.matrix(e).toarray() for e in np.eye(4)]
    Y, V, y = rng.standard_normal((6, 3)), rng.standard_normal((6, 3)), rng.standard_normal(4)
    here = problem.at(Y)
    rows = np.array([0, 2, 3])
    tied = fit.tied(here, rows)
    S = here.gradient @ np.eye(6) + sum(c * A for c, A in zip(y, forms, strict=True))
    assert np.allclose(tied.gradient(y), S)
    U, W = tied.block(Y), tied.block(V)
    assert np.allclose(tied.pair(U, W), [np.sum((A @ Y) * V) for A in np.array(forms)[rows]])
    assert np.allclose(tied.force(y[rows], U), sum(y[t] * forms[t] for t in rows) @ Y)
    assert np.all(np.isinf(tied.curvatures))
    assert len(tied.curvatures) == 3
    G, H = rng.standard_normal((2, 6, 6))
    P, Q = G @ G.T, H @ H.T
    K = np.array([[np.trace(forms[s] @ P @ forms[t] @ Q) for t in rows] for s in rows])
    x = rng.standard_normal(3)
    assert np.allclose(tied.solver(P, Q, np.empty((3, 3)))(K @ x), x, rtol=1e-8)
    assert len(fit.tied(here, rows[:0]).solver(P, Q, np.empty((0, 0)))(np.zeros(0))) == 0


def test_curvature_is_the_derivative_of_the_gradient() -> None:
    rng = np.random.default_rng(2)
    problem = random_problem(True)
    fit, Y, X, h = problem.constrained_fit(), *rng.standard_normal((2, 6, 3)), 1e-6
    plus, minus = (problem.at(Y + s * h * X).gradient @ Y for s in (1.0, -1.0))
    assert np.allclose(fit.bend(problem.at(Y), X), (plus - minus) / (2.0 * h), atol=1e-6)
    straight = random_problem(False)
    assert straight.constrained_fit().bend(straight.at(Y), X) is None


def test_rows_that_are_tied_change_with_the_call() -> None:
    problem = random_problem(False)
    fit = problem.constrained_fit()
    first = fit.coupled(np.array([0, 1]))
    assert fit.coupled(np.array([0, 1])) is first
    assert fit.coupled(np.array([0, 3])) is not first
