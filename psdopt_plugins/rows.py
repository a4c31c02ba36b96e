"""The way of X into an estimator: arrays through scikit-learn's checks, rows on disk or on a cluster in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array, LinearMap, RowBlocks, WithoutRows, linear_map, row_source
from psdopt.parts import touched
from psdopt_plugins.estimators import sample_weights


def validated(estimator: Any, X: Any, y: Any = "no_validation", *, blocks: bool = False, **options: Any) -> Any:
    """scikit-learn's ``validate_data``, which never loads rows that are read in blocks.

    Where X is read in blocks (memory maps, Zarr, HDF5 and Dask arrays, Arrow tables, Parquet files) X comes back as
    :class:`psdopt.linalg.RowBlocks`, if `blocks` says that the estimator takes them; NaN is looked for in the first
    pass over them. Labels, one number per row, are always in memory.

    Raises InvalidTypeError where the estimator needs all rows at once, InvalidInputError for labels of another length.
    """
    if isinstance(X, RowBlocks):
        X = X.source
    source = row_source(X)
    if source is None:
        return validate_data(estimator, X, y, **options)
    name = type(estimator).__name__
    if not blocks:
        raise InvalidTypeError(
            f"X is a {type(X).__name__} that is read in blocks of rows, but {name} needs all rows in memory here; "
            "pass np.asarray(X) if they fit"
        )
    rows = linear_map(source, "X")
    validate_data(estimator, rows, skip_check_array=True, reset=options.get("reset", True))
    least = options.get("ensure_min_samples", 1)
    if rows.shape[0] < least:
        raise InvalidInputError(f"X must hold at least {least} samples; found {rows.shape[0]}")
    if isinstance(y, str) and y == "no_validation":
        return rows
    labels = np.asarray(y)
    if labels.shape != (rows.shape[0],):
        raise InvalidInputError(f"y must have shape ({rows.shape[0]},), one per row of X; found {labels.shape}")
    if options.get("y_numeric"):
        labels = labels.astype(np.float64)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise InvalidInputError(f"y must be finite; found {int(np.sum(~np.isfinite(labels)))} NaN or infinite entries")
    return rows, labels


def projected(X: Any, components: Array) -> Array:
    """X Lᵀ (m, r) for L (r, d): one product, or one pass over rows that are read in blocks."""
    if isinstance(X, LinearMap):
        return X.apply(np.ascontiguousarray(components.T))
    return np.asarray(X @ components.T)


def weighted(X: Any, sample_weight: Any, *others: Any) -> tuple[Any, ...]:
    """(X, w, *others): weights w (m,), or None for None; samples of weight 0 are left out of all.

    X (m, d); `others` are None or arrays (m,). Raises InvalidInputError unless weights are finite, at least 0 and not
    all 0.
    """
    w = sample_weights(sample_weight, X.shape[0])
    if w is None or w.all() or (isinstance(X, LinearMap) and not isinstance(X, RowBlocks)):
        return (X, w, *others)
    kept = np.flatnonzero(w)
    rows = RowBlocks(WithoutRows(X.source, np.flatnonzero(w == 0.0)), X.name) if isinstance(X, RowBlocks) else X[kept]
    return (rows, w[kept], *(None if other is None else np.asarray(other)[kept] for other in others))


def only_touched(X: LinearMap, tuples: NDArray[np.intp]) -> tuple[LinearMap, NDArray[np.intp]]:
    """(X, tuples); for rows that are read in blocks those that the tuples (p, k) touch, in memory.

    The tuples are then counted within these rows. One pass, over the blocks that hold such rows.
    """
    if not isinstance(X, RowBlocks):
        return X, tuples
    ends = np.asarray(tuples)
    if ends.size and (ends.min() < 0 or ends.max() >= X.shape[0]):
        wrong = ends.min() if ends.min() < 0 else ends.max()
        raise InvalidInputError(f"indices of rows must lie between 0 and {X.shape[0] - 1}; found {wrong}")
    rows, positions = touched(tuples)
    return LinearMap(X.take(rows), X.name), positions
