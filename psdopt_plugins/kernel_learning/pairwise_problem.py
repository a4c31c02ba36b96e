"""Kernel learning from must-link and cannot-link pairs: smooth on a graph, 1 on must-links, 0 on cannot-links."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import EntryFit, Starts
from psdopt.checks import CheckedIndices, positive
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, low_pass, row_dots, sparse_product, with_data
from psdopt_plugins.pairs import distinct_pairs

#: A start takes ROUNDS rounds of PRODUCTS products with L each; a round doubles the lowest modes relative to modes
#: above the cut. More rounds save more steps, but suppress the higher modes, and lost rank is not recovered.
ROUNDS, PRODUCTS = 4, 2
#: Each round adds DRAWN times the mean of its must-link partners (itself included) to row y_i. With sums instead of
#: means, the rows of a large clique of must-links would become equal at once.
DRAWN = 2.0


class PairwiseKernelProblem(EntryFit):
    """The :class:`~psdopt.problems.entry_fit.EntryFit` of :func:`pairwise_kernel_problem`, with a start of its own."""

    @property
    def starts(self) -> PairwiseStarts:
        return PairwiseStarts(self)

    @cached_property
    def _drawing(self) -> sp.csr_array:
        """Targets as weights of means, times DRAWN. Every row has a weight, as the diagonal's target is 1."""
        pattern, targets = self._updates.weights, self._updates.target_values
        sums = np.add.reduceat(np.abs(targets), pattern.indptr[:-1])
        return with_data(pattern, targets * np.repeat(DRAWN / sums, np.diff(pattern.indptr)))


class PairwiseStarts(Starts):
    """Starts that are smooth over the graph and near each other across must-links."""

    def __init__(self, problem: PairwiseKernelProblem) -> None:
        self.problem = problem

    def proposed_start(self, Y: Array) -> Array:
        """Unit rows, since K_ii = 1 is the target, smooth over the graph and near each other across must-links.

        Each of four rounds amplifies the low modes of L in Y, adds 2 Σ_j T_ij y_j / Σ_j |T_ij| to each row y_i, and
        scales it to unit length. Eight products with L and four with T save four to seven of thirteen steps to two
        digits, most if L matters more than the pairs. If the entries of L are not known, there is no cheap bound on its
        eigenvalues, and L is left out.
        """
        problem = self.problem
        L = problem.L
        largest = L.largest_row_sum() if L is not None and L.is_matrix else 0.0
        rows = Y
        for _ in range(ROUNDS):
            if L is not None and largest > 0.0:
                rows = low_pass(L.apply, rows, largest, PRODUCTS)
            rows = _unit_rows(sparse_product(problem._drawing, rows, rows))
        return rows


def _unit_rows(Y: Array) -> Array:
    """Rows of Y scaled to length 1; those that are zero stay zero."""
    lengths = np.sqrt(row_dots(Y, Y))
    return Y / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def pairwise_kernel_problem(L: Any, pairs: Any, targets: Any, gamma: float = 10.0) -> PairwiseKernelProblem:
    """min tr(K L) + γ/2 Σ_{(i,j) ∈ T} (K_ij − T_ij)² over K ⪰ 0 (n, n) (Hu & Kwok, eq. 1).

    T holds every pair in both orders and every diagonal entry with target 1, so the sum has 2 p + n terms:
    in the composition an unordered pair weighs γ and a diagonal entry γ/2. Gradient L + γ P ∘ (K − T), P the
    0/1 pattern of T. tr(K L) smooths the kernel over the graph; the fit favours K_ii ≈ 1, K_ij ≈ 1 on must-links and
    K_ij ≈ 0 on cannot-links.

    The problem offers exact line and plane searches, a preconditioner, a start that is smooth over the graph, and the
    bi-convex split that :class:`~psdopt.methods.admm.ADMM` needs.

    Parameters
    ----------
    L : graph Laplacian or any symmetric PSD matrix (n, n): sparse array, ndarray or ``LinearOperator``; see
        :func:`~psdopt_plugins.kernel_learning.graphs.knn_laplacian`.
    pairs : integer array (p, 2), i ≠ j, each unordered pair once (repetitions with one target are dropped).
    targets : (p,), finite; 1 for a must-link, 0 for a cannot-link.
    gamma : weight γ > 0 of the fit.

    Raises
    ------
    InvalidInputError for NaN, an asymmetric or indefinite L (a negative diagonal entry), wrong shapes, indices out
    of range, a pair of an index with itself, a pair with two targets (it is named), gamma <= 0.

    Cost per gradient: nnz(L) r + O((n + p) r) for a factor (n, r); memory O(n r + nnz(L)).
    """
    gamma = positive(gamma, "gamma")
    n = _order(L)
    ends, wanted = distinct_pairs(pairs, targets, n)
    places = CheckedIndices(np.concatenate([np.tile(np.arange(n)[:, None], 2), ends]), n)
    problem = PairwiseKernelProblem(
        L,
        places[:, 0],
        places[:, 1],
        np.concatenate([np.ones(n), wanted]),
        np.concatenate([np.full(n, 0.5 * gamma), np.full(len(wanted), gamma)]),
    )
    least = problem.L.data.diagonal().min() if problem.L is not None and problem.L.is_matrix else 0.0
    if least < 0.0:
        raise InvalidInputError(f"L must be positive semidefinite; found the diagonal entry {least:.3g}")
    return problem


def _order(L: Any) -> int:
    shape = getattr(L, "shape", None) or np.shape(L)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InvalidInputError(f"L must be square and symmetric; found shape {tuple(shape)}")
    return int(shape[0])
