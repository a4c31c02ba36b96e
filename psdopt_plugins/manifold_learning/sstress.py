"""SSTRESS: multidimensional scaling with missing dissimilarities and warm restarts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from psdopt import LowRankPSD, TermSum
from psdopt.checks import boolean, integer, is_name, one_of
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt_plugins.estimators import Embedding, centred, column_signs, parameters, solved
from psdopt_plugins.long_fits import say_if_long
from psdopt_plugins.manifold_learning.new_points import landmark_placement
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.rows import all_pairs_fit, any_numbers, keeping_fitted, validated

#: Arrays (n, n) at the peak of a fit: distances, their squares, pairs i < j, and an eigendecomposition at the start.
ARRAYS = 8
#: Operations of a run per (i, j), typically.
PAIR_WORK = 1.6e4


def sstress_problem(delta: Any, pairs: Any = None, *, n: int | None = None) -> TermSum:
    """min 1/(2m) Σ (|g_i − g_j|² − delta_ij)² over M = G Gᵀ ⪰ 0 (Meyer et al., section 8.4): SSTRESS / (2m).

    Parameters
    ----------
    delta : squared dissimilarities, >= 0: a symmetric (n, n) array with NaN for what is missing, or (m,) with `pairs`.
    pairs : (m, 2) integers, with `n` objects.

    M is determined up to M + a eᵀ + e aᵀ. Cost of a step O(m r).
    Raises InvalidInputError for bad shapes, negative or asymmetric entries, no known entry.
    """
    if pairs is None:
        delta = any_numbers(delta, "delta")
        pairs, targets = known_entries(delta)
        n = len(delta)
    else:
        targets = any_numbers(delta, "delta")
    if targets.size and targets.min() < 0.0:
        raise InvalidInputError(f"delta must be at least 0; found {targets.min():g}")
    return psd_regression_problem(None, targets, pairs, n=n)


def known_entries(D: Any) -> tuple[NDArray[np.intp], Array]:
    """Pairs (m, 2), i < j, and entries (m,) of a symmetric D (n, n), if D_ij or D_ji is not NaN."""
    dense = any_numbers(D, "delta")
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1] or len(dense) < 2:
        raise InvalidInputError(f"dissimilarities must be square, of order at least 2; found shape {dense.shape}")
    upper, lower = dense[np.triu_indices(len(dense), 1)], dense.T[np.triu_indices(len(dense), 1)]
    both = ~np.isnan(upper) & ~np.isnan(lower)
    if not np.allclose(upper[both], lower[both]):
        raise InvalidInputError("dissimilarities must be symmetric; found entries that differ across the diagonal")
    entries = np.where(np.isnan(upper), lower, upper)
    known = ~np.isnan(entries)
    if not np.any(known):
        raise InvalidInputError("dissimilarities must hold at least one known entry; found none")
    if np.any(np.isinf(entries)) or entries[known].min() < 0.0:
        raise InvalidInputError("dissimilarities must be finite and at least 0 (NaN where missing)")
    i, j = np.triu_indices(len(dense), 1)
    return np.column_stack([i[known], j[known]]).astype(np.intp), entries[known]


@parameters
class SSTRESS(Embedding):
    """Coordinates G (n, k) with |g_i − g_j|² ≈ d_ij² where d_ij is known: min Σ (|g_i − g_j|² − d_ij²)².

    Parameters
    ----------
    n_components : k, capped at the number of samples.
    dissimilarity : "euclidean" (from samples X) or "precomputed" (X is d (n, n), NaN where missing).
    warm_start : whether a second :meth:`fit` with as many objects starts from the coordinates of the first: when a few
        dissimilarities change, the picture changes a little and the run takes a few steps.
    solver_options : keyword arguments of :func:`psdopt.solve`.

    Attributes
    ----------
    embedding_ : (n, k), centred, along its principal axes unless warm-started (then turned to the last one).
    stress_ : SSTRESS, the sum over the known pairs. result_ : the :class:`psdopt.Result`.

    Cost: O(n² k) a step, and O(n³) for the start; memory: 64 n² bytes. 1,000 samples took 6 s of processor time.
    """

    n_components: int = 2
    _: KW_ONLY
    dissimilarity: str = "euclidean"
    warm_start: bool = False
    solver_options: Mapping[str, Any] | None = None

    pairwise = "dissimilarity"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the objects. X (n, d) samples, or dissimilarities (n, n).

        Raises InvalidInputError, naming the memory, for more objects than can be held in pairs (11,585).
        """
        missing = is_name(self.dissimilarity, "precomputed")
        X = validated(
            self, X, dtype=np.float64, ensure_min_samples=2, ensure_all_finite="allow-nan" if missing else True
        )
        one_of(self.dissimilarity, "dissimilarity", ("euclidean", "precomputed"))
        wanted = integer(self.n_components, "n_components")
        n = X.shape[0]
        all_pairs_fit(self, n, ARRAYS)
        shorter = "fewer samples, the others placed by transform"
        say_if_long(self, X.shape, 10.0 * n**3, PAIR_WORK * n**2, numbers=ARRAYS * n**2, shorter=shorter)
        pairs, distances = known_entries(X if missing else euclidean_distances(centred(X)))
        k = min(wanted, n)
        problem = sstress_problem(distances**2, pairs, n=n)
        before = getattr(self, "embedding_", None) if boolean(self.warm_start, "warm_start") else None
        again = before if before is not None and before.shape == (n, k) else None
        start = classical_scaling(n, pairs, distances, k) if again is None else LowRankPSD(again)
        self.result_ = solved(problem, k, self.solver_options, start=start)
        G = self.result_.matrix.factor - self.result_.matrix.factor.mean(axis=0)
        self.embedding_ = _principal(G, k) if again is None else _turned_to(G, again)
        self._samples: Any = None if missing else X
        self.stress_ = 2.0 * len(pairs) * self.result_.value
        return self

    def transform(self, X: Any) -> Array:
        """Positions (q, k) of new objects; a sample that equals a fitted one gets its position.

        X : samples (q, d), or dissimilarities (q, n) from the n fitted objects, NaN where missing. Each is placed by
        :func:`~psdopt_plugins.manifold_learning.new_points.landmark_placement`, which is exact if the dissimilarities
        are distances in the space of the embedding. O(q n (d + k)). The fitted samples are stored for this.
        """
        check_is_fitted(self)
        missing = is_name(self.dissimilarity, "precomputed")
        X = validated(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan" if missing else True)
        if missing:
            return landmark_placement(self.embedding_, X**2)
        centre = self._samples.mean(axis=0)
        squared = euclidean_distances(X - centre, self._samples - centre) ** 2
        return keeping_fitted(self._samples, self.embedding_, X, landmark_placement(self.embedding_, squared))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.pairwise
        return tags


def classical_scaling(n: int, pairs: Any, distances: Array, k: int) -> LowRankPSD:
    """Torgerson's scaling with the mean square in place of what is missing: the start. O(n³)."""
    squares = np.full((n, n), float(np.mean(distances**2)))
    squares[pairs[:, 0], pairs[:, 1]] = squares[pairs[:, 1], pairs[:, 0]] = distances**2
    np.fill_diagonal(squares, 0.0)
    means = squares.mean(axis=0)
    centred = -0.5 * (squares - means[:, None] - means[None, :] + means.mean())
    values, vectors = np.linalg.eigh(centred)
    # columns of zeros would stay zero
    least = 1e-3 * max(float(values[-1]), np.finfo(float).tiny)
    return LowRankPSD((vectors * np.sqrt(np.maximum(values, least)))[:, ::-1][:, :k])


def relative_stress(model: SSTRESS) -> tuple[float, float]:
    """SSTRESS over Σ d_ij⁴, of a model fitted to samples, and of as many of their principal components. O(n² d)."""
    X = centred(model._samples)
    plane = _principal(X, model.embedding_.shape[1])
    squares, near = euclidean_distances(X, squared=True), euclidean_distances(plane, squared=True)
    whole = float(np.sum(squares**2))
    return (2.0 * model.stress_ / whole, float(np.sum((squares - near) ** 2)) / whole) if whole > 0.0 else (0.0, 0.0)


def _principal(G: Array, k: int) -> Array:
    U, s, _ = np.linalg.svd(G, full_matrices=False)
    return np.asarray((U * (s * column_signs(U)))[:, :k])


def _turned_to(G: Array, before: Array) -> Array:
    """G under the rotation that brings it closest to `before`."""
    U, _, Vt = np.linalg.svd(G.T @ before)
    return np.asarray(G @ (U @ Vt))
