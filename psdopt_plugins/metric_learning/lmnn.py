"""Large-margin nearest neighbours as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from psdopt import FlatQuotient, LowRankPSD, PSDCone, Result, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, norm, row_dots
from psdopt.linalg.operators import LinearMap
from psdopt.methods.bilgo import BILGO
from psdopt_plugins.estimators import options_for_solve
from psdopt_plugins.metric_learning.impostors import (
    Indices,
    merged,
    nearest_impostors,
    target_neighbours,
    violated_triplets,
)
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer, sorted_components

#: Up to this many features a dense X is whitened by the scatter of its target neighbours.
WHITENED_FEATURES = 2000
#: Damping of that scatter, relative to its mean eigenvalue: constant and collinear features cost nothing.
DAMPING = 0.1
#: Mean distance of target neighbours at the start, in margins.
START_DISTANCE = 5.0
#: Triplets short of violation by less than this are kept ready, so that a step does not run into unseen ones.
BUFFER = 0.15
#: |L| falls at most by this factor from round to round.
SHRINKAGE = 0.5
#: Iterations of the first rounds, in which the active set is replaced; afterwards it only grows. All but the last of
#: them look at a sample of the targets.
EARLY_ROUNDS = (5, 8, 8, 8)
#: There the nearest impostors of every sample count whether they violate or not, so that M does not shrink
#: past those that are not seen yet; and no more triplets than this.
EARLY_IMPOSTORS, EARLY_TRIPLETS = 5, 150_000
LATER_ITERATIONS = 200
DEFAULT_TOL = 1e-2
FIRST_RANK = 20
#: Samples whose targets and impostors stand for all in the early rounds: the metric need not be better than that yet.
EARLY_SAMPLES = 1500


class LMNN(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d): target neighbours close, samples of other classes farther by a margin (Hao et al., eq. 8).

    Minimises Σ d_M(i, j) + lam Σ max(0, 1 + d_M(i, j) − d_M(i, k))² over the `n_neighbors` targets j of every i and
    *all* k of other classes, by an active set: only triplets that are violated, or nearly so, under the metric at hand
    are enumerated; impostors are found anew as it moves, until none is missing. Then the certificate of the last
    round holds for the whole problem.

    Parameters
    ----------
    n_neighbors : target neighbours per sample, chosen by Euclidean distance once.
    lam : weight of the margins, > 0; it does not depend on the units of X.
    rank : largest rank of M, or None for no limit.
    max_rounds : rounds of the active set. max_triplets : most triplets held; beyond, the most violated are kept.
    solver_options : keyword arguments for :func:`psdopt.solve`, for every round; default tol 1e-2, below which no error
        rate that was measured changes.

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` of the last round, in the coordinates in which the scatter of target
        neighbours is the identity (dense X up to d = 2000; a change of basis, which no value depends on).
    n_triplets_ : triplets of the last round. n_rounds_, n_iter_ : rounds, and iterations of all.
    complete_ : whether no violated triplet is missing from the last round.
    n_features_in_ : d.

    Cost per round: O(m² r) flops in blocks for the impostors, O((m d + triplets) r) per iteration. Memory: the
    data, the triplets, one block.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(LMNN(), KNeighborsClassifier(3)).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.93)
    True
    """

    def __init__(
        self,
        n_neighbors: int = 3,
        lam: float = 3.0,
        rank: int | None = None,
        max_rounds: int = 20,
        max_triplets: int = 2_000_000,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.lam = lam
        self.rank = rank
        self.max_rounds = max_rounds
        self.max_triplets = max_triplets
        self.solver_options = solver_options

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from X (m, d), dense or sparse, and labels y (m,) of at least two classes.

        Raises InvalidInputError (naming the argument) and scikit-learn's ValueErrors.
        """
        X, y = validate_data(self, X, y, accept_sparse=["csr"], dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        if len(np.unique(y)) < 2:
            raise InvalidInputError(f"y must hold at least 2 classes; found only one class, {y[0]!r}")
        self._check_parameters()
        targets = target_neighbours(X, y, self.n_neighbors)
        basis = _whitening(X, targets)
        data = X if basis is None else X @ basis
        Z = self._run(LinearMap(data, "X"), y, targets, _start(data, targets, self._first_rank(X)))
        self.components_ = sorted_components(LowRankPSD(Z if basis is None else basis @ Z))
        return self

    def _run(self, data: LinearMap, y: Any, targets: Indices, Z: Array) -> Array:
        """Rounds of the active set; the factor at the end."""
        m, d = data.shape
        options = options_for_solve(self.solver_options, tol=DEFAULT_TOL)
        triplets = np.empty((0, 3), dtype=np.intp)
        self.n_iter_, self.complete_, settled = 0, False, False
        some = _some_targets(targets, m)
        for round_ in range(self.max_rounds):
            early = round_ < len(EARLY_ROUNDS)
            sampled = round_ < len(EARLY_ROUNDS) - 1
            pairs, image = some if sampled else targets, data.apply(Z)
            if sampled:
                violated = violated_triplets(image, y, pairs, 1.0 + BUFFER, min(EARLY_TRIPLETS, self.max_triplets))[0]
                triplets = merged(violated, nearest_impostors(image, y, pairs, EARLY_IMPOSTORS), m)
            else:
                rows, excess = violated_triplets(image, y, pairs, 1.0 + BUFFER, self.max_triplets)
                if settled and len(merged(triplets, rows[excess > BUFFER], m)) == len(triplets):
                    self.complete_ = len(rows) < self.max_triplets
                    break
                triplets = rows if round_ <= len(EARLY_ROUNDS) else merged(triplets, rows, m)
            limit = EARLY_ROUNDS[round_] if early else LATER_ITERATIONS
            pieces: dict[str, Any] = {"geometry": FlatQuotient(d, Z.shape[1])}
            if self.rank is None and not early:  # atoms lead out of stationary points of too low a rank
                pieces = {"geometry": PSDCone(d), "method": BILGO()}
            given = {**pieces, "max_iterations": limit, **options}
            self.result_: Result = solve(lmnn_problem(data, pairs, triplets, self.lam), start=Z, **given)
            self.n_iter_ += self.result_.iterations
            before, Z = Z, self.result_.matrix.factor
            collapsed = norm(Z) < SHRINKAGE * norm(before)
            if collapsed:  # too few impostors were known: nothing kept M from shrinking past those that matter
                Z = SHRINKAGE * before
            settled = not early and not collapsed and self.result_.converged
        self.n_rounds_, self.n_triplets_ = round_ + 1, len(triplets)
        if not (self.complete_ and self.result_.converged):
            missing = "violated triplets are missing from the last round"
            what = missing if self.result_.converged else self.result_.message
            text = f"LMNN stopped after {round_ + 1} rounds before convergence: {what}"
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        self.result_ = replace(self.result_, state=None)
        return Z

    def _first_rank(self, X: Any) -> int:
        return int(min(self.rank or FIRST_RANK, *X.shape))

    def _check_parameters(self) -> None:
        least = {"n_neighbors": 1, "max_rounds": 1, "max_triplets": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < bound:
                raise InvalidInputError(f"{name} must be an integer of at least {bound}; found {value!r}")
        if self.rank is not None and (not isinstance(self.rank, (int, np.integer)) or self.rank < 1):
            raise InvalidInputError(f"rank must be an integer of at least 1, or None; found {self.rank!r}")
        if not isinstance(self.lam, Real) or isinstance(self.lam, bool) or not 0.0 < self.lam < np.inf:
            raise InvalidInputError(f"lam must be a positive finite number; found {self.lam!r}")
        if self.rank is not None and self.rank > self.n_features_in_:
            raise InvalidInputError(f"rank must be <= {self.n_features_in_}, the features of X; found {self.rank!r}")


def _some_targets(targets: Indices, m: int) -> Indices:
    """The targets of EARLY_SAMPLES samples, drawn with a fixed seed; all of them where there are no more."""
    if m <= EARLY_SAMPLES:
        return targets
    chosen = np.zeros(m, dtype=bool)
    chosen[np.random.default_rng(0).choice(m, EARLY_SAMPLES, replace=False)] = True
    kept = targets[chosen[targets[:, 0]]]
    return kept if len(kept) > 0 else targets


def _whitening(X: Any, targets: Indices) -> Array | None:
    """B (d, d) with Bᵀ (C + damping) B = I, C the mean scatter of target neighbours; None where it would be too large.

    In these coordinates the pulling term is about the trace of M: what is left is well conditioned.
    """
    if sp.issparse(X) or X.shape[1] > WHITENED_FEATURES:
        return None
    difference = X[targets[:, 0]] - X[targets[:, 1]]
    values, vectors = np.linalg.eigh(difference.T @ difference / len(targets))
    values = np.maximum(values, 0.0)
    if not values[-1] > 0.0:
        return None
    return np.asarray(vectors / np.sqrt(values + DAMPING * values.mean()))


def _start(X: Any, targets: Indices, rank: int) -> Array:
    """Principal axes (d, r) of the samples, scaled to a mean distance of START_DISTANCE between targets."""
    if sp.issparse(X):
        data: Any = X
        smaller = min(data.shape)
        k = min(rank, smaller - 1)
        V = svds(data, k=k, v0=np.ones(smaller))[2].T if k >= 1 else np.ones((data.shape[1], 1))
    else:
        centred = X - X.mean(axis=0)
        V = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :rank] if X.shape[1] <= X.shape[0] else (
            np.linalg.svd(centred, full_matrices=False)[2][:rank].T
        )  # fmt: skip
    Z = np.asarray(X @ V)
    difference = Z[targets[:, 0]] - Z[targets[:, 1]]
    mean = float(np.mean(row_dots(difference, difference)))
    return np.ascontiguousarray(V) * np.sqrt(START_DISTANCE / mean) if mean > 0.0 else np.ascontiguousarray(V)
