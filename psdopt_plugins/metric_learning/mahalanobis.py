"""What the metric-learning estimators share: from a problem to a linear transformer."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from psdopt import FlatQuotient, LowRankPSD, Problem, Result, solve
from psdopt.errors import InvalidTypeError, unknown_name
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import rounding


def solved(problem: Problem, rank: int | None, options: Mapping[str, Any] | None) -> Result:
    """``psdopt.solve`` with `options`; a `rank` limits M to that rank, None does not.

    The method's state, which holds the data, is not kept. Warns with ConvergenceWarning if the run did not
    converge. Raises UnknownNameError for an option that solve does not take.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InvalidTypeError(f"solver_options must be a dict or None; found {options!r}")
    given = dict(options or {})
    known = set(inspect.signature(solve).parameters) - {"problem"}
    for name in given:
        if name not in known:
            raise unknown_name("solver option", name, known)
    if rank is not None and given.get("geometry") is None:
        given["geometry"] = FlatQuotient(problem.n, rank)
    result = _or_zero(problem, solve(problem, **given), given)
    if not result.converged:
        warnings.warn(f"psdopt.solve ended before convergence: {result.message}", ConvergenceWarning, stacklevel=3)
    return replace(result, state=None)


def _or_zero(problem: Problem, result: Result, options: Mapping[str, Any]) -> Result:
    """`result`, or the run from M = 0 if `result` creeps towards a zero that is certified optimal."""
    slack = rounding(problem.value_at_zero(), problem.n)
    if result.converged or result.value < problem.value_at_zero() - slack or options.get("resume") is not None:
        return result
    at_zero = solve(problem, **{**options, "start": LowRankPSD(np.zeros((problem.n, 1)))})
    return at_zero if at_zero.optimal else result


def sorted_components(M: LowRankPSD) -> Array:
    """L (r, d) with M = LᵀL: orthogonal rows by decreasing norm, the largest entry of each positive.

    r is the numerical rank of M. For M = 0 one row of zeros is returned, with a warning.
    """
    values, vectors = M.eigh()
    if len(values) == 0:
        warnings.warn("the learned matrix is M = 0: all distances are zero; change lam or the pairs", stacklevel=3)
        return np.zeros((1, M.n))
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(values))])
    return np.asarray((vectors * (np.sqrt(values) * signs)).T)


class MahalanobisTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of estimators that learn d_M(x, z) = (x − z)ᵀM(x − z), used as the linear map x ↦ L x, M = LᵀL."""

    components_: Array
    result_: Result
    n_features_in_: int

    def _learn(self, problem: Problem, rank: int | None, options: Mapping[str, Any] | None) -> Self:
        self.result_ = solved(problem, rank, options)
        self.components_ = sorted_components(self.result_.matrix)
        return self

    def transform(self, X: Any) -> Array:
        """X Lᵀ (m, r): Euclidean distances between its rows are the learned distances. X (m, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
        return np.asarray(X @ self.components_.T)

    def get_mahalanobis_matrix(self) -> Array:
        """M = LᵀL (d, d)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
