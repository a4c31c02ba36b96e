"""The preconditioner of the augmented Lagrangian inverts what it says, by rows and with coupled constraints."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.augmented import augmented
from psdopt.constraints.preconditioner import LEAST

N, R = 6, 2


def problem(kind: str) -> Constrained:
    G = np.random.default_rng(3).standard_normal((N, N))
    pairs = constraints.entries([0, 1], [1, 2], N, 0.5)
    coupled = [constraints.trace(N, 2.0), pairs, constraints.entries([3], [4], N, upper=9.0)]
    group = constraints.diagonal(N, 1.0) if kind == "rows" else coupled
    return Constrained(QuadraticSDP(C=0.5 * (G + G.T)), group)


@pytest.mark.parametrize("kind", ["rows", "coupled"])
def test_it_inverts_curvature_of_rows_and_gauss_newton(kind) -> None:
    constrained, rng = problem(kind), np.random.default_rng(4)
    m, Y = constrained.m, rng.standard_normal((N, R))
    w = rng.uniform(1.0, 50.0, m)
    evaluation = augmented(constrained, rng.standard_normal(m), w).at(Y)
    inverse = evaluation.preconditioner()
    P = np.linalg.inv(np.column_stack([inverse(e.reshape(N, R)).ravel() for e in np.eye(N * R)]))
    assert np.allclose(P, P.T, atol=1e-8 * np.abs(P).max())
    assert np.linalg.eigvalsh(P)[0] > 0.0
    term = evaluation.problem.terms[-1]
    y, second = term.loss.derivatives(evaluation.feature(len(evaluation.problem.terms) - 1))
    s = constrained.conic.slack(y).diagonal()
    s = 2.0 * np.maximum(s, LEAST * np.mean(np.abs(s)))
    forms = [constrained.forms.matrix(e).toarray() for e in np.eye(m)]
    J = np.array([2.0 * (A @ Y).ravel() for A in forms])
    expected = np.diag(np.repeat(s, R)) + J.T @ (second[:, None] * J)
    assert np.allclose(P, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
