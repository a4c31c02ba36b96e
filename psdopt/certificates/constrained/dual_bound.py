"""The lower bound on min F that one vector of multipliers proves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from psdopt.certificates.constrained.cancellation import most_support, without_cancellation
from psdopt.certificates.constrained.definite_slack import proven_semidefinite
from psdopt.certificates.constrained.log_det_bound import log_det_bound
from psdopt.certificates.constrained.slack import pair_by_factor, slack_eigenpair, slack_operator
from psdopt.certificates.curved_bound import curved_gap, gap_by_factor, norm_of_any_size
from psdopt.constraints.conic import diagonal_blocks
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.curvature import Curvature
from psdopt.contracts.problem import Evaluation
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.extreme import DENSE_LIMIT, ExtremePair
from psdopt.linalg.tolerances import rounding


@dataclass(frozen=True)
class Bounded:
    """S = ∇F(M) + A*(y), its smallest eigenpair, `base` F(M) − ⟨∇F(M), M⟩ − σ(y), and the `bound` that they prove.

    The bound is base + min(0, λ_min(S)) τ, without the minimum where the trace is fixed. For an F of known curvature
    (:mod:`psdopt.certificates.curved_bound`) it is also base + ⟨S, M⟩ less the gap of F + ⟨A*(y), ·⟩ on the cone; on a
    face, and beyond order 500, base + λ tr M − n λ²/(2 rho), λ = min(0, λ_min(S)), rho the modulus of strong convexity.
    None if λ < 0 and neither τ nor a curvature is known. For a linear F with C ⪰ c I, c > 0, no τ is needed: θ y with
    θ = c/(c − λ) takes the place of y, as C + A*(θ y) = (1 − θ) C + θ S ⪰ 0. Of ⟨C, M⟩ less log dets of blocks, the
    multipliers alone prove another bound (:mod:`psdopt.certificates.constrained.log_det_bound`).

    On a face (:class:`~psdopt.constraints.faces.face.Face`) every feasible N is P N P, so that ⟨S, N⟩ = ⟨P S P, N⟩. P S
    P, or WᵀSW for N = W N' Wᵀ, then takes the place of S. The constraints that define the face drop out of it, and
    their entries of y are zero.
    """

    y: Array
    S: Any
    pair: ExtremePair
    base: float
    bound: float | None

    def rank(self) -> tuple[float, float]:
        """The key for comparisons: the bound; without a bound, how close S is to positive semidefinite."""
        return (-math.inf if self.bound is None else self.bound), self.pair.lower_bound


def _compressed(S: Any, W: sp.csr_array) -> Array:
    """WᵀSW (q, q), symmetric."""
    dense = np.asarray(S @ W.toarray())
    compressed = W.T @ dense
    return np.asarray(0.5 * (compressed + compressed.T))


def _terms(S: Any, W: sp.csr_array, compressed: float) -> float:
    """| |S| |W| |, whose rounding WᵀSW has; its own norm, `compressed`, where W is a choice of rows or S no array."""
    if W.nnz == W.shape[1] or isinstance(S, LinearOperator):
        return compressed
    return max(compressed, norm(np.asarray(abs(S) @ abs(W).toarray())))


def _expanded(inner: Array, W: sp.csr_array) -> LinearOperator:
    """W inner Wᵀ (n, n), which is P S P."""

    def times(V: Array) -> Array:
        return np.asarray(W @ (inner @ (W.T @ np.asarray(V).reshape(W.shape[0], -1))))

    shape = (W.shape[0], W.shape[0])
    return LinearOperator(shape, matvec=lambda v: times(v).reshape(-1), matmat=times, dtype=np.float64)


def dual_bound(
    problem: ConstrainedModel,
    evaluation: Evaluation,
    offset: float,
    y: Array,
    accuracy: float,
    start: Array | None = None,
    seed: int = 0,
    thorough: bool = True,
    P: Array | None = None,
    sharp: bool = True,
) -> Bounded:
    """The bound of y, admissible, at M; `offset` is F(M) − ⟨∇F(M), M⟩. Cost: :func:`slack_eigenpair`, and a spectrum if
    a known curvature may improve the bound; unless `thorough`, only if λ_min(S) >= −accuracy is not proven. `sharp` :
    whether λ_min(S) is to be bounded more sharply than that.
    `P` (n, q) : S is near P Pᵀ; for a strongly convex F one product then takes the place of eigenvalues."""
    face = problem.face
    if face is not None:
        y = y.copy()
        y[face.rows] = 0.0  # P A_t P = 0
    definite = 0.0 if face is not None or problem.trace_limit is not None else problem.definite_part
    S, rho, loss = slack_operator(problem, evaluation, y), problem.problem.lower_curvature, math.inf
    S = without_cancellation(problem, evaluation, y, S)
    sparse = problem.conic is None and isinstance(S, sp.csr_array)
    blocks = problem.conic.blocks if problem.conic else diagonal_blocks(S) if sparse else ()
    if face is None:
        pair = None
        if P is not None and rho > 0.0 and isinstance(S, np.ndarray):
            rest, size = S - P @ P.T, norm_of_any_size(S) + rho * norm_of_any_size(evaluation.factor) ** 2
            product = evaluation.value - offset + inner(y, problem.measured(evaluation.factor))  # ⟨S, M⟩
            gap = gap_by_factor(rest, evaluation.factor, Curvature(rho), P, size)
            if problem.trace_limit is not None and gap <= accuracy * problem.trace_limit.value:
                loss, pair = gap - product, pair_by_factor(S, rest, evaluation.factor)
        pair = pair or slack_eigenpair(S, accuracy, start, seed, blocks, thorough, sharp)
    elif face.order > 0 and face.within is not None and (problem.trace_limit is None or problem.carried is not None):
        # λ_min(P S P) is never positive; a positive λ_min(WᵀSW) is a proof even if the trace is not bounded
        W, first = face.within, None if start is None else np.asarray(face.within.T @ start.reshape(problem.n, -1))
        within = _compressed(S, W)
        there = slack_eigenpair(within, accuracy, first, seed)
        low = there.lower_bound - rounding(_terms(S, W, there.norm), problem.n)
        S = _expanded(within, W)
        pair = replace(there, vectors=np.asarray(W @ there.vectors), lower_bound=low)
    else:
        S = face.restricted(S)
        pair = slack_eigenpair(S, accuracy, None if start is None else face.onto(start.reshape(problem.n, -1)), seed)
        # U has rounding errors, and P S P as much rounding as S
        size = norm(S) if isinstance(S, np.ndarray) else pair.norm * math.sqrt(problem.n)
        pair = replace(pair, lower_bound=pair.lower_bound - rounding(size, problem.n))
    conic = problem.conic
    # with neither a bound on traces nor C ⪰ c I a negative bound on λ_min(S) proves nothing, however small it is
    enough = -accuracy if problem.trace_limit is not None or definite > 0.0 else 0.0
    # a quotient vᵀSv that is negative by more than the error of λ_min(S) refutes S ⪰ 0
    possible = -pair.value <= pair.value - pair.lower_bound
    if pair.lower_bound < enough and possible and face is None and conic and proven_semidefinite(conic, y):
        pair = replace(pair, lower_bound=0.0)
    if pair.lower_bound < 0.0 < definite:
        y, S, pair = _shortened(problem, evaluation, y, pair)
    low, limit = pair.lower_bound, problem.trace_limit
    base = offset - most_support(problem, y)
    bound: float | None = base
    if limit is not None:
        bound = base + low * (limit.least if low > 0.0 else limit.value)
    elif low < 0.0:
        bound = None
    if loss < math.inf:
        bound = max(base - loss, -math.inf if bound is None else bound)
    elif low < (0.0 if thorough else enough):
        found = [base - loss for loss in _losses_by_curvature(problem, evaluation, S, low) if loss < math.inf]
        bound = max(found if bound is None else [bound, *found], default=None)
    own = log_det_bound(problem, y)
    if own > (-math.inf if bound is None else bound):
        bound = own
    return Bounded(y, S, pair, base, bound)


def _shortened(
    problem: ConstrainedModel, evaluation: Evaluation, y: Array, pair: ExtremePair
) -> tuple[Array, Any, ExtremePair]:
    """θ y, its S ⪰ 0 and a vector, for the largest θ < 1 that λ_min(C) > 0 and λ_min(S) < 0 prove, less rounding."""
    assert problem.linear is not None
    C, c = problem.linear[0], problem.definite_part
    lost = rounding(pair.norm + 2.0 * norm(C.data), problem.n)
    y = (c / (c + lost - pair.lower_bound)) * y
    S, v = slack_operator(problem, evaluation, y), pair.vector
    product = np.asarray(S @ v[:, None]).ravel()
    return y, S, replace(pair, values=np.array([float(v @ product)]), vectors=v[:, None], lower_bound=0.0)


def _losses_by_curvature(problem: ConstrainedModel, evaluation: Evaluation, S: Any, low: float) -> list[float]:
    """Bounds on −⟨S, N⟩ less what the curvature of F adds to F(N), over N ⪰ 0; `low` <= λ_min(S)."""
    Y, n = evaluation.factor, problem.n
    if problem.face is not None or n > DENSE_LIMIT:
        rho = problem.problem.lower_curvature
        # curvature adds (rho/2) |N − M|² to F(N), and ⟨S, N⟩ >= low tr N >= low (tr M + √n |N − M|)
        return [n * low * (low / (2.0 * rho)) - low * float(inner(Y, Y))] if rho > 0.0 else []
    curvatures = evaluation.curvatures()
    if not curvatures:
        return []
    dense, Y = S if isinstance(S, np.ndarray) else np.asarray(on_host(S @ np.eye(n))), on_host(Y)
    product = inner(dense @ Y, Y)
    return [curved_gap(dense, Y, each) - product for each in curvatures]
