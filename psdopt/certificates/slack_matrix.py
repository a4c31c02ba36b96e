"""S = ∇F(M) + A*(y) as an array, for the certificate that was made of M and y."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.constrained.slack import slack_operator
from psdopt.constraints.explicit import linear_objective
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Problem
from psdopt.contracts.roles import Duality
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import FACTOR_ORDER


def slack_matrix(problem: Problem, Y: Array, dual: Any = None) -> Any:
    """∇F(Y Yᵀ) (n, n): a sparse array for a linear F, a dense one else; beyond order 3000 an operator on blocks.

    `dual` : the weights of a subgradient where F is nonsmooth. Cost: one evaluation, and n products with ∇F where its
    entries are not at hand.
    """
    linear = linear_objective(problem)
    if linear is not None:
        return linear[0]
    evaluation = problem.at(Y)
    if type(problem.duality).subgradient is Duality.subgradient:
        return dense_gradient(evaluation) if problem.n <= FACTOR_ORDER else evaluation.gradient
    S = problem.duality.subgradient(evaluation, dual)[0]
    return np.asarray(S @ np.eye(problem.n)) if problem.n <= FACTOR_ORDER else S


def constrained_slack_matrix(problem: ConstrainedModel, Y: Array, y: Array) -> Any:
    """∇F(Y Yᵀ) + A*(y) (n, n) for multipliers y (m,), as :func:`slack_matrix`."""
    S = slack_operator(problem, problem.at(Y), y) if problem.conic is None else problem.conic.slack(y)
    formed = isinstance(S, (np.ndarray, sp.sparray)) or problem.n > FACTOR_ORDER
    return S if formed else np.asarray(on_host(S @ np.eye(problem.n)))
