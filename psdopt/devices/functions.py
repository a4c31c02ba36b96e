"""The NumPy functions that psdopt applies to large arrays, for arrays on a device.

Results with one row per row of the argument stay on the device; results with one number per column come to the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.devices.array import DeviceArray, DeviceMatrix, Transposed
from psdopt.devices.deferred import NUMPY, OPERATORS, OnDevice, here
from psdopt.devices.library import Device

FUNCTIONS = NUMPY


def _for(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def registered(own: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            NUMPY[function] = own
        return own

    return registered


def _device(arrays: Sequence[Any]) -> Device:
    return next(a.device for a in arrays if isinstance(a, DeviceArray))


@_for(np.einsum)
def einsum(subscripts: str, a: DeviceArray, b: DeviceArray) -> Any:
    if subscripts not in ("ij,ij->i", "ij,ij->j"):
        return a.__array__()
    return (a * b).sum(axis=1 if subscripts == "ij,ij->i" else 0)


@_for(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: int = 0) -> DeviceArray:
    device = _device(arrays)
    raw = [a.raw if isinstance(a, DeviceArray) else device.send(a) for a in arrays]
    return DeviceArray(device.xp.concat(raw, axis=axis), device)


@_for(np.column_stack)
def column_stack(arrays: Sequence[Any]) -> Any:
    return concatenate([a if a.ndim == 2 else a.reshape(-1, 1) for a in arrays], axis=1)


@_for(np.zeros_like, np.empty_like)
def zeros_like(prototype: DeviceArray, dtype: Any = None, order: str = "K", shape: Any = None) -> DeviceArray:
    return DeviceArray(prototype.device.full(prototype.shape if shape is None else shape, 0.0), prototype.device)


@_for(np.where)
def where(condition: DeviceArray, x: Any, y: Any) -> DeviceArray:
    device = condition.device
    raw = [_as_raw(value, device) for value in (x, y)]
    return DeviceArray(device.xp.where(condition.raw, *raw), device)


@_for(np.linalg.norm)
def norm(a: DeviceArray, ord: Any = None, axis: int | None = None) -> Any:
    if ord is not None:
        return float(singular_values(a)[0])
    return np.sqrt(a.dot(a) if axis is None else einsum("ij,ij->j", a, a))


@_for(np.linalg.qr)
def qr(a: DeviceArray, mode: str = "reduced") -> tuple[DeviceArray, NDArray[np.float64]]:
    """Q (n, k) on the device, R (k, k) on the host."""
    Q, R = a.device.xp.linalg.qr(a.raw)
    return DeviceArray(Q, a.device), a.device.fetch(R)


@_for(np.linalg.svd)
def svd(a: DeviceArray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """U (n, k) on the device, the rest on the host, by a QR decomposition and an SVD of the small R."""
    if not compute_uv:
        return singular_values(a)
    Q, R = qr(a)
    U, s, Vt = np.linalg.svd(R)
    return Q @ U, s, Vt


def singular_values(a: DeviceArray) -> NDArray[np.float64]:
    return np.asarray(np.linalg.svd(qr(a)[1], compute_uv=False))


@_for(np.linalg.eigh)
def eigh(a: DeviceMatrix) -> tuple[NDArray[np.float64], DeviceMatrix]:
    """Values on the host, vectors (n, n) on the device."""
    values, vectors = a.device.xp.linalg.eigh(a.raw)
    return a.device.fetch(values), DeviceMatrix(vectors, a.device)


@_for(np.linalg.solve)
def solve(a: Any, b: Transposed) -> Transposed:
    """A⁻¹ Uᵀ for a small A, well conditioned: (U A⁻ᵀ)ᵀ."""
    return Transposed(b.of @ np.linalg.inv(here(a)).T)


def _as_raw(value: Any, device: Device) -> Any:
    if isinstance(value, DeviceArray):
        return value.raw
    if isinstance(value, np.ndarray) and value.ndim:
        return device.send(value)
    return device.full((), value)


@_for(np.maximum)
def maximum(a: Any, b: Any) -> DeviceArray:
    device = _device((a, b))
    return DeviceArray(device.xp.maximum(_as_raw(a, device), _as_raw(b, device)), device)


@_for(np.minimum)
def minimum(a: Any, b: Any) -> DeviceArray:
    found: DeviceArray = -maximum(-a, -b)
    return found


def _computed(operation: Callable[..., Any], *inputs: Any) -> Any:
    first = next((x for x in inputs if isinstance(x, DeviceArray)), None)
    return NotImplemented if first is None else first.computed(operation, *inputs)


NUMPY |= {ufunc: partial(_computed, operation) for ufunc, operation in OPERATORS.items()}
NUMPY |= {
    np.matmul: lambda a, b: a @ b if isinstance(a, OnDevice) else b.__rmatmul__(a),
    np.isfinite: lambda a: a.of(a.device.xp.isfinite(a.raw)),
    np.full_like: lambda a, value: DeviceArray(a.device.full(a.shape, value), a.device),
    np.broadcast_to: lambda a, shape: DeviceArray(a.device.xp.broadcast_to(a.raw, shape), a.device),
    np.vdot: DeviceArray.dot,
    np.dot: DeviceArray.dot,
    np.inner: DeviceArray.dot,
    np.hstack: partial(concatenate, axis=1),
    np.sum: DeviceArray.sum,
    np.mean: DeviceArray.mean,
    np.max: DeviceArray.max,
    np.min: DeviceArray.min,
    np.all: DeviceArray.all,
    np.any: DeviceArray.any,
    np.shape: operator.attrgetter("shape"),
    np.ndim: operator.attrgetter("ndim"),
    np.size: operator.attrgetter("size"),
    np.bitwise_or: lambda a, b: a | b if isinstance(a, OnDevice) else b | a,
}
