"""Arrays with n or m rows on a device, with the operators and NumPy functions that the library's own code uses.

Code written for NumPy arrays runs on them unchanged: NumPy dispatches its functions to them (NEP 13 and NEP 18).
Operations that NumPy does not dispatch raise an error, above all conversions, so that no transfer goes unnoticed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partialmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from psdopt.devices.deferred import Deferred, OnDevice, Operators, here
from psdopt.devices.library import Device

_FLOAT = np.dtype(np.float64)


class DeviceArray(Operators, OnDevice):
    """An array (n, k) or (n,) on a device; `raw` is the library's own array, in float64 except for masks and indices.

    Its `T` is for products only: Uᵀ V is small and comes to the host, and so do numbers and sums over the rows. If the
    other operand is a small NumPy array, it is sent to the device. Products Uᵀ V and numbers are
    :class:`~psdopt.devices.deferred.Deferred`: results requested one after the other share one transfer.
    """

    __slots__ = ("__weakref__", "_square", "device", "raw")

    def __init__(self, raw: Any, device: Device) -> None:
        self.raw, self.device = raw, device
        self._square: Deferred | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.raw.shape)

    @property
    def ndim(self) -> int:
        return len(self.raw.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        xp = self.device.xp
        return _FLOAT if self.raw.dtype == xp.float64 else np.dtype(bool if self.raw.dtype == xp.bool else np.int64)

    def __len__(self) -> int:
        return int(self.raw.shape[0])

    def of(self, raw: Any) -> Self:
        """A raw array on the same device as an array of the same kind."""
        return type(self)(raw, self.device)

    def operand(self, other: Any) -> Any:
        """The other operand: a raw array, or a Python number."""
        if isinstance(other, DeviceArray):
            return other.number_raw()
        if isinstance(other, Deferred):
            found = other.there()
            if found is not None:
                return found
            other = other.value
        if isinstance(other, (int, float, np.number, np.bool_)) or (isinstance(other, np.ndarray) and not other.ndim):
            return float(other)
        if isinstance(other, np.ndarray):
            return self.device.send(other)
        return NotImplemented

    def number_raw(self) -> Any:
        """`raw`, with masks converted to 0 and 1, because the standard has no arithmetic for masks."""
        xp = self.device.xp
        return xp.astype(self.raw, xp.float64) if self.raw.dtype == xp.bool else self.raw

    def computed(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """An operation entry by entry."""
        raw = [self.operand(x) for x in operands]
        for x in raw:
            if x is NotImplemented:
                return x
        return self.of(operation(*raw))

    def __invert__(self) -> Self:
        return self.of(~self.raw)

    def __or__(self, other: Any) -> Self:
        return self.of(self.raw | (other.raw if isinstance(other, DeviceArray) else bool(other)))

    def __and__(self, other: Any) -> Self:
        return self.of(self.raw & (other.raw if isinstance(other, DeviceArray) else bool(other)))

    def _changed(self, operation: Callable[..., Any], other: Any) -> Any:
        self.raw, self._square = operation(self.raw, self.operand(other)), None
        return self

    __iadd__: Any = partialmethod(_changed, operator.iadd)
    __isub__: Any = partialmethod(_changed, operator.isub)
    __imul__: Any = partialmethod(_changed, operator.imul)

    def __rmatmul__(self, other: Any) -> Any:
        return self.__array__()  # raises: psdopt never multiplies a (k, n) array of the host with one on the device

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, DeviceArray):
            if self.ndim == 1:
                return self.device.later(self.raw @ other.raw)
            return DeviceArray(self.raw @ other.raw, self.device)
        if isinstance(other, (np.ndarray, Deferred)):
            return DeviceArray(self.raw @ self.operand(other), self.device)
        return NotImplemented

    @property
    def T(self) -> Any:
        return Transposed(self) if self.ndim == 2 else self

    def dot(self, other: DeviceArray) -> Deferred:
        """Inner product of two arrays of one shape; that of an array with itself is computed once."""
        if other is not self:
            return self.device.later(self.flat() @ other.flat())
        if self._square is None:
            flat = self.flat()
            self._square = self.device.later(flat @ flat)
        return self._square

    def flat(self) -> Any:
        """The raw entries as a vector, by rows."""
        return self.device.xp.reshape(self.raw, (-1,))

    def ravel(self, order: str = "C") -> DeviceArray:
        """The entries as a vector, by rows whatever the `order`."""
        return DeviceArray(self.flat(), self.device)

    def reshape(self, *shape: Any) -> DeviceArray:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        return DeviceArray(self.device.xp.reshape(self.raw, wanted), self.device)

    def copy(self) -> Self:
        return self.of(self.device.xp.asarray(self.raw, copy=True))

    def sum(self, axis: int | None = None) -> Any:
        """Over all entries a number, over the rows a small NumPy array, over the columns an array on the device."""
        found = self.device.xp.sum(self.number_raw(), axis=axis)
        return self.device.later(found) if axis is None else self._reduced(found, axis)

    def max(self, axis: int | None = None, initial: float | None = None) -> Any:
        """As :meth:`sum`."""
        return self._reduced(self.device.xp.max(self.raw, axis=axis), axis)

    def min(self, axis: int | None = None, initial: float | None = None) -> Any:
        """As :meth:`sum`."""
        return self._reduced(self.device.xp.min(self.raw, axis=axis), axis)

    def mean(self, axis: int | None = None) -> Any:
        """As :meth:`sum`."""
        return self._reduced(self.device.xp.mean(self.number_raw(), axis=axis), axis)

    def _reduced(self, raw: Any, axis: int | None) -> Any:
        if axis is None:
            return self.device.number(raw)
        return self.device.fetch(raw) if axis == 0 else DeviceArray(raw, self.device)

    def all(self) -> bool:
        """Whether no entry is zero."""
        return bool(self.device.number(self.device.xp.all(self.raw)))

    def any(self) -> bool:
        """Whether an entry is not zero."""
        return bool(self.device.number(self.device.xp.any(self.raw)))

    def take(self, indices: Any, axis: int | None = None) -> DeviceArray:
        """The entries, rows or columns at `indices`, an array on the device or a small NumPy array."""
        xp = self.device.xp
        raw = indices.raw if isinstance(indices, DeviceArray) else self.device.send(indices, np.int64)
        found = xp.take(self.raw, xp.reshape(raw, (-1,)), axis=axis or 0)
        return DeviceArray(xp.reshape(found, (*raw.shape, *found.shape[1:])) if raw.ndim > 1 else found, self.device)

    def __getitem__(self, key: Any) -> DeviceArray:
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], (np.ndarray, list)):
            columns = np.asarray(key[1])
            return self.take(np.flatnonzero(columns) if columns.dtype == bool else columns, axis=1)
        if isinstance(key, (np.ndarray, DeviceArray)):
            return self.take(np.flatnonzero(key) if isinstance(key, np.ndarray) and key.dtype == bool else key)
        return DeviceArray(self.raw[key if isinstance(key, tuple) else (key, ...)], self.device)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.raw[key.raw if isinstance(key, DeviceArray) else key] = self.operand(value)
        self._square = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'x'.join(map(str, self.shape))}, {self.device})"

    def __reduce__(self) -> tuple[Any, tuple[Any, Device]]:
        return type(self), (self.raw, self.device)


class DeviceMatrix(DeviceArray):
    """The data of a linear map, (m, n) on a device: products with its transpose stay there, and sums over its rows."""

    __slots__ = ()

    @property
    def T(self) -> DeviceMatrix:
        return self.of(self.raw.T)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, DeviceMatrix):
            return self.of(self.raw @ other.raw)
        return super().__matmul__(other)

    def _reduced(self, raw: Any, axis: int | None) -> Any:
        return DeviceArray(raw, self.device) if axis == 0 else super()._reduced(raw, axis)

    def diagonal(self) -> DeviceArray:
        """The diagonal (n,), on the device."""
        return DeviceArray(self.device.xp.linalg.diagonal(self.raw), self.device)

    def trace(self) -> float:
        return self.device.number(self.device.xp.linalg.trace(self.raw))


class Transposed(OnDevice):
    """Uᵀ (k, n) of a DeviceArray U, for products: Uᵀ V is small, and comes to the host."""

    __slots__ = ("of",)

    def __init__(self, of: DeviceArray) -> None:
        self.of = of

    @property
    def device(self) -> Device:
        return self.of.device

    @property
    def T(self) -> DeviceArray:
        return self.of

    @property
    def shape(self) -> tuple[int, ...]:
        return self.of.shape[::-1]

    def __matmul__(self, other: Any) -> Any:
        other = here(other)
        if isinstance(other, np.ndarray):
            other = DeviceArray(self.device.send(other), self.device)
        return self.device.later(self.of.raw.T @ other.raw) if isinstance(other, DeviceArray) else NotImplemented

    def __rmatmul__(self, other: NDArray[Any]) -> Transposed:
        return Transposed(self.of @ other.T)

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self.of[:, k] for k in range(self.of.shape[1]))
