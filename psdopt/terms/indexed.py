"""Index arrays of measurements: checked, and sent to a device once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.checks import indices, integer, order_of
from psdopt.devices import Device, DeviceArray, device_of, indices_on, on_host, once
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, code_dtype
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.row_blocks import RowBlocks, linear_map

Indices = NDArray[np.intp]


def device_of_measurements(X: LinearMap | None, **arrays: Any) -> Device | None:
    """The device of X, or else that of the first array of indices."""
    if X is not None:
        return X.device
    devices = [device_of(values, name) for name, values in arrays.items()]
    return next((device for device in devices if device is not None), None)


def both_at(kept: dict[Device, tuple[Any, Any]], values: Array, left: Indices, right: Indices) -> tuple[Any, Any]:
    """Two arrays of indices in the memory of `values`; copies on a device are kept after their first use."""
    if not isinstance(values, DeviceArray):
        return left, right
    device = values.device
    return once(kept, device, lambda: (indices_on(device, left), indices_on(device, right)))


def rows_of(X: Any, n: int | None) -> tuple[LinearMap | None, int, int]:
    """(map or None, number of rows that indices may point to, order of M)."""
    if X is not None:
        shared = linear_map(X, "X")
        order_of(n, "n", shared.shape[1], "the number of columns of X")
        return shared, *shared.shape
    n = integer(n, "n (when X is None)")
    return None, n, n


def checked_indices(arrays: dict[str, Any], rows: int) -> list[Indices]:
    """Index arrays of one length, with entries in [0, rows), or one clear error."""
    checked = [np.array(indices(on_host(values, name), name, rows, empty=False)) for name, values in arrays.items()]
    if len({len(index) for index in checked}) > 1:
        found = ", ".join(f"{name}: {len(index)}" for name, index in zip(arrays, checked, strict=True))
        raise InvalidInputError(f"index arrays must share one length; found {found}")
    return checked


def codes_of(left: Indices, right: Indices, rows: int) -> NDArray[np.signedinteger[Any]]:
    """One number for every unordered pair of indices below `rows`."""
    codes = np.multiply(np.minimum(left, right), rows, dtype=code_dtype(rows), casting="unsafe")
    codes += np.maximum(left, right)
    return codes


def require_distinct(left: Indices, right: Indices, left_name: str, right_name: str) -> None:
    same = np.flatnonzero(left == right)
    if len(same):
        raise InvalidInputError(
            f"{left_name} and {right_name} must differ; found both equal to {left[same[0]]} at position {same[0]}"
        )


def taken(X: LinearMap, rows: Any) -> LinearMap:
    """The given rows of X, in memory."""
    return linear_map(X.take(rows) if isinstance(X, RowBlocks) else X.data[rows], X.name, owned=True, checked=True)


def among(X: LinearMap | None, *ends: Indices) -> tuple[LinearMap | None, list[Indices]]:
    """The rows of X at which `ends` (k,) point, in memory, and `ends` as positions among them. None stays None."""
    if X is None:
        return None, list(ends)
    rows, places = np.unique(np.stack(ends), return_inverse=True)
    return taken(X, rows), list(places.reshape(len(ends), -1))
