"""The NumPy functions that psdopt applies to large arrays, for arrays on a device.

Results with one row per row of the argument stay on the device; results with one number per column come to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.devices.array import NUMPY, UFUNCS, DeviceArray, DeviceMatrix, Transposed
from psdopt.devices.deferred import Deferred, here
from psdopt.devices.library import Device

FUNCTIONS = NUMPY
Array = Any


def _for(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def registered(own: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            NUMPY[function] = own
        return own

    return registered


def _for_ufunc(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def registered(own: Callable[..., Any]) -> Callable[..., Any]:
        UFUNCS[name] = own
        return own

    return registered


def _device(arrays: Sequence[Any]) -> Device:
    return next(a.device for a in arrays if isinstance(a, DeviceArray))


@_for(np.vdot, np.dot, np.inner)
def vdot(a: DeviceArray, b: DeviceArray) -> Deferred:
    return a.dot(b)


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


@_for(np.hstack)
def hstack(arrays: Sequence[Any]) -> Any:
    return concatenate(arrays, axis=1)


@_for(np.column_stack)
def column_stack(arrays: Sequence[Any]) -> Any:
    return concatenate([a if a.ndim == 2 else a.reshape(-1, 1) for a in arrays], axis=1)


@_for(np.zeros_like, np.empty_like)
def zeros_like(prototype: DeviceArray, dtype: Any = None, order: str = "K", shape: Any = None) -> DeviceArray:
    device = prototype.device
    shape = prototype.shape if shape is None else shape
    return DeviceArray(device.xp.zeros(shape, dtype=device.xp.float64, device=device.device), device)


@_for(np.sum)
def total(a: DeviceArray, axis: int | None = None) -> Any:
    return a.sum(axis)


@_for(np.mean)
def mean(a: DeviceArray, axis: int | None = None) -> Any:
    return a.mean(axis)


@_for(np.max)
def largest(a: DeviceArray, axis: int | None = None, initial: float | None = None) -> Any:
    return a.max(axis)


@_for(np.min)
def least(a: DeviceArray, axis: int | None = None, initial: float | None = None) -> Any:
    return a.min(axis)


@_for(np.full_like)
def full_like(prototype: DeviceArray, value: float) -> DeviceArray:
    device = prototype.device
    raw = device.xp.full(prototype.shape, float(value), dtype=device.xp.float64, device=device.device)
    return DeviceArray(raw, device)


@_for(np.all)
def every(a: DeviceArray) -> bool:
    return bool(a.device.number(a.device.xp.all(a.raw)))


@_for(np.any)
def some(a: DeviceArray) -> bool:
    return bool(a.device.number(a.device.xp.any(a.raw)))


@_for(np.where)
def where(condition: DeviceArray, x: Any, y: Any) -> DeviceArray:
    device = condition.device
    raw = [_as_raw(value, device) for value in (x, y)]
    return DeviceArray(device.xp.where(condition.raw, *raw), device)


@_for(np.broadcast_to)
def broadcast_to(a: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
    return DeviceArray(a.device.xp.broadcast_to(a.raw, shape), a.device)


@_for(np.shape)
def shape(a: DeviceArray) -> tuple[int, ...]:
    return a.shape


@_for(np.ndim)
def ndim(a: DeviceArray) -> int:
    return a.ndim


@_for(np.size)
def size(a: DeviceArray) -> int:
    return a.size


@_for(np.linalg.norm)
def norm(a: DeviceArray, ord: Any = None, axis: int | None = None) -> Any:
    if ord is not None:
        return float(singular_values(a)[0])
    return np.sqrt(vdot(a, a) if axis is None else einsum("ij,ij->j", a, a))


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
    return device.scalar(float(value), device.xp.float64)


@_for_ufunc("isfinite")
def isfinite(a: DeviceArray) -> DeviceArray:
    return a.of(a.device.xp.isfinite(a.raw))


@_for_ufunc("absolute")
def absolute(a: DeviceArray) -> DeviceArray:
    return a.of(a.device.xp.abs(a.raw))


@_for_ufunc("maximum")
def maximum(a: Any, b: Any) -> DeviceArray:
    device = _device((a, b))
    return DeviceArray(device.xp.maximum(_as_raw(a, device), _as_raw(b, device)), device)


def _either(operation: Callable[[Any, Any], Any], reflected: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """a ∘ b if a or b is on a device; NumPy calls this only if the other operand is its own array."""

    def apply(a: Any, b: Any) -> Any:
        return operation(a, b) if isinstance(a, (DeviceArray, Transposed)) else reflected(b, a)

    return apply


UFUNCS.update(
    {
        "add": _either(DeviceArray.__add__, DeviceArray.__add__),
        "subtract": _either(DeviceArray.__sub__, DeviceArray.__rsub__),
        "multiply": _either(DeviceArray.__mul__, DeviceArray.__mul__),
        "divide": _either(DeviceArray.__truediv__, DeviceArray.__rtruediv__),
        "matmul": _either(lambda a, b: a @ b, lambda b, a: b.__rmatmul__(a)),
        "less": _either(DeviceArray.__lt__, DeviceArray.__gt__),
        "greater": _either(DeviceArray.__gt__, DeviceArray.__lt__),
        "bitwise_or": _either(DeviceArray.__or__, DeviceArray.__or__),
        "equal": _either(DeviceArray.__eq__, DeviceArray.__eq__),
    }
)
