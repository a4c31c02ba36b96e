"""Tuples of samples in metric-learn's format: points, or indices that a preprocessor turns into points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from psdopt.checks import indices, real_array, unmasked
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.pairs import Pairs

FORMS = {2: ("pairs", "(p, 2, d)", "(p, 2)"), 3: ("triplets", "(p, 3, d)", "(p, 3)")}


def points_of_tuples(tuples: Any, width: int, preprocessor: Any = None) -> tuple[Any, Pairs]:
    """(X, rows): samples X (m, d) and integers `rows` (p, width) such that tuple t holds the samples X[rows[t]].

    Parameters
    ----------
    tuples : (p, width, d) of points: X then holds p · width rows, and points that are written twice are two samples;
        or, with a preprocessor, (p, width) of indices: X then holds each sample that occurs, once, by ascending index.
    width : 2 for pairs, 3 for triplets.
    preprocessor : array or sparse array (N, d) whose rows the indices number; or a function that takes an integer
        array (k,) and returns samples (k, d). None: tuples are points.

    Raises
    ------
    InvalidInputError for another shape, no tuple, NaN, indices out of range; InvalidTypeError for a preprocessor that
    is neither an array nor a function. O(p d).
    """
    name, points, counts = FORMS[width]
    unmasked(tuples, name)
    try:
        shape = np.shape(tuples)
    except ValueError as error:
        raise InvalidInputError(f"{name} must have shape {points}; found rows of different lengths") from error
    if len(shape) == 3 and shape[1] == width and 0 not in shape:
        X = np.ascontiguousarray(_finite(np.reshape(tuples, (-1, shape[2])), name))
        return X, np.arange(len(X)).reshape(-1, width)
    if preprocessor is None or len(shape) != 2 or shape[1] != width or shape[0] == 0:
        hint = "" if preprocessor is not None else f"; indices {counts} need a preprocessor"
        allowed = points if preprocessor is None else f"{points} or {counts}"
        raise InvalidInputError(f"{name} must have shape {allowed}, with at least one row{hint}; found shape {shape}")
    listed = _listed(tuples, name, preprocessor, width)
    touched, positions = np.unique(listed, return_inverse=True)
    return _samples(touched, preprocessor), positions.reshape(listed.shape).astype(np.intp)


def samples_of_indices(X: Any, preprocessor: Any) -> Any:
    """The samples (m, d) that X, integers (m,), stands for; X itself if it is no 1-D array, or without preprocessor.

    preprocessor : as for :func:`points_of_tuples`. Raises what it raises, for no index as well. O(m d).
    """
    if preprocessor is None or _ndim(X) != 1:
        return X
    return _samples(_listed(X, "X", preprocessor), preprocessor)


def _ndim(X: Any) -> int:
    """Of arrays, and of what can be made one; 0 for rows of different lengths."""
    try:
        return int(X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim)
    except ValueError:
        return 0


def _listed(given: Any, name: str, preprocessor: Any, columns: int | None = None) -> Pairs:
    """`given` as indices, (m,) or (m, columns), within the range of the preprocessor if that is an array."""
    below = None if callable(preprocessor) else _source(preprocessor).shape[0]
    return indices(given, name, below, columns, empty=False)


def _samples(listed: Pairs, preprocessor: Any) -> Any:
    if not callable(preprocessor):
        return _finite(_source(preprocessor)[listed], "preprocessor")
    found = _finite(preprocessor(listed), "samples of the preprocessor")
    if found.shape[0] != len(listed):
        raise InvalidInputError(f"preprocessor must return {len(listed)} rows, one per index; found {found.shape[0]}")
    return found


def _source(preprocessor: Any) -> Any:
    sparse: bool = issparse(preprocessor)
    source = csr_array(preprocessor) if sparse else real_array(preprocessor, "preprocessor")
    if source.ndim != 2:
        found = type(preprocessor).__name__
        raise InvalidTypeError(f"preprocessor must be an array (N, d) of samples or a function; found {found}")
    return source


def _finite(X: Any, name: str) -> Any:
    try:
        return check_array(unmasked(X, name), accept_sparse=["csr"], dtype=np.float64, input_name=name)
    except InvalidInputError:
        raise
    except ValueError as error:
        raise InvalidInputError(f"{name} must hold finite numbers: {error}") from error
