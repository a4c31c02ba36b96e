"""Preconditioner of kernels from distances: each sample's own block of the Hessian, all solved at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpbsv

from psdopt.linalg.arrays import Array, sparse_product
from psdopt.problems.term_sum import TermEvaluation
from psdopt.terms.measurements import PairDistances
from psdopt_plugins.regression.moments import MomentPreconditioner

#: Ridge of the blocks, relative to their mean eigenvalue: a sample with few pairs, or far too small columns of Y, leave
#: a block without curvature in some directions.
RIDGE = 0.1
#: Up to this rank. A step costs n r³ and m r² on top of a pass of m r: above, the moment alone has to do.
HIGHEST_RANK = 16


class PairRowsPreconditioner:
    """(evaluation) ↦ (row r_i ↦ (4/m Σ_j δ_ij δ_ijᵀ + eta I)⁻¹ r_i), δ_ij = y_i − y_j over the pairs of sample i.

    The block of row i in the Gauss-Newton Hessian of 1/(2m) Σ (|δ_ij|² − d_ij)². The moment of the data alone, the
    degree of i times the mean of all δδᵀ, takes neighbours for a fair sample of all directions: they are not, and
    conjugate gradient takes two to eight times as many steps. Symmetric positive definite; equivariant under Y → Y O.

    The blocks, one after the other, are a banded matrix: one call of LAPACK solves them. Cost O(m r² + n r³), memory
    O(n r²). Above r = 16 it is :class:`~psdopt_plugins.regression.moments.MomentPreconditioner`.
    """

    def __init__(self, measurement: PairDistances) -> None:
        self.measurement = measurement
        self.coarse = MomentPreconditioner(measurement)

    @cached_property
    def _neighbours(self) -> sp.csr_array:
        """How often i and j are a pair, (n, n)."""
        return self.measurement.adjacency(np.ones(self.measurement.size))

    def __call__(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        Y = evaluation.factor
        n, r = Y.shape
        if r > HIGHEST_RANK:
            return self.coarse(evaluation)
        # sums of δδᵀ are differences of sums of yyᵀ, which lose nothing to an offset once the mean is taken off
        Y = Y - Y.mean(axis=0)
        A = self._neighbours
        degrees, sums = sparse_product(A, np.ones((n, 1))), sparse_product(A, Y)
        column, below = np.nonzero(np.add.outer(np.arange(r), np.arange(r)) < r)
        row = column + below
        left, right = Y[:, row], Y[:, column]
        products = left * right
        entries = sparse_product(A, products)
        entries += degrees * products
        entries -= left * sums[:, column]
        entries -= sums[:, row] * right
        entries *= 4.0 / self.measurement.size
        band = np.zeros((n, r, r))
        band[:, column, below] = entries
        diagonal = band[:, :, 0]
        mean = float(diagonal.mean())
        if not mean > 0.0:
            return self.coarse(evaluation)
        diagonal += RIDGE * mean
        stored = band.reshape(n * r, r).T

        def solve(R: Array) -> Array:
            _, solution, info = dpbsv(stored, R.reshape(-1), lower=1, overwrite_ab=0, overwrite_b=0)
            if info != 0:  # differences far below the rounding of the rows
                return self.coarse(evaluation)(R)
            return np.asarray(solution.reshape(n, r))

        return solve
