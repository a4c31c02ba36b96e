"""Preconditioned gradients Z = P⁻¹G for methods on the factor."""

from __future__ import annotations

import math

import numpy as np

from psdopt.capability import Ability
from psdopt.linalg.arrays import Array, inner, is_finite
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation

PRECONDITIONERS = ("auto", "problem", "diagonal", "gram", "none")
#: Damping of the Gram preconditioner, relative to the mean eigenvalue of YᵀY.
GRAM_DAMPING = 1e-3


def preconditioned(kind: str, evaluation: Evaluation, G: Array) -> Array:
    """P⁻¹ G for `kind` "problem" (the problem's own P), "gram" (P = YᵀY + eta I), "none", or "auto".

    "auto" is "problem" where the problem has one, else "gram"; "diagonal" likewise, in the form without set-up.
    """
    if not math.isfinite(inner(G, G)) and not is_finite(G):
        return G  # for the driver to see and name; decompositions of NaN would only raise first
    if kind == "auto":
        kind = "problem" if Ability.PRECONDITIONER in evaluation.problem.abilities else "gram"
    if kind == "diagonal":
        own = Ability.PRECONDITIONER in evaluation.problem.abilities
        return evaluation.diagonal_preconditioner()(G) if own else gram_scaled(evaluation.factor, G)
    if kind == "problem":
        return evaluation.preconditioner()(G)
    if kind == "gram":
        return gram_scaled(evaluation.factor, G)
    return G


def gram_scaled(Y: Array, G: Array, damping: float = GRAM_DAMPING) -> Array:
    """G (YᵀY + eta I)⁻¹, eta = `damping` × the mean eigenvalue of YᵀY: a metric that forgives an ill-conditioned Y.

    The damping keeps it bounded when Y is over-parametrised (rank-deficient). O(n r² + r³). Tong, Ma,
    Chi (2021); damping after Zhang, Fattahi, Zhang (2022).
    """
    r = Y.shape[1]
    gram = Y.T @ Y
    eta = damping * float(np.trace(gram)) / r
    if eta <= 0.0:
        return G
    gram[np.diag_indices(r)] += max(eta, EPS * eta)
    return np.asarray(np.linalg.solve(gram, G.T).T)
