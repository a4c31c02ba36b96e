"""Metric learning from pairs of points labelled +1 and −1, with a threshold on the learned distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from psdopt import Certificate
from psdopt.checks import number, one_of, vector, weight
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.metric_learning.tuple_learner import OF_TABLES, TupleLearner, refused_tables
from psdopt_plugins.tuples import points_of_tuples

#: Those of weights and required labels, and those that a table (m, 3) passes as triplets.
OF_PAIRS = """
    all_zero_sample_weights_error classifiers_one_label_sample_weights estimator_sparse_array
    estimator_sparse_matrix estimator_sparse_tag requires_y_none sample_weight_equivalence_on_dense_data
    sample_weights_list sample_weights_not_an_array sample_weights_not_overwritten
    sample_weights_pandas_series sample_weights_shape
"""


class PairsClassifier(TupleLearner):
    """Learn a metric from pairs (p, 2, d) with y = ±1; a pair is similar if |L (x − z)| <= `threshold_`.

    The interface of metric-learn's pair learners (``ITML``, ``MMC``, ``SDML``) for a learner of this library.

    Parameters
    ----------
    estimator : the learner, whose ``fit`` takes ``pairs=``: :class:`Linearity` or :class:`DistanceRegression`, the
        default. A clone is fitted.
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): pairs may then be indices (p, 2).

    Attributes
    ----------
    estimator_ : the fitted learner. threshold_ : a distance. classes_ : (−1, 1).
    components_, result_, n_features_in_ : those of `estimator_`.

    Cost and memory: those of the learner on the points in pairs, and O(p (d r + log p)) for the threshold. 20,000 pairs
    among 20,000 samples of 50 features took 0.3 s of processor time.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = np.random.default_rng(0).choice(150, (400, 2))
    >>> pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    >>> signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    >>> model = PairsClassifier().fit(X[pairs[:300]], signs[:300])
    >>> bool(model.score(X[pairs[300:]], signs[300:]) > 0.95)
    True
    """

    expected_failed_checks = refused_tables(OF_TABLES + OF_PAIRS)
    keyword = "pairs"
    known = "those of DistanceRegression and, but for weights, Linearity"

    def fit(
        self, pairs: Any, y: Any, sample_weight: Any = None, calibration_params: Mapping[str, Any] | None = None
    ) -> Self:
        """Learn from pairs, points (p, 2, d) or indices (p, 2), and y (p,) of +1 (similar) and −1 (dissimilar).

        sample_weight : w (p,), of the pairs: the `pair_weight` of :class:`DistanceRegression`. The threshold and
        :meth:`score` ignore it. calibration_params : keyword arguments of
        :meth:`calibrate_threshold`, which is called with the same pairs. If all pairs are similar the threshold is
        their largest distance, if all are dissimilar half their least distance.

        Raises InvalidInputError, InvalidTypeError (both name the argument).
        """
        others = () if sample_weight is None else ("pair_weight",)
        learn = self._inner("fit", *others).fit
        return self._taught(learn, pairs, y, calibration_params or {}, **dict.fromkeys(others, sample_weight))

    def partial_fit(self, pairs: Any, y: Any) -> Self:
        """Continue learning from pairs and y as in :meth:`fit`, by the learner's ``partial_fit``.

        `threshold_` is chosen on the pairs of this call; :meth:`calibrate_threshold` on held-out pairs is better.
        """
        return self._taught(self._going_on().partial_fit, pairs, y, {})

    def certificate_on(self, pairs: Any, y: Any) -> Certificate:
        """How far M is proven to be from the best M for pairs and y as in :meth:`fit`: all pairs seen, or others.

        The ``certificate_on`` of the learner; see :meth:`DistanceRegression.certificate_on` and
        :meth:`Linearity.certificate_on`.
        """
        X, rows = self._tuples(pairs, 2)
        learner = self._able(self.estimator_, "certificate_on")
        found: Certificate = learner.certificate_on(X, pairs=np.column_stack([rows, pair_signs(y, len(rows))]))
        return found

    def calibrate_threshold(
        self, pairs: Any, y: Any, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> Self:
        """Choose `threshold_` on the given pairs, best held-out ones, by :func:`~.thresholds.best_threshold`.

        strategy : "accuracy", "f_beta" (with `beta`), "max_tpr" or "max_tnr" (with `min_rate`).
        """
        X, rows = self._tuples(pairs, 2)
        self.threshold_ = best_threshold(self._distances(X, rows), pair_signs(y, len(rows)), strategy, min_rate, beta)
        return self

    def set_threshold(self, threshold: float) -> Self:
        """Set `threshold_` to `threshold`, a distance."""
        check_is_fitted(self)
        self.threshold_ = number(threshold, "threshold")
        return self

    def decision_function(self, pairs: Any) -> Array:
        """:meth:`pair_score`, minus the learned distance, (p,)."""
        return self.pair_score(pairs)

    def predict(self, pairs: Any) -> NDArray[np.intp]:
        """+1 where the learned distance is at most `threshold_`, else −1; (p,)."""
        return np.where(self.pair_distance(pairs) <= self.threshold_, 1, -1)

    def score(self, pairs: Any, y: Any) -> float:
        """Area under the ROC curve of :meth:`decision_function`, which does not depend on the threshold."""
        X, rows = self._tuples(pairs, 2)
        return float(roc_auc_score(pair_signs(y, len(rows)), -self._distances(X, rows)))

    def _default(self) -> MahalanobisTransformer:
        return DistanceRegression()

    def _taught(self, learn: Callable[..., Any], pairs: Any, y: Any, params: Mapping[str, Any], **weights: Any) -> Self:
        X, rows = points_of_tuples(pairs, 2, self.preprocessor)
        signs = pair_signs(y, len(rows))
        self._learned(learn(X, pairs=np.column_stack([rows, signs]), **weights))
        distances = self._distances(X, rows)
        if len(np.unique(signs)) == 2:
            self.threshold_ = best_threshold(distances, signs, **params)
        else:
            self.threshold_ = float(distances.max() if signs[0] == 1 else 0.5 * distances.min())
        return self


def pair_signs(y: Any, count: int) -> NDArray[np.intp]:
    """y (count,) as integers. Raises InvalidInputError unless all are +1 or −1."""
    if y is None:
        raise InvalidInputError("y must be +1 (similar) or -1 (dissimilar) for each pair; found None")
    signs = vector(y, "y", count, "one per pair")
    if len(wrong := signs[np.abs(signs) != 1.0]):
        raise InvalidInputError(f"y must be +1 (similar) or -1 (dissimilar); found {wrong[0]:g}")
    return signs.astype(np.intp)


STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def best_threshold(
    distances: Array, y: NDArray[Any], strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
) -> float:
    """t such that "similar if distance <= t" is best on the given pairs; t lies halfway between two distances.

    With TP and FP the similar and dissimilar pairs up to t, P and N all of them, rates TPR = TP/P, TNR = 1 − FP/N.

    Parameters
    ----------
    distances : (p,). y : (p,) of +1 (similar) and −1.
    strategy : "accuracy" (TP + N − FP)/p; "f_beta" (1 + beta²) TP / (TP + FP + beta² P); "max_tpr", the greatest
        TPR with TNR >= min_rate; "max_tnr", the greatest TNR with TPR >= min_rate. Ties go to the least t.
    min_rate : in [0, 1], for the last two, which need it. beta : >= 0; 0 is the precision TP / (TP + FP).

    Raises UnknownNameError for the strategy, InvalidInputError unless both kinds of pairs occur. O(p log p).
    """
    one_of(strategy, "strategy", STRATEGIES)
    beta = weight(beta, "beta")
    order = np.argsort(distances, kind="stable")
    values, first = np.unique(distances[order], return_index=True)
    similar = np.concatenate([[0], np.cumsum(y[order] == 1)])
    # cut c leaves distances below values[c] on the similar side; the last cut leaves all
    cuts = np.append(first, len(y))
    TP = similar[cuts].astype(np.float64)
    FP = cuts - TP
    P, N = TP[-1], FP[-1]
    if P == 0 or N == 0:
        raise InvalidInputError("y must hold similar (+1) and dissimilar (-1) pairs; found only one kind")
    if strategy == "accuracy":
        gain = TP - FP
    elif strategy == "f_beta":
        total = TP + FP + beta**2 * P  # 0 only where beta is 0 and nothing is called similar
        gain = (1.0 + beta**2) * TP / np.where(total > 0.0, total, 1.0)
    else:
        gain, kept = (TP / P, 1.0 - FP / N) if strategy == "max_tpr" else (1.0 - FP / N, TP / P)
        gain = np.where(kept >= _rate(min_rate, strategy), gain, -1.0)
    below = np.concatenate([[-values[0] if values[0] > 0.0 else -2.0], values])
    above = np.append(values, values[-1])
    best = int(np.argmax(gain))
    return float(0.5 * (below[best] + above[best]))


def _rate(value: Any, strategy: str) -> float:
    if value is None:
        raise InvalidInputError(f"min_rate must be given with strategy {strategy!r}: a number between 0 and 1")
    return number(value, "min_rate", least=0.0, most=1.0)
