"""Preconditioner of kernels from distances: each sample's own block of the Hessian, all solved at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpbtrf, dpbtrs

from psdopt import MomentPreconditioner, Preconditioner, TermEvaluation
from psdopt.linalg import Array, sparse_product
from psdopt.terms import MeasuredTerm, PairDistances
from psdopt_plugins.limits import SLIGHT

#: Largest rank: a step costs n r³ and m r² on top of a pass of m r, so at higher ranks only the moment is used.
HIGHEST_RANK = 16


class PairRowsPreconditioner(Preconditioner):
    """(evaluation) ↦ (row r_i ↦ (4/m Σ_j δ_ij δ_ijᵀ + eta I)⁻¹ r_i), δ_ij = y_i − y_j over the pairs of sample i.

    The block of row i in the Gauss-Newton Hessian of 1/(2m) Σ (|δ_ij|² − d_ij)². The moment of the data, the degree of
    i times the mean of all δδᵀ, would be as good only if neighbours were a fair sample of all directions; with it
    conjugate gradient takes two to eight times as many steps. Symmetric positive definite; equivariant under Y → Y O.

    The blocks, one after the other, are a banded matrix: one call of LAPACK solves them. Cost O(m r² + n r³), memory
    O(n r²). Above r = 16 it is :class:`~psdopt.MomentPreconditioner`.

    `term` : a :class:`~psdopt.terms.MeasuredTerm` of :class:`~psdopt.terms.PairDistances` without X.
    """

    def __init__(self, term: MeasuredTerm) -> None:
        self.measurement: PairDistances = cast(PairDistances, term.measurement)
        self.coarse = MomentPreconditioner([term])

    @cached_property
    def _neighbours(self) -> sp.csr_array:
        """How often i and j are a pair, (n, n)."""
        return self.measurement.adjacency(np.ones(self.measurement.size))

    @cached_property
    def _degrees(self) -> Array:
        """The number of pairs of each sample, (n,)."""
        return sparse_product(self._neighbours, np.ones((self.measurement.n, 1)))[:, 0]

    def at(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        Y = evaluation.factor
        n, r = Y.shape
        if r > HIGHEST_RANK:
            return self.coarse.at(evaluation)
        # sums of δδᵀ are differences of sums of yyᵀ; subtracting the mean first avoids cancellation
        Y = Y - Y.mean(axis=0)
        A = self._neighbours
        sums = sparse_product(A, Y)
        # columns of the blocks from the diagonal down, one after the other: this order is LAPACK's for a band
        columns = [slice(a, r) for a in range(r)]
        starts = np.cumsum([0, *(r - a for a in range(r))])
        products = np.empty((n, starts[-1]))
        for a, below in enumerate(columns):
            np.multiply(Y[:, below], Y[:, a : a + 1], out=products[:, starts[a] : starts[a + 1]])
        entries = sparse_product(A, products)
        products *= self._degrees[:, None]
        entries += products
        band = np.zeros((n, r, r))
        for a, below in enumerate(columns):
            column = band[:, a, : r - a]
            np.multiply(Y[:, below], sums[:, a : a + 1], out=column)
            column += sums[:, below] * Y[:, a : a + 1]
            np.subtract(entries[:, starts[a] : starts[a + 1]], column, out=column)
        band *= 4.0 / self.measurement.size
        diagonal = band[:, :, 0]
        mean = float(diagonal.mean())
        if not mean > 0.0:
            return self.coarse.at(evaluation)
        # a sample with few pairs, or far too small columns of Y, leave a block without curvature in some directions
        diagonal += SLIGHT * mean
        factor, info = dpbtrf(band.reshape(n * r, r).T, lower=1, overwrite_ab=1)
        if info != 0:  # all differences are below the rounding of the rows
            return self.coarse.at(evaluation)

        def solve(R: Array) -> Array:
            solution, _ = dpbtrs(factor, R.reshape(-1), lower=1)
            return np.asarray(solution.reshape(n, r))

        return solve
