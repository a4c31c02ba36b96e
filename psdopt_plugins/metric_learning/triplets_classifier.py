"""Metric learning from triplets of points: the first is nearer to the second than to the third."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from psdopt import Certificate
from psdopt.linalg import Array
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.metric_learning.psdboost import PSDBoost
from psdopt_plugins.metric_learning.tuple_learner import TupleLearner
from psdopt_plugins.tuples import points_of_tuples


class TripletsClassifier(TupleLearner):
    """Learn a metric from triplets (m, 3, d) of points (x, z, w) with |L (x − z)| < |L (x − w)|.

    The interface of metric-learn's triplet learners (``SCML``) for a learner of this library.

    Parameters
    ----------
    estimator : the learner, whose ``fit`` takes ``triplets=``: :class:`LMNN` or :class:`PSDBoost`, the default.
        A clone is fitted.
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): triplets may then be indices (m, 3).

    Attributes
    ----------
    estimator_ : the fitted learner. classes_ : (−1, 1).
    components_, result_, n_features_in_ : those of `estimator_`.

    Cost and memory: those of the learner on the points in triplets. 4,000 triplets of samples of 50 features took 4 s
    of processor time.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from psdopt_plugins.pair_sampling import nearest_triplets
    >>> X, y = load_iris(return_X_y=True)
    >>> triplets = nearest_triplets(X, y)
    >>> model = TripletsClassifier(preprocessor=X).fit(triplets[::2])
    >>> bool(model.score(triplets[1::2]) > 0.9)
    True
    """

    needs_y = False
    keyword = "triplets"
    known = "those of LMNN and, for fit alone, PSDBoost"

    def fit(self, triplets: Any, y: Any = None) -> Self:
        """Learn from triplets, points (m, 3, d) or indices (m, 3); y is ignored.

        Raises InvalidInputError, InvalidTypeError (both name the argument).
        """
        return self._taught(self._inner("fit").fit, triplets)

    def partial_fit(self, triplets: Any, y: Any = None) -> Self:
        """Continue learning from triplets as in :meth:`fit`, by the ``partial_fit`` of, for example, :class:`LMNN`."""
        return self._taught(self._going_on().partial_fit, triplets)

    def certificate_on(self, triplets: Any, y: Any = None) -> Certificate:
        """How far M is proven to be from the best M for triplets as in :meth:`fit`: all triplets seen, or others.

        The ``certificate_on`` of the learner; see :meth:`LMNN.certificate_on`.
        """
        X, rows = self._tuples(triplets, 3)
        found: Certificate = self._able(self.estimator_, "certificate_on").certificate_on(X, triplets=rows)
        return found

    def _taught(self, learn: Callable[..., Any], triplets: Any) -> Self:
        X, rows = points_of_tuples(triplets, 3, self.preprocessor)
        return self._learned(learn(X, triplets=rows))

    def decision_function(self, triplets: Any) -> Array:
        """|L (x − w)| − |L (x − z)| (m,): positive if the metric satisfies the triplet."""
        X, rows = self._tuples(triplets, 3)
        return self._distances(X, rows[:, [0, 2]]) - self._distances(X, rows[:, :2])

    def predict(self, triplets: Any) -> NDArray[np.intp]:
        """+1 if :meth:`decision_function` is positive, else −1; (m,)."""
        return np.where(self.decision_function(triplets) > 0.0, 1, -1)

    def score(self, triplets: Any, y: Any = None) -> float:
        """Fraction of triplets that the metric satisfies; y is ignored."""
        return float(np.mean(self.predict(triplets) == 1))

    def _default(self) -> MahalanobisTransformer:
        return PSDBoost()
