"""The dual of min (rho/2) |M|² + ⟨C, M⟩ over M ⪰ 0 with A(M) = b: value, Newton's direction, search, solution.

It is min |Π(−C − A*(y))|²/(2 rho) + bᵀy, Π the projection to the cone; M = Π(−C − A*(y))/rho (Qi, Sun 2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from psdopt.constraints.explicit import Nearest
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.problem import Constrained
from psdopt.contracts.images import Images
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.subset import spectrum
from psdopt.linalg.tolerances import MINOR, SLIGHT, rounding
from psdopt.methods.searches.step_lengths import SUFFICIENT


class Model(NamedTuple):
    """(rho/2) |M|² + ⟨C, M⟩."""

    rho: float
    C: Array


#: A problem, an objective (rho/2) |M|² + ⟨C, M⟩ and the equations of the problem.
Parts = tuple[Constrained, Nearest | Model, SparseForms]
#: Eigenvalues and vectors of −(C + A*(y)), and the dual function, to be minimised.
Known = tuple[Array, Array, float]


def decomposed(parts: Parts, y: Array) -> Known:
    """Eigenvalues and vectors of −(C + A*(y)), and the dual function."""
    problem, nearest, forms = parts
    G = -nearest.C
    forms.add_to(G, -y)
    values, V = spectrum(G)
    positive = np.maximum(values, 0.0)
    return values, V, float(positive @ positive) / (2.0 * nearest.rho) + float(y @ problem.lower)


def searched(parts: Parts, y: Array, d: Array, theta: float, slope: float) -> tuple[float, Array, Known] | None:
    """t, y + t d and :func:`decomposed` there, for the first t = 1, ½, ... that lowers the dual function enough.

    `theta` : its value at y; `slope` : its derivative along d. None where no t does.
    """
    t = 1.0
    while t > NEGLIGIBLE and slope < 0.0:
        there = y + t * d
        known = decomposed(parts, there)
        if known[2] <= theta + SUFFICIENT * t * slope + rounding(theta, 1):
            return t, there, known
        t *= 0.5
    return None


def newton_direction(parts: Parts, values: Array, V: Array, residual: Array, most: int) -> Array:
    """An approximate d with (H + damping) d = residual, H the generalised Hessian in units of |A_t|.

    `values`, `V` : as :func:`decomposed` gives them at y; `most` : products with H.
    """
    problem, nearest, forms = parts
    scale, rho, k = problem.scale, nearest.rho, int(np.count_nonzero(values <= 0.0))
    share = values[k:, None] / (values[k:, None] - values[:k])
    many = 2 * k < len(values)  # then I − (the derivative of the projection at −S) has fewer columns
    Q = V[:, :k] if many else V[:, k:]
    weights = np.full(Q.shape, 0.5)
    if many:
        weights[k:] -= share - 0.5
    else:
        weights[:k] = share.T
    rows = Images((), Q)
    # the diagonal of H, of each place of A_t by itself, is a sum of squares of entries of the eigenvectors
    diagonal = forms.pair_squares(V**2 @ weights, Q**2)
    diagonal = (problem.norms**2 - diagonal if many else diagonal) * scale**2 / rho

    relative = norm(residual) / (norm(scale * problem.lower) or norm(residual))
    # without damping, few positive eigenvalues make the system singular
    damping = MINOR * min(1.0, relative) / rho

    def times(x: Array) -> Array:
        deadline.ask()
        w = scale * x
        half = V @ (weights * (V.T @ forms.times(w, Q)))
        image = 2.0 * forms.pair(Images((), half), rows)
        return np.asarray(scale * (forms.gram(w) - image if many else image) / rho + damping * x)

    scaling = np.maximum(diagonal, 0.0) + damping
    order = len(residual), len(residual)
    H = LinearOperator(order, matvec=times, dtype=np.float64)
    P = LinearOperator(order, matvec=lambda r: r / scaling, dtype=np.float64)
    # an inexact Newton step (Dembo et al. 1982)
    x, _ = cg(H, residual, rtol=min(SLIGHT, relative), maxiter=most, M=P)
    return x if np.any(x) and np.isfinite(x).all() else residual


def solution(parts: Parts, y: Array, before: Array, products: int) -> tuple[Array, Array, Array]:
    """(y, Y, residual), Y (n, r) the factor of M and `residual` A(M) − b in units of |A_t|, by Newton steps from y.

    Until |residual| is minor beside |M − before|, at most MOST_STEPS.
    """
    problem, model, _ = parts
    known = decomposed(parts, y)
    for step in range(MOST_STEPS + 1):
        values, V, theta = known
        k = int(np.count_nonzero(values <= 0.0))
        Y = V[:, k:] * np.sqrt(values[k:] / model.rho) if k < len(values) else np.zeros((problem.n, 1))
        residual = problem.scale * (problem.measured(Y) - problem.lower)
        if step == MOST_STEPS or norm(residual) <= MINOR * norm(Y @ Y.T - before):
            break
        d = newton_direction(parts, values, V, residual, products)
        found = searched(parts, y, problem.scale * d, theta, -inner(residual, d))
        if found is None:
            break
        _, y, known = found
    return y, Y, residual
