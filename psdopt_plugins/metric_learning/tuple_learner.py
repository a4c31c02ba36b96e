"""The base class of learners from tuples of points: an inner metric learner gets samples and indices."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import ClassifierTags

from psdopt.errors import InvalidTypeError
from psdopt_plugins.estimators import parameters
from psdopt_plugins.metric_learning.mahalanobis import MahalanobisTransformer

#: Checks of scikit-learn that fit a table (m, d), which it hands over where a preprocessor allows 2-D arrays.
OF_TABLES = """
    classifier_data_not_an_array classifier_not_supporting_multiclass classifiers_classes
    classifiers_one_label classifiers_regression_target classifiers_train complex_data dict_unchanged
    dont_overwrite_parameters dtype_object estimators_dtypes estimators_empty_data_messages
    estimators_fit_returns_self estimators_nan_inf estimators_overwrite_params
    estimators_partial_fit_n_features estimators_pickle f_contiguous_array_estimator fit2d_1feature
    fit2d_1sample fit2d_predict1d fit_check_is_fitted fit_idempotent fit_score_takes_y
    methods_sample_order_invariance methods_subset_invariance n_features_in n_features_in_after_fitting
    pipeline_consistency positive_only_tag_during_fit readonly_memmap_input supervised_y_2d
    transformer_data_not_an_array transformer_general transformer_preserve_dtypes
"""


def refused_tables(names: str) -> dict[str, str]:
    """{check: reason} for checks of scikit-learn, named without "check_", that take a table for tuples."""
    return {f"check_{name}": "a table of samples is no array of tuples of points or indices" for name in names.split()}


@parameters
class TupleLearner(MahalanobisTransformer):
    """Fits a metric learner with ``fit(X, pairs=...)`` or ``fit(X, triplets=...)`` to tuples of points.

    A subclass sets `keyword`, the name of that argument, and `known`, learners that take it. Its parameters are
    `estimator` and `preprocessor`.
    """

    estimator: Any = None
    preprocessor: Any = None

    takes_sparse = False
    expected_failed_checks: ClassVar[Mapping[str, str]] = refused_tables(OF_TABLES)
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
        return clone(self._able(self._default() if self.estimator is None else self.estimator, method, *others))

    def _able(self, inner: Any, method: str, *others: str) -> Any:
        """`inner`. Raises InvalidTypeError unless its `method` takes the tuples and `others`."""
        offered = inspect.signature(getattr(inner, method)).parameters if hasattr(inner, method) else {}
        missing = [name for name in (self.keyword, *others) if name not in offered]
        if missing:
            found = inner.__name__ if isinstance(inner, type) else type(inner).__name__
            raise InvalidTypeError(
                f"estimator must be a metric learner whose {method} takes {missing[0]}=, as "
                f"{self.known} do; found {found}"
            )
        return inner

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = self.preprocessor is not None
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
