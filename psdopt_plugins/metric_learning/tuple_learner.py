"""The base class of learners from tuples of points: an inner metric learner gets samples and indices."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import ClassifierTags

from psdopt.errors import InvalidTypeError
from psdopt.linalg import Array
from psdopt_plugins.estimators import parameters
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer
from psdopt_plugins.tuples import samples_of_indices


@parameters
class TupleLearner(MahalanobisTransformer):
    """Fits a metric learner with ``fit(X, pairs=...)`` or ``fit(X, triplets=...)`` to tuples of points.

    A subclass sets `keyword`, the name of that argument, and `known`, learners that take it. Its parameters are
    `estimator` and `preprocessor`.
    """

    estimator: Any = None
    preprocessor: Any = None

    takes_sparse = False
    keyword: ClassVar[str]
    known: ClassVar[str]

    @property
    def classes_(self) -> NDArray[np.intp]:
        """(−1, 1)."""
        return np.array([-1, 1])

    def _default(self) -> MahalanobisTransformer:
        """The learner for estimator=None."""
        raise NotImplementedError

    def _inner(self, method: str, *others: str) -> Any:
        """A clone of the inner learner. Raises InvalidTypeError unless its `method` takes the tuples and `others`."""
        inner = self._default() if self.estimator is None else self.estimator
        offered = inspect.signature(getattr(inner, method)).parameters if hasattr(inner, method) else {}
        missing = [name for name in (self.keyword, *others) if name not in offered]
        if missing:
            found = inner.__name__ if isinstance(inner, type) else type(inner).__name__
            raise InvalidTypeError(
                f"estimator must be a metric learner whose {method} takes {missing[0]}=, as "
                f"{self.known} do; found {found}"
            )
        return clone(inner)

    def _going_on(self) -> Any:
        """The learner of the last call, or a new one. Raises InvalidTypeError unless it has ``partial_fit``."""
        fresh = self._inner("partial_fit")
        return self.estimator_ if "estimator_" in vars(self) else fresh

    def _learned(self, inner: Any) -> Self:
        """Self, with the fitted attributes of `inner`."""
        self.estimator_, self.components_ = inner, inner.components_
        self.n_features_in_ = inner.n_features_in_
        self.__dict__.pop("result_", None)
        if "result_" in vars(inner):
            self.result_ = inner.result_
        return self

    def transform(self, X: Any) -> Array:
        """X Lᵀ (m, r) for samples X (m, d) or, with a preprocessor, their indices (m,)."""
        if self.preprocessor is not None and np.ndim(X) == 1:
            X = samples_of_indices(np.asarray(X, dtype=np.intp), self.preprocessor)
        return super().transform(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = self.preprocessor is not None
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
