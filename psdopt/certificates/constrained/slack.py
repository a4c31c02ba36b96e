"""λ_min(S) of S = ∇F(M) + A*(y), with a lower bound: by factorisation where S has entries, else by Lanczos's method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs

from psdopt.constraints.limits import SPARSE
from psdopt.constraints.model import ConstrainedModel
from psdopt.constraints.stacks import stacked
from psdopt.contracts.gradient import GradientOperator, dense_gradient
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Evaluation
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array, as_dense, beside, norm
from psdopt.linalg.banded import banded_pair_above, narrow_order
from psdopt.linalg.definite import factor_above, pair_above
from psdopt.linalg.extreme import DENSE_LIMIT, ExtremePair, smallest_eigenpair
from psdopt.linalg.limits import FACTOR_ORDER, ITERATED_ORDER, ROUNDS, SMALL_ORDER, SPECTRUM_ORDER
from psdopt.linalg.tolerances import SLIGHT, rounding
from psdopt.problems.term_sum import TermSum
from psdopt.terms.base import combine
from psdopt.terms.log_det import LogDet

#: Where no factor proves the bound that is asked for, one so many times lower is tried.
COARSER = 8.0


def slack_operator(problem: ConstrainedModel, evaluation: Evaluation, y: Array) -> Any:
    """S = ∇F(M) + A*(y): a sparse array where entries are at hand and F is linear, or linear but for log dets of few
    rows; a dense one where such a linear F is one block of order up to 300, up to order 3000 where F is curved, up to
    order 500 for data on a device; else an operator on blocks, on the device of the data.

    Raises FloatingPointError at an M where a log det is not defined.
    """
    conic = problem.conic
    if conic is not None:
        return conic.slack(y) if conic.n > ITERATED_ORDER or len(conic.blocks) > 1 else conic.dense_slack(y)
    if problem.central is not None and isinstance(problem.problem, TermSum):
        barriers = [term for term in problem.problem.terms if isinstance(term, LogDet)]
        if SPARSE * sum(term.order**2 for term in barriers) <= problem.n**2:
            return _with_log_dets(problem.central.slack(y), barriers, evaluation)
    if problem.forms is not None and problem.n <= (FACTOR_ORDER if problem.device is None else DENSE_LIMIT):
        dense = dense_gradient(evaluation)
        problem.forms.add_to(dense, y)
        return dense
    S, measurement, there = evaluation.gradient, problem.measurement, beside(y, evaluation.factor)

    def times(V: Array) -> Array:
        V = beside(V, evaluation.factor)
        forces = measurement.adjoint(there, Images(measurement.maps, V))
        return as_array(S @ V + combine(forces, V.shape))

    return _operator(problem, times)


def _operator(problem: ConstrainedModel, times: Callable[[Array], Array]) -> GradientOperator:
    """Symmetric (n, n) with the products `times`, V (n, k) ↦ S V."""
    return GradientOperator(problem.n, times, lambda V: None, device=problem.device)


def _with_log_dets(S: sp.csr_array, barriers: Sequence[LogDet], evaluation: Evaluation) -> sp.csr_array:
    """S plus the gradients of these terms at M; entries that are zero are left out, so that blocks stay apart."""
    for term in barriers:
        G = term.gradient_block(term.features(Images((), evaluation.factor)))
        if not np.all(np.isfinite(G)):
            raise FloatingPointError("∇F(M) is not finite: the block of a log det is singular")
        places = np.repeat(term.rows, term.order), np.tile(term.rows, term.order)
        S = sp.csr_array(S + sp.csr_array((G.ravel(), places), shape=S.shape))
    S.eliminate_zeros()
    return S


def adjoint_operator(problem: ConstrainedModel, y: Array) -> Any:
    """A*(y): a sparse array where entries are at hand, else an operator."""
    if problem.forms is not None:
        return problem.forms.matrix(y)
    zero = problem.problem.at(np.zeros((problem.n, 1)))
    plus, without = slack_operator(problem, zero, y), zero.gradient

    def times(V: Array) -> Array:
        return as_array(plus @ V - without @ V)

    return _operator(problem, times)


def slack_eigenpair(
    S: Any,
    accuracy: float,
    start: Array | None = None,
    seed: int = 0,
    blocks: Sequence[NDArray[np.intp]] = (),
    thorough: bool = True,
    sharp: bool = True,
) -> ExtremePair:
    """The smallest eigenpair of S. `accuracy` : any lower bound on λ_min(S) above −accuracy is sharp enough. Unless
    `thorough`, a vector that proves λ_min(S) < −accuracy is enough too, with a bound at most half as far again below.
    Unless `sharp`, one Cholesky factor that proves λ_min(S) >= −accuracy is enough.

    With `blocks`, rows of the diagonal blocks of a sparse S, blocks are treated one by one, each with its own rounding.
    Cost: s³/3 flops for each of two Cholesky factors, or one, of a block of order s <= 3000, s b² where its rows can be
    ordered to a narrow band of width b. Where they fail, twice more for lower bounds; then the spectrum of a block of
    order s <= 1500, and products with S of a larger one.
    """
    if len(blocks) <= 1 or not isinstance(S, sp.csr_array):
        return _eigenpair(S, accuracy, start, seed, thorough, sharp)
    n, small = S.shape[0], [rows for rows in blocks if len(rows) <= SMALL_ORDER]
    found = list(_of_small(S, small))
    for rows in blocks:
        if len(rows) > SMALL_ORDER:
            guess = None if start is None or not np.any(start[rows]) else start[rows]
            block = sp.csr_array(S[rows][:, rows])
            found.append((rows, _eigenpair(block, accuracy, guess, seed, thorough, sharp)))
    rows, least = min(found, key=lambda each: each[1].lower_bound)
    vector = np.zeros((n, 1))
    vector[rows] = least.vectors[:, :1]
    chance = max(pair.failure_probability for _, pair in found)
    products = sum(pair.products for _, pair in found)
    return replace(least, vectors=vector, values=least.values[:1], failure_probability=chance, products=products)


def _of_small(S: sp.csr_array, blocks: list[NDArray[np.intp]]) -> Iterator[tuple[NDArray[np.intp], ExtremePair]]:
    """Of the small blocks of each order the rows of the one with the least bound on its eigenvalues, and its pair."""
    i, j = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr)), S.indices
    upper = (i <= j) & (S.data != 0.0)  # zeros may lie between blocks
    for stack in stacked(blocks, S.shape[0], i[upper], j[upper]):
        matrices = stack.dense(S.data[upper])
        deadline.ask()
        values, V = np.linalg.eigh(matrices)
        if not np.isfinite(values).all():
            raise FloatingPointError("S is not finite")
        sizes, least = np.abs(values).max(axis=1), V[:, :, :1]
        residuals = np.sqrt(np.sum((matrices @ least - values[:, :1, None] * least) ** 2, axis=(1, 2)))
        bounds = values[:, 0] - residuals - rounding(1.0, stack.order, 4.0) * sizes
        k = int(np.argmin(bounds))
        count, pair = stack.rows.size, (values[k, :1], least[k], float(residuals[k]), float(bounds[k]), 0.0)
        yield stack.rows[k], ExtremePair(*pair, float(sizes[k]), count, "dense", True)


def pair_by_factor(S: Array, rest: Array, Y: Array) -> ExtremePair:
    """λ_min(S) >= −|rest| for a dense S with S − `rest` ⪰ 0, less rounding; its vector is the longest column of Y.

    That vector is near the null space of S if M = Y Yᵀ is near a solution. O(n²).
    """
    lengths = np.linalg.norm(Y, axis=0)
    k = int(np.argmax(lengths))
    v = Y[:, k] / lengths[k] if lengths[k] > 0.0 else np.eye(len(S), 1)[:, 0]
    Sv, size = S @ v, norm(S)
    value = float(v @ Sv)
    low = min(-norm(rest) - rounding(size, len(S)), value)
    return ExtremePair(np.array([value]), v[:, None], norm(Sv - value * v), low, 0.0, size, 1, "dense", True)


def _eigenpair(S: Any, accuracy: float, start: Array | None, seed: int, thorough: bool, sharp: bool) -> ExtremePair:
    n = S.shape[0]
    if not sharp and SMALL_ORDER < n <= FACTOR_ORDER and isinstance(S, (np.ndarray, sp.csr_array)):
        whole = n <= ITERATED_ORDER or isinstance(S, np.ndarray) or narrow_order(S) is None
        proven = _pair_by_one_factor(as_dense(S), accuracy) if whole else None
        if proven is not None:
            return proven
    if isinstance(S, sp.csr_array) and n > ITERATED_ORDER:
        for k in range(ROUNDS if accuracy > 0.0 else 1):
            proven = _factored_pair(S, accuracy * COARSER**k, start)
            if proven is not None:
                return proven
    elif n <= (DENSE_LIMIT if isinstance(S, GradientOperator) and S.device is not None else FACTOR_ORDER):
        matrix = S.toarray() if isinstance(S, sp.csr_array) else S
        return smallest_eigenpair(matrix, threshold=-accuracy, start=start, seed=seed, backend="dense")
    if n <= SPECTRUM_ORDER and isinstance(S, sp.csr_array):
        # if S has one huge eigenvalue, its spectrum loses less to rounding than a factor of S
        return smallest_eigenpair(S.toarray(), seed=seed, backend="dense")
    tol, refutes = 0.25 * accuracy, not thorough
    return smallest_eigenpair(
        S, threshold=-accuracy, refutes=refutes, tol=tol, start=start, seed=seed, backend="lanczos"
    )


def _pair_by_one_factor(S: Array, accuracy: float) -> ExtremePair | None:
    """λ_min(S) >= −accuracy by one Cholesky factor, n³/3, with the vector of a step of inverse iteration; else None."""
    found, n = factor_above(S, (SLIGHT - 1.0) * accuracy), len(S)
    size = float(np.abs(S).sum(axis=0).max())
    if found is None or not (low := found[1] - rounding(size, n)) >= -accuracy:
        return None
    v = np.asarray(dpotrs(found[0], np.cos(np.arange(1.0, n + 1.0) ** 2), lower=0)[0])
    v /= norm(v)
    Sv = S @ v
    value = float(v @ Sv)
    return ExtremePair(np.array([value]), v[:, None], norm(Sv - value * v), low, 0.0, size, 1, "dense", True)


def _factored_pair(S: sp.csr_array, accuracy: float, start: Array | None) -> ExtremePair | None:
    """The eigenpair by Cholesky factors; None if none proves λ_min(S) >= −accuracy.

    Banded where rows can be ordered to a narrow band, else dense up to order 3000.
    """
    narrow, guess = narrow_order(S), None if start is None else start.reshape(-1)
    size = float(abs(S).sum(axis=0).max())
    lost = rounding(size, S.shape[0])
    if narrow is not None:
        proven = banded_pair_above(S, *narrow, lost - accuracy, guess)
    else:
        proven = pair_above(S.toarray(), lost - accuracy, guess) if S.shape[0] <= FACTOR_ORDER else None
    if proven is None or not proven.lower_bound - lost >= -accuracy:
        return None
    bound, kind = proven.lower_bound - lost, "dense" if narrow is None else "banded"
    vector = proven.vector[:, None]
    return ExtremePair(np.array([proven.value]), vector, proven.residual, bound, 0.0, size, proven.steps, kind, True)
