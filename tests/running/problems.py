"""Problems of the tests of runs, with a planted optimum and a kernel-target alignment, and a method that waits."""

import math
from dataclasses import dataclass, replace

import numpy as np

from psdopt import Method, QuadraticSDP, State
from psdopt.linalg.arrays import norm
from psdopt.linalg.operators import LinearMap
from psdopt.terms.forms import GramForm, IdentityForm
from tests.instances import psd


def planted(rng, n=12, rank=3):
    """(problem, F*): C makes a random M* of the given rank satisfy the optimality conditions (formulas.md, 1)."""
    A, B = psd(rng, n, condition=10.0), psd(rng, n, condition=10.0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (Q[:, :rank] * np.linspace(2.0, 1.0, rank)) @ Q[:, :rank].T
    S = (Q[:, rank:] * np.linspace(0.5, 1.5, n - rank)) @ Q[:, rank:].T
    C = 0.5 * (S - 2 * A @ M @ A - B @ M - M @ B)
    C = 0.5 * (C + C.T)
    q = np.sum((A @ M) * (A @ M).T) + np.sum(B * (M @ M))
    return QuadraticSDP(A, B, C), -q


def kta(rng, m=60, d=8, lam=0.1):
    X = rng.standard_normal((m, d)) @ np.diag(np.logspace(0, -1, d))
    labels = np.eye(3)[rng.integers(0, 3, m)]
    shared = LinearMap(X, "X")
    A, C = GramForm(shared, math.sqrt(lam)), [GramForm(shared, -lam, labels), IdentityForm(d, -1.0)]
    return QuadraticSDP(A, 1.0, C)


@dataclass(frozen=True)
class Waiting(Method):
    """Stays where it starts."""

    def init(self, problem, geometry, start, evaluation=None):
        evaluation = problem.at(start)
        return State(problem, geometry, start, evaluation, gradient_norm=norm(evaluation.factor_gradient()))

    def step(self, state):
        return replace(state)
