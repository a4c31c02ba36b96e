"""Shared parts of the estimators: base classes, options for solve(), its result, seeds, geometries by name, signs."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from psdopt import Constrained, FlatQuotient, Geometry, LowRankPSD, MaxTime, Polar, Problem, Result, Status, solve
from psdopt.checks import brief, is_name, one_of, vector
from psdopt.devices import DeviceArray, held, is_device_array, released, transposed
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import EPS, Array, rounding

GEOMETRIES = ("flat", "polar")
#: Statuses of a run after which a fit of several runs stops.
CUT = (Status.INTERRUPTED, Status.OUT_OF_MEMORY, Status.TIME_LIMIT)


Kind = TypeVar("Kind", bound=type)


@dataclass_transform()
def parameters(estimator: Kind) -> Kind:
    """A class decorator: the annotated names are the parameters of ``__init__``, which only stores them."""
    dataclass(eq=False, repr=False)(estimator)
    return estimator


class Estimator(BaseEstimator):
    """Base of the estimators; class attributes declare the accepted data and give scikit-learn's tags.

    takes_sparse : whether X may be sparse. pairwise : whether X is a matrix (n, n) over pairs of samples, or the name
    of the parameter that makes it one if "precomputed". needs_y : whether y is required.
    """

    takes_sparse: bool = False
    pairwise: bool | str = False
    needs_y: bool = False

    def __sklearn_tags__(self) -> Any:
        tags, said = super().__sklearn_tags__(), self.pairwise
        tags.input_tags.sparse = self.takes_sparse
        tags.input_tags.pairwise = is_name(getattr(self, said), "precomputed") if isinstance(said, str) else said
        tags.target_tags.required = self.needs_y
        return tags


class Embedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of transformers whose fit makes ``embedding_`` (n, k), one row per sample."""

    embedding_: Array

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """The embedding (n, k) of the samples."""
        found: Array = self.fit(X, y).embedding_
        return found

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def options_for_solve(options: Mapping[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """Keyword arguments for :func:`psdopt.solve`: `options` that are not None, else `defaults`.

    Raises InvalidTypeError if `options` is not a mapping, UnknownNameError for an option that solve does not take.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InvalidTypeError(f"solver_options must be a dict or None; found {options!r}")
    for name in options or {}:
        one_of(name, "solver option", set(inspect.signature(solve).parameters) - {"problem"})
    return {**defaults, **{name: value for name, value in (options or {}).items() if value is not None}}


def solved(problem: Problem, rank: int | None, options: Mapping[str, Any] | None, **defaults: Any) -> Result:
    """:func:`psdopt.solve` with `options` over `defaults`; a `rank` limits M to that rank, None does not.

    If M = 0 is certified optimal and the run has not converged to it, M = 0 is returned; this is not tried if the run
    was cut (:func:`was_cut`) or `max_time` is used up.
    """
    if rank is not None:
        defaults.setdefault("geometry", FlatQuotient(problem.n, rank))
    given = options_for_solve(options, **defaults)
    return finished(_or_zero(problem, solve(problem, **given), given), stacklevel=4)


def finished(result: Result, stacklevel: int = 3) -> Result:
    """`result` without the state and the problem, which hold the data; a ConvergenceWarning unless it converged."""
    if not result.converged:
        text = f"psdopt.solve ended before convergence: {result.message}"
        warnings.warn(text, ConvergenceWarning, stacklevel=stacklevel)
    return replace(result, state=None, solved=None)


def was_cut(result: Result) -> bool:
    """Whether Ctrl-C, a lack of memory or the time limit ended the run; a fit of several runs then ends as well."""
    return result.status in CUT


def one_of_several(result: Result) -> Result:
    """`result` of one of several runs: if the run was cut, the status says so, even if its point is optimal.

    Otherwise the proof, which concerns this run alone, would hide the cut in the message.
    """
    cut = next((status for status in CUT[:2] if status.value in result.message), result.status)
    return result if cut is result.status else replace(result, status=cut)


def of_a_round(result: Result, problem: Problem, L: Array, max_time: Any = None) -> Result:
    """`result` of one of several runs that share the limit `max_time`: the message names it where time was up.

    If the run, from L (n, r), was cut before F was known there, the matrix is L Lᵀ and the value F(L Lᵀ).
    """
    left = result.ended_by
    if not isinstance(left, MaxTime):
        return result
    whole = left if max_time is None else MaxTime(float(max_time))
    if math.isnan(result.value):
        result = replace(result, matrix=LowRankPSD(L), value=problem.at(L).value, message=left.reason())
    return replace(result, message=result.message.replace(left.reason(), whole.reason()), ended_by=whole)


def _or_zero(problem: Problem, result: Result, options: Mapping[str, Any]) -> Result:
    if was_cut(result):
        return result
    slack = rounding(problem.value_at_zero(), problem.n)
    if result.converged or result.value < problem.value_at_zero() - slack or options.get("resume") is not None:
        return result
    again = {**options, "start": LowRankPSD(np.zeros((problem.n, 1)))}
    if options.get("max_time") is not None:
        again["max_time"] = options["max_time"] - result.seconds
        if again["max_time"] <= 0.0:
            return result
    at_zero = solve(problem, **again)
    return at_zero if at_zero.optimal else result


def named_geometry(name: str, n: int, rank: int, weight: float) -> Geometry:
    """FlatQuotient(n, rank) for "flat", Polar(n, rank, weight) for "polar"; UnknownNameError for another name."""
    one_of(name, "geometry", GEOMETRIES)
    return Polar(n, rank, weight) if name == "polar" else FlatQuotient(n, rank)


def generator(random_state: Any) -> np.random.Generator:
    """A generator from scikit-learn's `random_state` (None, an int or a RandomState, which it advances), or itself."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(random_source(random_state).randint(np.iinfo(np.int32).max, size=4))


def random_source(random_state: Any) -> np.random.RandomState:
    """scikit-learn's `random_state` as a RandomState. Raises InvalidInputError for anything else."""
    try:
        source: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        allowed = "None, an integer from 0 to 2**32 - 1, or a numpy.random.RandomState"
        raise InvalidInputError(f"random_state must be {allowed}; found {brief(random_state)}") from error
    return source


def sample_weights(values: Any, size: int, of: str = "one per sample", name: str = "sample_weight") -> Array | None:
    """`values` as weights (size,); None stays None, and a number is the weight of each.

    Raises InvalidInputError unless they are finite, at least 0 and not all 0.
    """
    if values is None:
        return None
    weights = vector(values, name, size, of)
    if weights.min(initial=0.0) < 0.0 or not weights.sum() > 0.0:
        found = f"found {weights.min():g}" if weights.min(initial=0.0) < 0.0 else "found only zeros"
        raise InvalidInputError(f"{name} must be at least 0, and above 0 somewhere; {found}")
    return weights


def of_one_kind(y: Any) -> None:
    """InvalidInputError for labels y that are not all text or all numbers, with the first of each kind. O(m)."""
    labels = np.empty(0) if is_device_array(y) else np.asarray(y)
    if labels.dtype.kind != "O":
        return
    first: dict[str, Any] = {}
    for label in labels.ravel():
        number = isinstance(label, Number) and label == label  # NaN stands for a missing label
        first.setdefault("text" if isinstance(label, str) else "number" if number else "", label)
    if len(first) > 1:
        raise InvalidInputError(
            f"y must hold labels, all text or all numbers; found {' and '.join(map(repr, first.values()))}"
        )


def centred(X: Any, about: Any = None) -> Any:
    """X minus the mean row of `about` (default X), so that distances from differences of squares do not cancel.

    Sparse arrays are not centred.
    """
    return X if issparse(X) else X - (X if about is None else about).mean(axis=0)


def column_signs(V: Array) -> Array:
    """±1 for each column of V (n, k), so that the product has a positive entry of largest modulus."""
    if V.shape[1] == 0:
        return np.empty(0)
    if isinstance(V, DeviceArray):
        return np.where(-V.min(axis=0) > V.max(axis=0), -1.0, 1.0)
    largest = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return np.where(largest < 0.0, -1.0, 1.0)


def sorted_components(M: LowRankPSD, meaning: str) -> Array:
    """L (r, d) with M = LᵀL: orthogonal rows by decreasing norm, the largest entry of each positive.

    r is the numerical rank of M. For M = 0 one row of zeros is returned, with a warning that ends in `meaning`.
    """
    values, vectors = M.eigh()
    if len(values) == 0:
        warnings.warn(f"the learned matrix is M = 0: {meaning}", stacklevel=3)
        return np.zeros((1, M.n))
    axes = held(vectors)
    components: Array = released(transposed(axes * (np.sqrt(values) * column_signs(axes))))
    return components


def relaxed(problem: Constrained, options: Mapping[str, Any] | None, **defaults: Any) -> Result:
    """:func:`psdopt.solve` with `options` over `defaults`; a ConvergenceWarning where it did not converge."""
    return finished(solve(problem, **options_for_solve(options, **defaults)), stacklevel=4)


def proven_bound(result: Result) -> float:
    """The lower bound on min F that the certificate proves; −inf without one."""
    certificate = result.certificate
    bound = None if certificate is None else certificate.dual_value
    return -np.inf if bound is None else float(bound)


def unit_rows(Y: Array) -> Array:
    """Y (n, r) with rows of length one; a row of zeros becomes e_1."""
    V = np.array(Y) if Y.shape[1] else np.ones((len(Y), 1))
    lengths = np.linalg.norm(V, axis=1)
    flat = lengths <= EPS * float(lengths.max())
    V[flat] = np.eye(1, V.shape[1])
    lengths[flat] = 1.0
    return np.asarray(V / lengths[:, None])
