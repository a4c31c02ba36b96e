"""The systems of interior points: A(Σ_k X_k A*_k(w) Q_k) + A diag(ratio) Aᵀ w = right for definite X_k and Q_k."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.central_path.vectors import Metric
from psdopt.constraints.limits import FLOPS, NUMBERS, SPARED
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.ridged import refined, ridged_solver, sparse_ridged_solver
from psdopt.linalg.tolerances import rounding


def schur_solver(form: StandardForm, metrics: Sequence[Metric]) -> Callable[[Array], Array]:
    """right ↦ w with (Σ_k A_k H_k A_k*) w = `right`, by a dense or sparse factor of the sum.

    m³/3 flops and the products; a sparse factor costs what its fill makes it. Raises numpy.linalg.LinAlgError if the
    sum is not definite even with a ridge.
    """
    if form.conic.sparse:
        deadline.ask()
        return sparse_ridged_solver(sp.csc_array(sum((metric.sparse() for metric in metrics[1:]), metrics[0].sparse())))
    M = np.zeros((form.m, form.m))
    for k, metric in enumerate(metrics):
        deadline.ask()
        metric.add_to(M, fresh=k == 0)
    return ridged_solver(M)


class RootedSystem:
    """Solves by a root G of Σ_k A_k H_k A_k* = G Gᵀ, whose condition number is the square of the root's.

    Near a degenerate solution a factorisation Q R of the root therefore loses only half as many digits as a Cholesky
    factor of the sum. Pivoting finds rows that depend on others; they get the multiplier zero. 2 m² p flops for p
    numbers in a row, memory m p.
    """

    def __init__(self, form: StandardForm, metrics: Sequence[Metric]) -> None:
        G = np.concatenate([metric.root() for metric in metrics], axis=1).T
        sizes = np.sqrt(np.einsum("ij,ij->j", G, G))
        self.scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        self.G = G * self.scale
        self.order, self.kept = np.arange(form.m), form.m
        least = rounding(1.0, len(G))  # relative to columns of norm one; those with a smaller pivot depend on others
        deadline.ask()
        self.R = scipy.linalg.qr(self.G, mode="r", check_finite=True)[0][: form.m]
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


def affordable(form: StandardForm, last: bool = False) -> bool:
    """Whether :class:`RootedSystem` is affordable. `last` : whether nothing else is left to try."""
    numbers = float(sum(part.C.size for part in form.parts))
    return 2.0 * form.m**2 * numbers <= (FLOPS if last else SPARED) and form.m * numbers <= NUMBERS
