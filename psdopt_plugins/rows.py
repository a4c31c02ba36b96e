"""Validating the X of an estimator: arrays by scikit-learn's checks, rows on disk or on a cluster in blocks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import validate_data

from psdopt.checks import CheckedIndices, real_array, squares_finite, unmasked
from psdopt.devices import device_of, held, is_device_array, on_host, placed, released, transposed
from psdopt.errors import InvalidInputError, InvalidTypeError, PsdoptError
from psdopt.linalg import EPS, Array, LinearMap, RowBlocks, WithoutRows, linear_map, row_source
from psdopt.problems.distributed import touched
from psdopt_plugins.estimators import centred, of_one_kind, sample_weights
from psdopt_plugins.limits import ALL_PAIRS, BLOCK, MINOR, ROUNDINGS
from psdopt_plugins.tuples import samples_of_indices


def validated(
    estimator: Any, X: Any, y: Any = "no_validation", *, blocks: bool = False, devices: bool = False, **options: Any
) -> Any:
    """scikit-learn's ``validate_data``, which never loads rows that are read in blocks.

    With scikit-learn's ``array_api_dispatch`` an X of a library other than NumPy stays on its device, if `devices` says
    that the estimator takes such arrays; labels come to the host.

    If X is read in blocks (memory maps, Zarr, HDF5 and Dask arrays, Arrow tables, Parquet files) and `blocks` says that
    the estimator accepts this, X is returned as :class:`psdopt.linalg.RowBlocks`; the first pass checks for NaN.
    Labels, one number per row, are always in memory. If the estimator has a `preprocessor`, X may be indices (m,).

    Raises InvalidTypeError if the estimator needs all rows at once, InvalidInputError for labels of another length; for
    entries so large that distances or XᵀX would be infinite, where X is a NumPy or SciPy array in memory, and targets
    whose squares would; for text in a column of a data frame, which it names, among targets that must be numbers, and
    for labels of several kinds.
    """
    unmasked(X, "X")
    unmasked(y, "y")
    if isinstance(X, RowBlocks):
        X = X.source
    name = type(estimator).__name__
    if get_config()["array_api_dispatch"] and is_device_array(X):
        if not devices:
            raise InvalidTypeError(f"X must be a NumPy array for {name}; found an array of {device_of(X)}")
        return _on_device(estimator, X, y, options)
    source = row_source(X)
    if source is None:
        X = samples_of_indices(X, getattr(estimator, "preprocessor", None))
        if options.get("y_numeric"):
            _numbers(y)
        else:
            of_one_kind(y)
        try:
            found = validate_data(estimator, X, y, **options)
        except (TypeError, ValueError) as error:
            raise _of_column(X, error) from None
        rows, *labels = found if isinstance(found, tuple) else (found,)
        if sp.isspmatrix(rows):  # whose sums along an axis are matrices
            rows = getattr(sp, f"{rows.getformat()}_array")(rows)
        squares_finite(cast(Any, rows).data if sp.issparse(rows) else rows, rows.shape, "X")
        if labels and options.get("y_numeric"):
            squares_finite(labels[0], labels[0].shape, "y")
        return (rows, *labels) if labels else rows
    if not blocks:
        raise InvalidTypeError(
            f"X is a {type(X).__name__} that is read in blocks of rows, but {name} needs all rows in memory here; "
            "pass np.asarray(X) if they fit"
        )
    rows = linear_map(source, "X")
    _counted(estimator, rows, options)
    return rows if isinstance(y, str) and y == "no_validation" else (rows, _labels(y, rows.shape[0], options))


def validated_with(estimator: Any, X: Any, y: Any, given: Any, drawn: Callable[..., Any], **options: Any) -> Any:
    """(X, pairs or triplets) with X as :func:`validated`: those `given`, else those `drawn` (X, y) from class labels y.

    At least two samples, dense or CSR unless `options` say otherwise.

    Raises what :func:`validated` raises, and scikit-learn's ValueError for labels that are no classes.
    """
    options = {"accept_sparse": ["csr"], "dtype": np.float64, "ensure_min_samples": 2, **options}
    if given is not None:
        return validated(estimator, X, **options), given
    X, y = validated(estimator, X, y, **options)
    check_classification_targets(y)
    return X, drawn(X, y)


def _numbers(y: Any) -> None:
    """InvalidInputError, with an entry, for targets y that are text."""
    if not is_device_array(y) and (text := np.asarray(y)).dtype.kind in "OUS":
        for entry in text.ravel():
            if isinstance(entry, (str, bytes)):
                raise InvalidInputError(f"y must hold numbers; found text: {str(entry)!r}")


def _of_column(X: Any, error: TypeError | ValueError) -> TypeError | ValueError:
    """`error`; if X is a data frame with a column of text or dates, or two of one name, one that names the column.

    Of an error that says where NaN was found, only this: its advice names other estimators of scikit-learn.
    """
    names = list(getattr(X, "columns", ()))
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        return InvalidInputError(f"X must have columns of different names; found {twice[0]!r} twice")
    for name in names:
        try:
            if getattr(X[name].dtype, "kind", "") in "mM":
                raise ValueError
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            found = next((entry for entry in X[name] if isinstance(entry, str)), str(X[name].dtype))
            return InvalidInputError(
                f"X must hold numbers; found {found!r} in column {name!r}: encode or drop the column"
            )
    said = str(error).partition("\n")[0]
    return ValueError(said) if said.endswith("contains NaN.") else error


def _on_device(estimator: Any, X: Any, y: Any, options: dict[str, Any]) -> Any:
    """X, float64 and finite, and y on the host, after checks of their shapes."""
    rows = held(X, "X")
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInputError(f"X must be a 2-D array, not empty; found shape {rows.shape}")
    _counted(estimator, rows, options)
    no_labels = isinstance(y, str) and y == "no_validation"
    return released(rows) if no_labels else (released(rows), _labels(on_host(y, "y"), rows.shape[0], options))


def _counted(estimator: Any, rows: Any, options: dict[str, Any]) -> None:
    """scikit-learn's record of the features, and the least number of samples."""
    validate_data(estimator, rows, skip_check_array=True, reset=options.get("reset", True))
    least = options.get("ensure_min_samples", 1)
    if rows.shape[0] < least:
        raise InvalidInputError(f"X must hold at least {least} samples; found {rows.shape[0]}")


def _labels(y: Any, m: int, options: dict[str, Any]) -> Array:
    labels = real_array(y, "y")
    if labels.shape != (m,):
        raise InvalidInputError(f"y must have shape ({m},), one per row of X; found {labels.shape}")
    if options.get("y_numeric"):
        labels = labels.astype(np.float64)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise InvalidInputError(f"y must be finite; found {int(np.sum(~np.isfinite(labels)))} NaN or infinite entries")
    return squares_finite(labels, labels.shape, "y") if options.get("y_numeric") else labels


def projected(X: Any, components: Array) -> Array:
    """X Lᵀ (m, r) for L (r, d): one product, or one pass over rows that are read in blocks."""
    if isinstance(X, LinearMap):
        return X.apply(np.ascontiguousarray(components.T))
    if is_device_array(X):
        there = held(X, "X")
        return cast(Array, released(there @ transposed(placed(components, there.device, "components_"))))
    return np.asarray(X @ components.T)


def weighted(X: Any, sample_weight: Any, *others: Any) -> tuple[Any, ...]:
    """(X, w, *others): weights w (m,), or None for None; samples of weight 0 are left out of all.

    X (m, d); `others` are None or arrays (m,). Raises InvalidInputError unless weights are finite, at least 0 and not
    all 0.
    """
    w = sample_weights(sample_weight, X.shape[0])
    if w is None or w.all() or is_device_array(X) or (isinstance(X, LinearMap) and not isinstance(X, RowBlocks)):
        return (X, w, *others)
    kept = np.flatnonzero(w)
    rows = RowBlocks(WithoutRows(X.source, np.flatnonzero(w == 0.0)), X.name) if isinstance(X, RowBlocks) else X[kept]
    return (rows, w[kept], *(None if other is None else np.asarray(other)[kept] for other in others))


def ranges_of_features(X: Any) -> tuple[Array, NDArray[np.bool_]]:
    """The ranges max − min (d,) of the features of X (m, d), and which features vary.

    Those whose range is rounding of the largest entry are constant. X is dense, sparse or read in blocks: one pass.
    """
    if isinstance(X, RowBlocks):
        lows, highs = zip(*(part for _, part in X.parts(_extremes)), strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    else:
        low, high = _extremes(slice(None), X)
    ranges = np.asarray(high - low)
    varies = ranges > np.maximum(ROUNDINGS * EPS * np.maximum(np.abs(high), np.abs(low)), np.finfo(float).tiny)
    return ranges, varies


def _extremes(rows: slice, block: Any) -> tuple[Array, Array]:
    low, high = block.min(axis=0), block.max(axis=0)
    return (low.toarray().ravel(), high.toarray().ravel()) if sp.issparse(block) else (low, high)


def warn_of_offset(X: Any, name: str, hidden: str) -> None:
    """A warning of the estimator `name` if a feature of X (m, d) has a mean above 10⁶ times its standard deviation.

    `hidden` says what such a mean leaves almost constant. Constant features, rows in blocks and arrays on devices are
    not looked at. O(m d).
    """
    means, spread, varies = _scales(X)
    ratio = means / spread
    if len(varies) and ratio[k := int(np.argmax(ratio))] > MINOR**-2:
        warnings.warn(
            f"X should be centred or standardised for {name}: features whose mean is more than 1e6 times their "
            f"standard deviation leave {hidden} almost constant, and the fit slow or wrong; found one, number "
            f"{varies[k]}, of {ratio[k]:.1g} times",
            stacklevel=3,
        )


def warn_of_units(X: Any, name: str) -> None:
    """A warning of the estimator `name` if standard deviations of features of X (m, d) differ by a factor above 10⁶.

    What is looked at, and the cost, are those of :func:`warn_of_offset`.
    """
    _, spread, varies = _scales(X)
    if len(varies) and spread.max() > MINOR**-2 * spread.min():
        low, high = int(np.argmin(spread)), int(np.argmax(spread))
        warnings.warn(
            f"X should be standardised for {name}: features whose standard deviations differ by a factor above 1e6 "
            f"leave the fit to the largest ones, and slow or wrong; found {spread[low]:.1g} for number {varies[low]} "
            f"and {spread[high]:.1g} for number {varies[high]}",
            stacklevel=3,
        )


def _scales(X: Any) -> tuple[Array, Array, NDArray[np.intp]]:
    """|mean| and standard deviation of the features of X that vary, and their numbers; none of X outside memory."""
    if sp.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0)
        spread = np.sqrt(variance)
    elif isinstance(X, np.ndarray):
        mean, step = X.mean(axis=0), max(1, BLOCK // max(1, X.shape[1]))  # no copy of X
        squares = (np.square(X[k : k + step] - mean).sum(axis=0) for k in range(0, len(X), step))
        spread = np.sqrt(sum(squares) / max(1, len(X)))
    else:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.intp)
    varies = np.flatnonzero(ranges_of_features(X)[1] & (spread > 0.0))
    return np.abs(mean[varies]), spread[varies], varies


def all_pairs_fit(estimator: Any, n: int, arrays: int) -> None:
    """InvalidInputError unless `arrays` float64 arrays (n, n) take at most ALL_PAIRS bytes."""
    needed, most = 8 * arrays * n * n, math.isqrt(ALL_PAIRS // (8 * arrays))
    if needed > ALL_PAIRS:
        raise InvalidInputError(
            f"{type(estimator).__name__} holds all pairs of samples: X with {n} samples would take "
            f"{needed / 2**30:.0f} GiB of memory, of {ALL_PAIRS / 2**30:.0f} allowed; fit at most {most} of them and "
            "place the others by transform"
        )


def only_touched(X: LinearMap, tuples: CheckedIndices) -> tuple[LinearMap, CheckedIndices]:
    """(X, tuples); if X is read in blocks, only the rows that occur in the tuples (p, k), in memory.

    The tuples are then positions among these rows. One pass, over the blocks that hold such rows.
    """
    if not isinstance(X, RowBlocks):
        return X, tuples
    rows, positions = touched(tuples.array)
    among = CheckedIndices(positions, len(rows), tuples.distinct)
    return LinearMap(X.take(rows), X.name, checked=True), among


def centred_touched(X: Any, tuples: CheckedIndices) -> tuple[LinearMap, CheckedIndices]:
    """:func:`only_touched` of validated rows X, less their mean unless they are sparse.

    Differences do not change; an offset would cost them digits, and constant features would not differ by 0.
    """
    data, among = only_touched(linear_map(X, "X", checked=True), tuples)
    return linear_map(centred(data.data), "X", checked=True), among


def that_count(X: LinearMap, of_differences: bool) -> tuple[LinearMap, NDArray[np.bool_]]:
    """(X, kept) without the features of X (m, d) that are 0 in all rows, or equal in all rows (`of_differences`).

    Losses of xᵀMx, or of differences, do not depend on their rows and columns of M, and so have no curvature in them.
    Where no feature counts, and of rows that are read in blocks, all are kept. O(m d).
    """
    kept = np.ones(X.shape[1], dtype=np.bool_)
    if not isinstance(X, RowBlocks):
        low, high = _extremes(slice(None), X.data)
        counts = high > low if of_differences else (low != 0.0) | (high != 0.0)
        kept = counts if counts.any() else kept
    return (X if kept.all() else linear_map(X.data[:, kept], X.name, checked=True)), kept


def keeping_fitted(X: Any, embedding: Array, new: Any, placed: Array) -> Array:
    """`placed` (q, k), with rows replaced by `embedding` (n, k) if the row of `new` (q, d) equals one of X (n, d)."""
    nearest = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(new, return_distance=False)[:, 0]
    gaps: Any = abs(X[nearest] - new)
    equal = np.asarray(gaps.sum(axis=1)).ravel() == 0.0
    placed[equal] = embedding[nearest[equal]]
    return placed


def any_numbers(values: Any, name: str) -> Array:
    """`values` as floats, NaN and infinity allowed for the caller to judge."""
    try:
        return real_array(values, name).astype(np.float64)
    except PsdoptError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must hold numbers; found {values!r:.60}") from error
