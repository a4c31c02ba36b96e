"""Problem check: F restricted to the matrices with range in a span."""

from __future__ import annotations

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import norm
from psdopt.testing.checks.common import compare, point_of, value_unit, worst
from psdopt.testing.record import Deviation
from psdopt.testing.regimes import Case
from psdopt.testing.registry import check


@check("problem", "0.1", needs={Ability.RESTRICTION})
def restriction(problem: Problem, case: Case) -> Deviation:
    """restricted(T) is N ↦ F(W N Wᵀ), W = Y T orthonormal: value, and gradient WᵀSW, at a generic N."""
    size = norm(point_of(problem, case).factor)
    k = min(problem.n, 3)
    Y = case.rng.standard_normal((problem.n, k))
    W, R = np.linalg.qr(Y)
    small = problem.at(Y).restricted(np.linalg.inv(R))
    N = case.rng.standard_normal((k, k))
    N *= size / norm(N)
    inside, outside = small.at(N), problem.at(W @ N)
    G = outside.factor_gradient()
    condition = float(np.linalg.cond(R))
    unit = condition * (value_unit(problem, outside) + abs(problem.value_at_zero()))
    scale = condition * (norm(G) + unit / size)
    return worst(
        [
            compare("value of the restriction", inside.value, outside.value, unit, problem.n),
            compare("gradient of the restriction", inside.factor_gradient(), W.T @ G, scale, problem.n),
        ]
    )
