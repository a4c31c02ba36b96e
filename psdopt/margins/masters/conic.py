"""The block master through Clarabel: the same small semidefinite program, by a maintained conic solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.errors import MissingDependencyError
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.base import Answer, Unsolved
from psdopt.margins.structure import SignedSquares

Indices = NDArray[np.intp]

#: Smallest gap and infeasibility asked of the solver, in units of a typical margin: what its linear algebra reaches.
FINEST = 1e-9
#: Statuses whose answer is used. The multipliers are made feasible afterwards, and the gap outside is recomputed.
USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations", "NumericalError")


@dataclass(frozen=True)
class ConicMaster:
    """min π over 0 <= w <= cap, Σ w = 1, π I − Σ w_r VᵀA_rV ⪰ 0; the multiplier of the last cone is T (k, k).

    The dual of the restricted problem: m + 1 variables and one matrix of order k, whatever n is. Same arguments and
    same answer as :class:`~psdopt.margins.masters.block.BlockMaster`, which is several times as fast since it never
    forms the m matrices VᵀA_rV of which this solver is given all m k(k + 1)/2 entries.

    Solver: Clarabel (Goulart, Chen 2024), interior point with homogeneous embedding. It starts cold: `start` is unused.
    Raises MissingDependencyError without it (extra ``conic``), Unsolved if it finds no answer.
    """

    def solve(
        self, squares: SignedSquares, loss: CappedMargin, gap: float, start: tuple[Array, Array] | None = None
    ) -> Answer:
        """T and w with a duality gap of about `gap` (absolute), never less than FINEST of a typical margin."""
        try:
            import clarabel
        except ImportError:
            raise MissingDependencyError(
                'solver "clarabel" needs the package clarabel: pip install "psdopt[conic]"'
            ) from None
        m, k = squares.size, squares.order
        scale = float(np.mean(squares.sizes()))
        if scale == 0.0:
            return Answer(np.eye(k) / k, np.full(m, 1.0 / m), 0)
        i, j = _triangle(k)
        weight = np.where(i == j, 1.0, np.sqrt(2.0))
        # units in which w is near one and margins are: the solver's tolerances are absolute
        matrices = squares.vectors()[:, _positions(k)] / (scale * m)
        blocks: Any = [
            [sp.csr_array(np.full((1, m), 1.0 / m)), None],
            [-sp.eye_array(m), sp.csr_array((m, 1))],
            [sp.eye_array(m), sp.csr_array((m, 1))],
            [sp.csr_array(matrices.T), sp.csr_array(-np.where(i == j, weight, 0.0)[:, None])],
        ]
        constraints = sp.csc_matrix(sp.block_array(blocks))
        b = np.concatenate([[1.0], np.zeros(m), np.full(m, loss.cap * m), np.zeros(len(i))])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * m), clarabel.PSDTriangleConeT(k)]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs, settings.tol_gap_rel = max(gap / scale, FINEST), EPS
        settings.tol_feas = FINEST
        cost = np.append(np.zeros(m), 1.0)
        solver = clarabel.DefaultSolver(sp.csc_matrix((m + 1, m + 1)), cost, constraints, b, cones, settings)
        solution = solver.solve()
        w = np.clip(np.array(solution.x)[:m] / m, 0.0, loss.cap)
        T = np.zeros((k, k))
        T[i, j] = T[j, i] = np.array(solution.z)[1 + 2 * m :] / weight
        if str(solution.status) not in USABLE or not (np.isfinite(T).all() and np.trace(T) > 0.0 and w.sum() > 0.0):
            raise Unsolved(f"Clarabel did not solve the block master: {solution.status}")
        return Answer(_on_spectraplex(T), w / w.sum(), int(solution.iterations))


def _triangle(k: int) -> tuple[Indices, Indices]:
    """Rows and columns of the upper triangle of order k, column after column, as Clarabel orders them."""
    j, i = np.tril_indices(k)
    return i, j


def _positions(k: int) -> Indices:
    """Where the entries of :func:`_triangle` stand in the rows of ``SignedSquares.vectors``."""
    place = np.zeros((k, k), dtype=np.intp)
    place[np.triu_indices(k)] = np.arange(k * (k + 1) // 2)
    found: Indices = place[_triangle(k)]
    return found


def _on_spectraplex(T: Array) -> Array:
    """PSD part of T scaled to trace one: a solver's multiplier is feasible only to its tolerance."""
    values, W = np.linalg.eigh(T)
    values = np.maximum(values, 0.0)
    return np.asarray((W * (values / values.sum())) @ W.T)
