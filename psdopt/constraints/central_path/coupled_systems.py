"""The systems of interior points: Σ_k A(X_k A*_k(w) Q_k) + δ ∘ w = right for definite X_k, Q_k, δ >= 0 of soft rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from psdopt.constraints.central_path.orthant import Orthant, OrthantMetric
from psdopt.constraints.central_path.semidefinite import Semidefinite, SemidefiniteMetric
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.central_path.vectors import VectorMetric
from psdopt.constraints.limits import FLOPS, NUMBERS, SPARED
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.cone_steps import lower_factor
from psdopt.linalg.entries import add_sparse
from psdopt.linalg.ridged import arrow_ridged_solver, refined, ridged_factor, ridged_solver, sparse_ridged_solver
from psdopt.linalg.tolerances import rounding
from psdopt.terms.entry_coupling import entry_coupling

#: H, a positive definite map on the matrices or vectors of one part of a standard form.
Metric = SemidefiniteMetric | VectorMetric


def schur_solver(form: StandardForm, metrics: Sequence[Metric]) -> Callable[[Array], Array]:
    """right ↦ w with (Σ_k A_k H_k A_k* + diag(δ)) w = `right`, by a dense or sparse factor of the sum.

    m³/3 flops and the products; a sparse factor costs what its fill makes it. Raises numpy.linalg.LinAlgError if the
    sum is not definite even with a ridge.
    """
    soft = form.softness
    if soft is not None and (thin := _thin(form)) is not None:
        return ThinSystem(form, thin, metrics).solve
    if form.conic.sparse:
        deadline.ask()
        total = sum((metric.sparse() for metric in metrics[1:]), metrics[0].sparse())
        return sparse_ridged_solver(sp.csc_array(total if soft is None else total + sp.diags_array(soft)))
    M, f = np.zeros((form.m, form.m)), form.apart
    whole = [metric for metric in metrics if not f or not isinstance(metric, OrthantMetric)]
    for k, metric in enumerate(whole):
        deadline.ask()
        metric.add_to(M, fresh=k == 0)
    if soft is not None:
        M[np.diag_indices(form.m)] += soft
    if not f:
        return ridged_solver(M)
    # the rows apart have entries in blocks of order one alone
    singles = next(metric.sparse() for metric in metrics if isinstance(metric, OrthantMetric))
    rest, d = np.ascontiguousarray(M[f:, f:]), M.diagonal()[:f] + singles.diagonal()[:f]
    add_sparse(rest, singles[f:, f:])
    return arrow_ridged_solver(d, singles[:f, f:], rest)


class RootedSystem:
    """Solves by a root G of Σ_k A_k H_k A_k* = G Gᵀ, whose condition number is the square of the root's.

    Near a degenerate solution a factorisation Q R of the root therefore loses only half as many digits as a Cholesky
    factor of the sum. Pivoting finds rows that depend on others; they get the multiplier zero. 2 m² p flops for p
    numbers in a row, memory m p.
    """

    def __init__(self, form: StandardForm, metrics: Sequence[Metric]) -> None:
        roots = [metric.root() for metric in metrics]
        if form.softness is not None:
            roots.append(np.diag(np.sqrt(form.softness)))
        G = np.concatenate(roots, axis=1).T
        sizes = np.sqrt(np.einsum("ij,ij->j", G, G))
        if not np.all(np.isfinite(sizes)):
            raise np.linalg.LinAlgError("the system overflows")
        self.scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        self.G = G * self.scale
        self.order, self.kept = np.arange(form.m), form.m
        least = rounding(1.0, len(G))  # relative to columns of norm one; those with a smaller pivot depend on others
        deadline.ask()
        self.R = scipy.linalg.qr(self.G, mode="r", check_finite=False)[0][: form.m]
        if len(self.R) < form.m or np.any(np.abs(np.diagonal(self.R)) <= least):
            self.R, order = scipy.linalg.qr(self.R, mode="r", pivoting=True, check_finite=False)
            self.order = order.astype(np.intp)
            self.kept = int(np.sum(np.abs(np.diagonal(self.R)) > least))
            self.R = self.R[: self.kept, : self.kept]

    def solve(self, right: Array) -> Array:
        """w (m,) with (Σ_k A_k H_k A_k*) w = `right`, refined, by the rows kept. 4 m p flops a round."""
        w = refined(self._once, lambda b, w: b - self.G.T @ (self.G @ w), 1.0, self.scale * right)
        return np.asarray(self.scale * w)

    def _once(self, right: Array) -> Array:
        w, at = np.zeros(len(right)), self.order[: self.kept]
        half = scipy.linalg.solve_triangular(self.R, right[at], trans="T", check_finite=False)
        w[at] = scipy.linalg.solve_triangular(self.R, half, check_finite=False)
        return w


class ThinSystem:
    """Solves by the entries of one block where they are fewer than the rows, all of them soft.

    B H Bᵀ + D, with B (m, p) the entries of the A_t, H (p, p) the map D ↦ X D Z⁻¹ on them and D diagonal, δ and the
    slacks. With H = G Gᵀ the inverse is D⁻¹ − D⁻¹B G (I + GᵀBᵀD⁻¹B G)⁻¹ GᵀBᵀD⁻¹ (Woodbury). m p² + p³ flops, 4 m p
    a round; no (m, m) array.
    """

    def __init__(self, form: StandardForm, block: Semidefinite, metrics: Sequence[Metric]) -> None:
        deadline.ask()
        diagonal = np.asarray(form.softness, dtype=np.float64).copy()
        for metric in metrics:
            if isinstance(metric, OrthantMetric):
                diagonal += metric.sparse().diagonal()
            elif isinstance(metric, SemidefiniteMetric):
                H = np.triu(entry_coupling(block.i, block.j, metric.P[0], metric.Q[0]))
        self.B, self.diagonal = block.dense, diagonal
        self.H = H + np.triu(H, 1).T
        lower, scale = ridged_factor(self.H)
        self.G = np.triu(lower).T / scale[:, None]
        A = self.B.T @ (self.B / diagonal[:, None])
        self.inner = lower_factor((np.eye(len(A)) + self.G.T @ A @ self.G)[None])[0]

    def solve(self, right: Array) -> Array:
        """w (m,) with (B H Bᵀ + D) w = `right`, refined."""
        return refined(self._once, lambda b, w: b - self.B @ (self.H @ (w @ self.B)) - self.diagonal * w, 1.0, right)

    def _once(self, right: Array) -> Array:
        w = right / self.diagonal
        inside = scipy.linalg.cho_solve((self.inner, True), (w @ self.B) @ self.G, check_finite=False)
        return np.asarray(w - (self.B @ (self.G @ inside)) / self.diagonal)


def _thin(form: StandardForm) -> Semidefinite | None:
    """The block of more rows than entries, if all rows are soft and all else are slacks."""
    blocks = [part for part in form.parts if isinstance(part, Semidefinite)]
    slacks = [part for part in form.parts if isinstance(part, Orthant) and not len(part.rows)]
    if len(blocks) != 1 or len(blocks) + len(slacks) < len(form.parts) or blocks[0].count > 1:
        return None
    soft = form.softness is not None and np.all(form.softness > 0.0)
    return blocks[0] if soft and len(blocks[0].i) < form.m else None


def affordable(form: StandardForm, last: bool = False) -> bool:
    """Whether :class:`RootedSystem` is affordable. `last` : whether nothing else is left to try."""
    numbers = float(sum(part.C.size for part in form.parts))
    return 2.0 * form.m**2 * numbers <= (FLOPS if last else SPARED) and form.m * numbers <= NUMBERS
