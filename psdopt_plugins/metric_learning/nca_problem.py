"""Neighbourhood components: the chance that a sample picks a neighbour of another class, among its nearest ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from psdopt import TermSum
from psdopt.checks import classes, indices, positive, real_array
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, linear_map
from psdopt.terms import IdentityForm, LinearTerm, Loss, MeasuredTerm, PairDistances
from psdopt_plugins.metric_learning.lmnn_problem import across_columns

Indices = NDArray[np.intp]


class NeighbourhoodComponents(Loss):
    """phi(a) = 1/n Σ_i Σ_c p_ic w_ic, p_ic = exp(−a_ic) / Σ_k exp(−a_ik): the mean chance of a wrong pick.

    Sample i picks its candidate c with probability p_ic, which falls with the squared distance a_ic. phi is between 0
    and 1, 1 − phi is the objective of Goldberger et al. (2004), and phi is not convex in a.

    Parameters
    ----------
    wrong : w (k, n), 1 where candidate c of sample i is of another class, else 0; k candidates of each sample. The
        measurements a (k n,) are the rows of such an array one after the other: all first candidates come first.

    Cost of a value, a derivative or a product with the curvature: O(k n) time and memory.
    """

    convex = separable = False
    nonnegative = True

    def __init__(self, wrong: Any) -> None:
        self.wrong = np.asarray(wrong, dtype=np.float64)
        if self.wrong.ndim != 2 or self.wrong.size == 0 or not np.all(np.isin(self.wrong, (0.0, 1.0))):
            found = f"shape {self.wrong.shape}" if self.wrong.ndim != 2 or self.wrong.size == 0 else "other numbers"
            raise InvalidInputError(f"wrong must be an array (k, n) of 0 and 1, not empty; found {found}")
        self.size = self.wrong.size

    def value(self, a: Array) -> float:
        return float(self._chances(a)[1].mean())

    def derivative(self, a: Array) -> Array:
        return self.expansion(a)[0]

    def curvature(self, a: Array, direction: Array) -> Array:
        return self.expansion(a, direction)[1][0]

    def expansion(self, a: Array, *directions: Array) -> tuple[Array, list[Array]]:
        P, chance = self._chances(a)
        excess = chance - self.wrong
        excess /= len(chance)
        products = []
        for direction in directions:
            change = self._as_table(direction)
            change = P * (_column_dots(P, change) - change)
            rise = P * (_column_dots(change, self.wrong) / len(chance))
            products.append((change * excess + rise).ravel())
        return (P * excess).ravel(), products

    def _chances(self, a: Array) -> tuple[Array, Array]:
        """p (k, n), and the chance of a wrong pick of every sample (n,)."""
        P = self._as_table(a)
        P = P.min(axis=0) - P
        np.exp(P, out=P)
        P /= P.sum(axis=0)
        return P, _column_dots(P, self.wrong)

    def _as_table(self, a: Array) -> Array:
        return a.reshape(self.wrong.shape)


def _column_dots(A: Array, B: Array) -> Array:
    dots: Array = np.einsum("ij,ij->j", A, B)
    return dots


def nca_problem(X: Any, y: Any, candidates: Any, lam: float) -> TermSum:
    """min 1/n Σ_i P(i picks a candidate of another class) + lam tr(M) over M ⪰ 0 (d, d).

    Sample i picks its candidate j with probability proportional to exp(−d_M(i, j)), d_M(i, j) = (x_i − x_j)ᵀM(x_i −
    x_j). With all other samples as candidates and lam = 0 this is the objective of Goldberger et al. (2004). F is not
    convex, so that a run ends as ``stationary`` at best: a first-order point, better ones may exist. Without lam > 0
    the infimum may be at infinity: classes that can be separated are separated better by longer vectors.

    Parameters
    ----------
    X : (m, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``; or a :class:`LinearMap` of one.
    y : (m,) labels of at least two classes.
    candidates : integer array (n, 1 + k) of rows (i, j_1, ..., j_k): a sample and its candidates, k >= 1, other samples
        than i. The mean is over these n samples; they need not be all rows of X.
    lam : weight of the trace, > 0.

    Raises
    ------
    InvalidInputError for wrong shapes, one class, indices out of range, a sample among its own candidates, lam <= 0.

    Cost of a step along D (d, r): one product with X and one with Xᵀ, O(n k r).
    """
    data, lam = linear_map(X, "X"), positive(lam, "lam")
    m, d = data.shape
    codes = classes(y, "y", m)[1]
    table = real_array(candidates, "candidates")
    if table.ndim != 2 or table.shape[1] < 2 or len(table) == 0:
        raise InvalidInputError(f"candidates must have shape (n, 1 + k), n, k >= 1; found {table.shape}")
    own, *others = indices(table.T.ravel(), "candidates", m).reshape(table.shape[::-1])
    j = np.stack(others)
    if np.any(same := np.any(j == own, axis=0)):
        found = f"found {own[same][0]} among the candidates of itself"
        raise InvalidInputError(f"candidates of a sample must be other samples; {found}")
    pairs = PairDistances(np.tile(own, len(j)), j.ravel(), data)
    terms = [MeasuredTerm(pairs, NeighbourhoodComponents(codes[j] != codes[own])), LinearTerm(IdentityForm(d, lam))]
    return TermSum(terms, preconditioner=across_columns)


def nearest_candidates(Z: Array, codes: Indices, samples: Indices, n_neighbors: int) -> Indices:
    """Rows (i, j_1, ..., j_k): each of `samples` (n,), its `n_neighbors` nearest of its class, and as many others.

    Where one of the two kinds is too few, there are more of the other, so that every sample has k = min(2 n_neighbors,
    m − 1) candidates, in ascending order. Z (m, r) : the samples under the metric; codes : their classes from 0, (m,).
    Exact; up to O(n m r) time, O(n k) memory beyond Z.
    """
    k = min(2 * n_neighbors, len(codes) - 1)
    table = np.empty((len(samples), k), dtype=np.intp)
    for code in np.unique(codes[samples]):
        here, inside = np.flatnonzero(codes[samples] == code), codes == code
        own, others = np.flatnonzero(inside), np.flatnonzero(~inside)
        alike = max(min(n_neighbors, len(own) - 1), k - len(others))
        wanted = samples[here]
        if alike > 0:
            near = own[_nearest(Z[own], Z[wanted], alike + 1)]
            itself = near == wanted[:, None]
            itself[~itself.any(axis=1), -1] = True  # a sample that copies of itself have driven out of its own list
            table[here, :alike] = near[~itself].reshape(-1, alike)
        if alike < k:
            table[here, alike:] = others[_nearest(Z[others], Z[wanted], k - alike)]
    table.sort(axis=1)
    return np.column_stack([samples, table])


def _nearest(among: Array, of: Array, count: int) -> Indices:
    found: Indices = NearestNeighbors(n_neighbors=count).fit(among).kneighbors(of, return_distance=False)
    return found
