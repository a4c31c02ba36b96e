"""λ_min(S) of S = ∇F(M) + A*(y), with a lower bound: by factorisation where S has entries, else by Lanczos's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from psdopt.constraints.model import ConstrainedModel
from psdopt.images import Images
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import ExtremePair, smallest_eigenpair
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation
from psdopt.terms.base import combine

#: Up to this order a proof by a dense Cholesky factor costs less than Lanczos's method takes to find a cluster's end.
DENSE_ORDER = 3000
#: Up to this order the spectrum is computed where factors leave the question open.
SPECTRUM = 1500


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


def adjoint_operator(problem: ConstrainedModel, y: Array) -> Any:
    """A*(y): a sparse array where entries are at hand, else an operator."""
    if problem.forms is not None:
        return problem.forms.matrix(y)
    zero = problem.problem.at(np.zeros((problem.n, 1)))
    plus, without = slack_operator(problem, zero, y), zero.gradient

    def times(V: Array) -> Array:
        V = np.asarray(V, dtype=np.float64).reshape(problem.n, -1)
        return np.asarray(plus @ V - without @ V)

    return LinearOperator(
        (problem.n, problem.n), matvec=lambda v: times(v).reshape(-1), matmat=times, dtype=np.float64
    )  # fmt: skip


def slack_eigenpair(
    S: Any, accuracy: float, start: Array | None = None, seed: int = 0, blocks: Sequence[NDArray[np.intp]] = ()
) -> ExtremePair:
    """The smallest eigenpair of S; `accuracy` is how far below zero a bound may lie and still be sharp enough.

    With `blocks`, rows of the diagonal blocks of a sparse S, block by block: rounding is then that of each block alone.
    Cost: s³/3 flops for each of two or three Cholesky factors of a block of order s <= 3000, else products with S.
    """
    if len(blocks) <= 1 or not isinstance(S, sp.csr_array):
        return _eigenpair(S, accuracy, start, seed)
    n = S.shape[0]
    singles = np.array([rows[0] for rows in blocks if len(rows) == 1], dtype=np.intp)
    found: list[tuple[NDArray[np.intp], ExtremePair]] = []
    if len(singles):
        diagonal = S.diagonal()[singles]
        k = int(np.argmin(diagonal))
        value = float(diagonal[k])
        rounding = 4.0 * EPS * abs(value)
        pair = ExtremePair(np.array([value]), np.ones((1, 1)), 0.0, value - rounding, 0.0, rounding, 0, "dense", True)
        found.append((singles[k : k + 1], pair))
    for rows in blocks:
        if len(rows) > 1:
            guess = None if start is None or not np.any(start[rows]) else start[rows]
            found.append((rows, _eigenpair(sp.csr_array(S[rows][:, rows]), accuracy, guess, seed)))
    rows, least = min(found, key=lambda each: each[1].lower_bound)
    vector = np.zeros((n, 1))
    vector[rows] = least.vectors[:, :1]
    chance = max(pair.failure_probability for _, pair in found)
    products = sum(pair.products for _, pair in found)
    return replace(least, vectors=vector, values=least.values[:1], failure_probability=chance, products=products)


def _eigenpair(S: Any, accuracy: float, start: Array | None, seed: int) -> ExtremePair:
    if S.shape[0] <= DENSE_ORDER:
        matrix = S.toarray() if isinstance(S, sp.csr_array) else S
        pair = smallest_eigenpair(matrix, threshold=-accuracy, start=start, seed=seed, backend="dense")
        if pair.lower_bound >= -accuracy or S.shape[0] > SPECTRUM:
            return pair
        # of a matrix with one huge eigenvalue a spectrum loses less to rounding than a factor
        spectrum = smallest_eigenpair(matrix, seed=seed, backend="dense")
        return spectrum if spectrum.lower_bound > pair.lower_bound else pair
    return smallest_eigenpair(S, threshold=-accuracy, tol=0.25 * accuracy, start=start, seed=seed)
