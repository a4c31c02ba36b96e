"""λ_min(S) of S = ∇F(M) + A*(y), with a lower bound: by factorisation where S has entries, else by Lanczos's method."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from psdopt.constraints.model import ConstrainedModel
from psdopt.images import Images
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import ExtremePair, smallest_eigenpair
from psdopt.problem import Evaluation
from psdopt.terms.base import combine

#: Up to this order a proof by a dense Cholesky factor costs less than Lanczos's method takes to find a cluster's end.
DENSE_ORDER = 3000


def slack_operator(problem: ConstrainedModel, evaluation: Evaluation, y: Array) -> Any:
    """S = ∇F(M) + A*(y): a sparse array where F is linear and entries are at hand, else an operator on blocks."""
    if problem.conic is not None:
        return problem.conic.slack(y)
    S, measurement = evaluation.gradient, problem.measurement

    def times(V: Array) -> Array:
        V = np.asarray(V, dtype=np.float64).reshape(problem.n, -1)
        forces = measurement.adjoint(y, Images(measurement.maps, V))
        return np.asarray(S @ V + combine(forces, V.shape))

    return LinearOperator(
        (problem.n, problem.n), matvec=lambda v: times(v).reshape(-1), matmat=times, dtype=np.float64
    )  # fmt: skip


def slack_eigenpair(
    S: Any, accuracy: float, start: Array | None = None, seed: int = 0
) -> ExtremePair:  # fmt: skip
    """The smallest eigenpair of S; `accuracy` is how far below zero a bound may lie and still be sharp enough.

    Cost: n³/3 flops for each of two or three Cholesky factors up to order 3000, else products with S.
    """
    n = S.shape[0]
    if n <= DENSE_ORDER:
        matrix = S.toarray() if isinstance(S, sp.csr_array) else S
        return smallest_eigenpair(matrix, threshold=-accuracy, tol=accuracy, start=start, seed=seed, backend="dense")
    return smallest_eigenpair(S, threshold=-accuracy, tol=0.25 * accuracy, start=start, seed=seed)
