"""Linearity: metric learning from similar and dissimilar pairs, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np

from psdopt import QuadraticSDP
from psdopt.checks import integer, integer_or_none, weight
from psdopt.linalg import Array, LinearMap, as_dense, linear_map
from psdopt.terms import MatrixForm, WeightedGramForm
from psdopt_plugins.certificate_on import on_rows
from psdopt_plugins.estimators import centred, parameters
from psdopt_plugins.long_fits import entries, quadratic_fit, say_if_long, search
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.metric_learning.objective import (
    forms_gram,
    linear_part,
    regularizer_for,
    without_large_arrays,
)
from psdopt_plugins.pair_sampling import FromSample, nearest_pairs
from psdopt_plugins.pairs import signed_pairs
from psdopt_plugins.rows import centred_touched, only_touched, validated_with

#: Names that `regularizer` may take. With tr(M) the objective would be linear: 0 or unbounded.
REGULARIZERS = ("identity", "frobenius")
#: Steps at limited rank, typically.
STEPS = 60


def linearity_problem(
    X: Any, pairs: Any, lam: float, regularizer: str = "identity", gram: bool | str = "auto"
) -> QuadraticSDP:
    """min Reg(M) + lam Σ S_ij (x_i − x_j)ᵀM(x_i − x_j) over M ⪰ 0 (d, d), the sum over unordered pairs.

    S_ij = +1 for similar and −1 for dissimilar pairs, T = diag(S e) − S: B = I and C = (lam/2) XᵀTX − I, or
    without −I for "frobenius" (Yuan et al., eq. 6, whose printed loss is identically zero; the distance is
    meant). Closed form M = (I − (lam/2) XᵀTX)₊.

    Parameters
    ----------
    X : (m, d) samples as rows, ndarray, SciPy sparse array or ``LinearOperator``, or rows that are read in blocks
        (:func:`psdopt.linalg.row_source`), of which those that occur in pairs are loaded.
    pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of rows (i, j, ±1).
        A pair given twice, in either order, counts once.
    lam : weight of the pairs, >= 0.
    regularizer : "identity" |M − I|² or "frobenius" |M|². The trace is not offered: the objective would be
        linear in M, with minimum 0 or −∞.
    gram : True forms XᵀTX (d, d) once; False does not form it; "auto" forms it where m >= 2 d, for an array X up
        to d = 1500, for a sparse one up to d = 500.

    Raises
    ------
    InvalidInputError for NaN, wrong shapes, bad pairs (see
    :func:`~psdopt_plugins.pairs.signed_pairs`), a negative lam; UnknownNameError for the
    regulariser.

    Cost of one step along D (d, r): one product with X, one with Xᵀ and O(p r). For sparse X and operators
    no (d, d) array is formed beyond d = 500 unless gram=True.
    """
    data = linear_map(X, "X")
    given = signed_pairs(pairs, data.shape[0])
    data, ends = only_touched(data, given.ends)
    m, d = data.shape
    T = given.among(ends, m).laplacian()
    if forms_gram(data, gram):
        dense = as_dense(data.data.T @ (T @ data.data)) if data.is_sparse else WeightedGramForm(data, T).to_dense()
        return scatter_problem(0.5 * (dense + np.transpose(dense)), lam, regularizer)
    reg = regularizer_for(regularizer, d, REGULARIZERS)
    linear = linear_part(WeightedGramForm(data, T, 0.5 * weight(lam, "lam")), reg)
    return without_large_arrays(QuadraticSDP(None, reg.b, linear, constant=reg.constant), data)


def scatter_problem(scatter: Array, lam: float, regularizer: str = "identity") -> QuadraticSDP:
    """min Reg(M) + lam tr(Z M), Z = Σ S_ij (x_i − x_j)(x_i − x_j)ᵀ (d, d): :func:`linearity_problem` of Z."""
    reg = regularizer_for(regularizer, len(scatter), REGULARIZERS)
    loss = MatrixForm(LinearMap(0.5 * weight(lam, "lam") * scatter, "X'TX"))
    return QuadraticSDP(None, reg.b, linear_part(loss, reg), constant=reg.constant)


@parameters
class Linearity(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d) from pairs: min Reg(M) + lam Σ S_ij d_M(x_i, x_j) (Yuan et al., eq. 6).

    Parameters
    ----------
    rank : largest rank of M, or None for no limit (closed form for dense X up to d = 3000).
    lam : weight of the pairs, >= 0.
    regularizer : "identity" |M − I|² or "frobenius" |M|².
    n_neighbors : when `fit` gets labels instead of pairs: each sample is paired with this many nearest samples
        of its class (similar) and of the other classes (dissimilar).
    gram : whether to form XᵀTX once, see :func:`linearity_problem`.
    max_samples : samples among which nearest samples are sought; of more, as many are drawn (with a fixed seed),
        and the proof is that of the problem of the samples drawn. Given pairs are all used.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): X may then be indices (m,).

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` with value, status, certificate and history.
    n_features_in_ : d.

    Cost: with labels O(s² d) for the nearest of s samples drawn, then O((m + s) d²) and one eigendecomposition, O(d³);
    memory: the data. 100,000 × 50 took 2 s of processor time and 98 MB.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = Linearity(lam=1e-2).fit(X, y)
    >>> learner.transform(X).shape[0]
    150
    >>> pairs = ([(0, 1), (50, 51)], [(0, 50), (1, 51)])  # similar, dissimilar
    >>> bool(Linearity(lam=0.01).fit(X, pairs=pairs).result_.optimal)
    True
    """

    rank: int | None = None
    lam: float = 3e-3
    regularizer: str = "identity"
    n_neighbors: int = 3
    gram: bool | str = "auto"
    max_samples: int = 20_000
    solver_options: Mapping[str, Any] | None = None
    preprocessor: Any = None

    no_metric = "all distances are zero; change lam, or the labels or pairs"

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and labels y (m,) or `pairs`; if pairs are given, y is ignored.

        pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of (i, j, ±1).
        Raises InvalidInputError, UnknownNameError (both name the argument) and scikit-learn's ValueErrors.
        """
        given = pairs is not None
        X, pairs = validated_with(self, X, y, pairs, self._nearest, blocks=True, accept_sparse=["csr", "csc"])
        if given:
            self._say_if_long(X, 0, "fewer features", 4)
        self.__dict__.pop("_scatter", None)
        problem = linearity_problem(linear_map(X, "X", checked=True), pairs, self.lam, self.regularizer, self.gram)
        return self._learn(problem, self.rank, self.solver_options)

    def _nearest(self, X: Any, y: Any) -> Any:
        s = min(integer(self.max_samples, "max_samples"), X.shape[0])
        self._say_if_long(X, s, "a smaller max_samples or fewer features", 6)
        return FromSample(partial(nearest_pairs, n_neighbors=self.n_neighbors), self.max_samples)(X, y)

    def _say_if_long(self, X: Any, searched: int, shorter: str, stacklevel: int) -> None:
        (m, d), rank = X.shape, integer_or_none(self.rank, "rank")
        once, run = quadratic_fit(X, rank, STEPS)
        once += search(searched, X, searched / m)
        numbers = 3 * entries(X) + 4 * d * (rank or d) + 12 * searched * integer(self.n_neighbors, "n_neighbors")
        say_if_long(self, (m, d), once, run, numbers=numbers, shorter=shorter, stacklevel=stacklevel)

    def partial_fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        """Learn from `pairs` of the samples X (m, d) and from those of all earlier calls, as from all of them at once.

        Without `pairs` they are made from the labels y (m,) as in :meth:`fit`, among the samples of this call.

        The matrix Σ S_ij (x_i − x_j)(x_i − x_j)ᵀ (d, d) of all pairs so far is stored, and each call solves the
        problem again, without loss of accuracy. A pair counts once in each call. :meth:`fit` starts from nothing.
        Raises what :meth:`fit` raises. O(m d² + d³).
        """
        fresh = not hasattr(self, "_scatter")
        drawn = partial(nearest_pairs, n_neighbors=self.n_neighbors)
        X, pairs = validated_with(self, X, y, pairs, drawn, reset=fresh, accept_sparse=["csr", "csc"])
        laplacian = signed_pairs(pairs, X.shape[0]).laplacian()
        X = centred(X)  # differences do not change, and an offset would cost digits
        dense = as_dense(X.T @ (laplacian @ X))
        self._scatter: Array = 0.5 * (dense + dense.T) + (0.0 if fresh else self._scatter)
        problem = scatter_problem(self._scatter, self.lam, self.regularizer)
        return self._learn(problem, self.rank, self.solver_options)

    @on_rows
    def certificate_on(self, X: Any, y: Any = None, *, pairs: Any = None) -> QuadraticSDP:
        """How far M is proven to be from the best M for `pairs` of the samples X (m, d): all pairs seen, or others.

        F(M) = Reg(M) + lam Σ S_ij d_M(x_i, x_j) over the pairs, each once. Without `pairs` they are made from labels
        y as in :meth:`fit`.
        """
        options: dict[str, Any] = {"blocks": True, "accept_sparse": ["csr", "csc"], "reset": False}
        X, pairs = validated_with(self, X, y, pairs, self._nearest, **options)
        given = signed_pairs(pairs, X.shape[0])
        data, ends = centred_touched(X, given.ends)
        return linearity_problem(data, given.among(ends, data.shape[0]), self.lam, self.regularizer, self.gram)
