"""Closest PSD matrix of rank k to a symmetric matrix, as a quadratic SDP."""

from __future__ import annotations

from typing import Any

from scipy.sparse.linalg import LinearOperator

from psdopt import Ability, QuadraticSDP
from psdopt.checks import integer
from psdopt.linalg import LinearMap, symmetric_map
from psdopt.terms import MatrixForm


class TopKProblem(QuadraticSDP):
    """F(M) = |M − K|_F² − |K|_F² = tr(M²) − 2 tr(K M), with the requested rank `k`.

    `K` is the symmetric (n, n) :class:`LinearMap`; one step along D (n, r) costs one product K D.
    """

    def __init__(self, K: LinearMap, k: int) -> None:
        self.K, self.k = K, k
        super().__init__(A=None, B=1.0, C=MatrixForm(K, -1.0))
        if isinstance(K.data, LinearOperator) or K.is_sparse:
            self.abilities -= {Ability.CLOSED_FORM}  # it would need an (n, n) array


def topk_problem(K: Any, k: int) -> TopKProblem:
    """min |M − K|_F² − |K|_F² over M ⪰ 0: A = 0, B = I, C = −K (Yuan et al., eq. 3).

    At rank k the optimum is −Σ_{i≤k} max(λ_i, 0)², attained at the k largest positive eigenvalues of K and
    their eigenvectors. `k` does not enter F. It is stored as ``problem.k`` and is the rank to use,
    ``solve(problem, FlatQuotient(problem.n, problem.k))``; without a rank limit the answer is K₊.

    Parameters
    ----------
    K : (n, n) symmetric, of any sign: ndarray, SciPy sparse array, ``LinearOperator`` or an array on a device.
    k : number of eigenpairs, 1 <= k <= n.

    Raises
    ------
    InvalidInputError for NaN, a K that is not square and symmetric, and k out of range.
    """
    data = symmetric_map(K, "K")
    return TopKProblem(data, integer(k, "k", 1, data.shape[0], "n"))
