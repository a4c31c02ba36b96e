"""DistanceRegression: metric learning from distance bounds on pairs, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from psdopt import LowRankPSD
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, RowBlocks
from psdopt_plugins.estimators import generator, named_geometry
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.metric_learning.pair_distance_problem import pair_distance_problem
from psdopt_plugins.rows import validated


class DistanceRegression(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d) with small distances for similar and large ones for dissimilar pairs (Meyer et al., 10.3).

    Parameters
    ----------
    rank : rank of M, or None for full rank. Full rank starts at M = I, lower rank at the leading principal directions.
    geometry : "flat" or "polar"; weight : of the polar metric.
    n_constraints : pairs sampled from labels, half of them similar where possible; None is 40 c (c − 1) for c classes.
    percentiles : of the distances at the start, the thresholds for similar and dissimilar pairs.
    solver_options : keyword arguments of :func:`psdopt.solve`.
    random_state : seed of the sampled pairs.

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_. result_ : the :class:`psdopt.Result`.
    pairs_ : (m, 3), rows (i, j, ±1): the pairs that were learned from. n_features_in_ : d.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = DistanceRegression(random_state=0).fit(X, y)
    >>> learner.transform(X).shape
    (150, 4)
    """

    pairs_: NDArray[np.intp]

    #: Pairs are drawn by the seed from the rows as they come: other rows, other pairs.
    permutation_invariant = False

    def __init__(
        self,
        rank: int | None = None,
        *,
        geometry: str = "flat",
        weight: float = 0.5,
        n_constraints: int | None = None,
        percentiles: tuple[float, float] = (5.0, 95.0),
        solver_options: Mapping[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.geometry = geometry
        self.weight = weight
        self.n_constraints = n_constraints
        self.percentiles = percentiles
        self.solver_options = solver_options
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, pairs: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and either labels y (m,) or `pairs` (which then decide alone).

        pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2), or one array (p, 3) of (i, j, ±1).
        """
        options: dict[str, Any] = {"accept_sparse": ["csr"], "dtype": np.float64, "ensure_min_samples": 2}
        if pairs is None:
            X, y = validated(self, X, y, blocks=True, **options)
            check_classification_targets(y)
            pairs = self._sampled(y)
        else:
            X = validated(self, X, blocks=True, **options)
        start = self._start(X)
        problem = pair_distance_problem(X, pairs, baseline=start, percentiles=self.percentiles)
        self.pairs_ = np.asarray(pairs) if np.ndim(pairs) == 2 and np.shape(pairs)[1] == 3 else _joined(pairs)
        d = X.shape[1]
        geometry = named_geometry(self.geometry, d, d if self.rank is None else self.rank, self.weight)
        return self._learn(problem, None, self.solver_options, geometry=geometry, start=start)

    def _start(self, X: Any) -> LowRankPSD:
        d = X.shape[1]
        if self.rank is None or self.rank >= d:
            return LowRankPSD(np.eye(d))
        return LowRankPSD(principal_directions(X, int(self.rank)))

    def _sampled(self, y: NDArray[Any]) -> NDArray[np.intp]:
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InvalidInputError(f"y must hold at least 2 classes; found only {classes[0]!r}")
        wanted = 40 * len(classes) * (len(classes) - 1) if self.n_constraints is None else self.n_constraints
        if not isinstance(wanted, (int, np.integer)) or isinstance(wanted, bool) or wanted < 1:
            raise InvalidInputError(f"n_constraints must be an integer of at least 1; found {self.n_constraints!r}")
        return labelled_pairs(codes, int(wanted), generator(self.random_state))


def labelled_pairs(codes: NDArray[np.intp], wanted: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """About `wanted` distinct pairs (m, 3), rows (i, j, ±1), half of one class and half of two. codes (N,)."""
    parts = []
    for same, count in ((True, wanted // 2), (False, wanted - wanted // 2)):
        found = np.empty(0, dtype=np.intp)
        n = len(codes)
        for _ in range(20):
            i, j = rng.integers(n, size=(2, 4 * count + 64))
            good = (i < j) & ((codes[i] == codes[j]) == same)
            found = np.unique(np.concatenate([found, i[good] * n + j[good]]))
            if len(found) >= count:
                break
        chosen = np.sort(rng.permutation(found)[:count])
        parts.append(np.column_stack([chosen // n, chosen % n, np.full(len(chosen), 1 if same else -1)]))
    return np.concatenate(parts).astype(np.intp)


def principal_directions(X: Any, rank: int) -> Any:
    """(d, rank) leading principal directions of X (N, d), orthonormal; X is centred implicitly. O(N d²) or ARPACK."""
    count, d = X.shape
    if isinstance(X, RowBlocks):
        gram, total = X.moments(np.ones((count, 1)))
        mean = np.zeros(d) if total is None else total[:, 0] / count
        return _leading_axes(gram - count * np.outer(mean, mean), rank)
    mean = np.asarray(X.mean(axis=0)).ravel()
    sparse: bool = sp.issparse(X)
    if sparse and d > 500:
        operator = sp.linalg.LinearOperator(
            (d, d), matvec=lambda v: X.T @ (X @ v) - count * mean * (mean @ v), dtype=np.float64
        )
        _, vectors = sp.linalg.eigsh(operator, k=rank, v0=np.ones(d))
        return vectors
    gram = (X.T @ X).toarray() if sparse else X.T @ X
    return _leading_axes(gram - count * np.outer(mean, mean), rank)


def _leading_axes(scatter: Array, rank: int) -> Array:
    _, vectors = np.linalg.eigh(scatter)
    return np.ascontiguousarray(vectors[:, ::-1][:, :rank])


def _joined(pairs: Any) -> NDArray[np.intp]:
    similar, dissimilar = (np.asarray(part, dtype=np.intp).reshape(-1, 2) for part in pairs)
    signs = np.concatenate([np.ones(len(similar)), -np.ones(len(dissimilar))]).astype(np.intp)
    return np.column_stack([np.concatenate([similar, dissimilar]), signs])
