"""Inner products of rows for pairs of indices, on a device: block by block, so that no gathered array is large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from psdopt.devices.array import DeviceArray
from psdopt.devices.library import Device

#: Entries of a block of gathered rows: large enough to keep a device busy, small compared with its memory.
GATHERED = 2**23


def pair_dots(i: DeviceArray, j: DeviceArray, Y: DeviceArray, Z: DeviceArray) -> DeviceArray:
    """⟨Y_i − Y_j, Z_i − Z_j⟩ (m,) for index pairs; Y, Z (n, r)."""

    def dots(at: slice) -> tuple[Any]:
        left = _difference(Y, i, j, at)
        return (_dots(Y.device, left, left if Z is Y else _difference(Z, i, j, at)),)

    return _by_blocks(Y, i, dots)[0]


def line_dots(i: DeviceArray, j: DeviceArray, Y: DeviceArray, D: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """(2 ⟨Y_i − Y_j, D_i − D_j⟩, |D_i − D_j|²) (m,) each for index pairs; Y, D (n, r)."""

    def dots(at: slice) -> tuple[Any, Any]:
        left, right = _difference(Y, i, j, at), _difference(D, i, j, at)
        return 2.0 * _dots(Y.device, left, right), _dots(Y.device, right, right)

    first, second = _by_blocks(Y, i, dots)
    return first, second


def mixed_row_dots(i: DeviceArray, j: DeviceArray, Y: DeviceArray, Z: DeviceArray) -> tuple[DeviceArray, DeviceArray]:
    """⟨Y_i, Z_j⟩ + ⟨Z_i, Y_j⟩ and ⟨Z_i, Z_j⟩, (m,) each for index pairs; Y, Z (n, r)."""

    def dots(at: slice) -> tuple[Any, Any]:
        (Y_i, Y_j), (Z_i, Z_j) = ((_rows(U, i, at), _rows(U, j, at)) for U in (Y, Z))
        mixed = _dots(Y.device, Y_i, Z_j) + _dots(Y.device, Z_i, Y_j)
        return mixed, _dots(Y.device, Z_i, Z_j)

    mixed, own = _by_blocks(Y, i, dots)
    return mixed, own


def _by_blocks(Y: DeviceArray, i: DeviceArray, of: Callable[[slice], tuple[Any, ...]]) -> list[DeviceArray]:
    """The vectors (m,) joined from the parts that `of` makes for slices of the pairs."""
    found = list(zip(*(of(at) for at in _slices(len(i), Y.shape[1])), strict=True))
    xp = Y.device.xp
    return [DeviceArray(xp.concat(parts) if len(parts) > 1 else parts[0], Y.device) for parts in found]


def _slices(size: int, width: int) -> Iterator[slice]:
    step = max(1, GATHERED // max(width, 1))
    return (slice(start, min(start + step, size)) for start in range(0, max(size, 1), step))


def _rows(U: DeviceArray, indices: DeviceArray, at: slice) -> Any:
    return U.device.xp.take(U.raw, indices.raw[at], axis=0)


def _difference(U: DeviceArray, i: DeviceArray, j: DeviceArray, at: slice) -> Any:
    return _rows(U, i, at) - _rows(U, j, at)


def _dots(device: Device, left: Any, right: Any) -> Any:
    return device.xp.sum(left * right, axis=1)
