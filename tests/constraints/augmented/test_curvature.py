"""The short way to products with the curvature is what the terms give one by one."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.augmented.curvature import RowCurvature
from psdopt.constraints.augmented.problem import augmented
from psdopt.problems import TermSum

N, R = 7, 3


def on_rows() -> list:
    """Equations, an interval that is met, one that is not, and a bound on an entry that has an equation too."""
    return [
        constraints.diagonal(N, 1.0),
        constraints.entries([0, 3], [0, 3], N, lower=[-1e3, 2e3], upper=[1e3, 3e3]),
        constraints.entries([2], [2], N, upper=0.1),
    ]


def test_products_are_those_of_the_terms() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((N, N))
    problem = Constrained(QuadraticSDP(C=G + G.T), on_rows())
    total = augmented(problem, rng.standard_normal(problem.m), rng.uniform(1.0, 9.0, problem.m))
    assert isinstance(total, TermSum)
    assert total._curvature is not None
    plain = TermSum(total.terms, total.constant)
    Y, D = rng.standard_normal((2, N, R))
    short, long = total.at(Y), plain.at(Y)
    for _ in range(2):  # the second product uses what the first has formed
        assert np.allclose(short.hessian_vector(D), long.hessian_vector(D), rtol=1e-13, atol=1e-10)
        D = D[::-1].copy()
    t = 1e-6
    change = (total.at(Y + t * D).factor_gradient() - total.at(Y - t * D).factor_gradient()) / (2.0 * t)
    assert np.allclose(short.hessian_vector(D), change, rtol=1e-5, atol=1e-5 * np.abs(change).max())


@pytest.mark.parametrize("problem", [
    Constrained(QuadraticSDP(A=np.eye(N)), constraints.diagonal(N, 1.0)),
    Constrained(QuadraticSDP(C=np.eye(N)), constraints.trace(N, 1.0)),
    Constrained(QuadraticSDP(C=np.eye(N)), constraints.entries([0], [1], N, 1.0)),
])  # fmt: skip
def test_none_for_a_curved_objective_and_for_other_constraints(problem) -> None:
    total = augmented(problem, np.zeros(problem.m), np.ones(problem.m))
    assert RowCurvature.of(problem.conic, total.terms[-1]) is None
    assert total._curvature is None
