"""Wrapping arrays of other libraries, moving arrays between host and device, and unwrapping them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from psdopt.devices.array import DeviceArray, DeviceMatrix
from psdopt.devices.library import Device, device_for, is_foreign, without_history
from psdopt.errors import InvalidInputError, InvalidTypeError

Made = TypeVar("Made")


def is_device_array(x: Any) -> bool:
    """Whether x is an array of a library other than NumPy, wrapped as a :class:`DeviceArray` or not."""
    return type(x) is not np.ndarray and (isinstance(x, DeviceArray) or is_foreign(x))


def held(x: Any, name: str = "the array", kind: type[DeviceArray] = DeviceArray) -> Any:
    """x (n, k) as a DeviceArray of finite float64 if it is an array of another library, else x itself.

    Entries in float64 are not copied. Raises InvalidInputError for NaN and infinity, InvalidTypeError
    for arrays that hold no real numbers, or whose device has no float64, MissingDependencyError without
    array-api-compat.
    """
    if type(x) is np.ndarray or isinstance(x, DeviceArray) or not is_foreign(x):
        return x
    raw = without_history(x)
    device = device_for(raw, name)
    raw = device.real(raw, name)
    xp = device.xp
    bad = int(device.number(xp.sum(xp.astype(~xp.isfinite(raw), xp.float64))))
    if bad:
        raise InvalidInputError(f"{name} must be finite; found {bad} NaN or infinite entries")
    return kind(raw, device)


def placed(x: Any, device: Device, name: str = "the array") -> DeviceArray:
    """x on `device`: sent there if it is a NumPy array. Raises InvalidInputError if x is on another device."""
    x = held(x, name)
    if not isinstance(x, DeviceArray):
        host = np.asarray(x, dtype=np.float64)
        if not np.all(np.isfinite(host)):
            bad = int(np.sum(~np.isfinite(host)))
            raise InvalidInputError(f"{name} must be finite; found {bad} NaN or infinite entries")
        return DeviceArray(device.send(host), device)
    if x.device is not device:
        raise InvalidInputError(f"{name} must be a NumPy array or one of {device}, like the data; found {x.device}")
    return x


def matrix_on(device: Device, host: NDArray[np.float64]) -> Any:
    """A NumPy array (m, n) as data on `device`."""
    return DeviceMatrix(device.send(host), device)


def transposed(x: Any) -> Any:
    """xᵀ; for x (n, k) on a device a :class:`DeviceMatrix`, whose products stay there."""
    return DeviceMatrix(x.raw.T, x.device) if isinstance(x, DeviceArray) else x.T


def as_data(x: Any) -> Any:
    """x; on a device as a :class:`DeviceMatrix`, whose products with its transpose stay there."""
    return DeviceMatrix(x.raw, x.device) if isinstance(x, DeviceArray) else x


def indices_on(device: Device, host: NDArray[np.integer[Any]]) -> Any:
    """Integers (m,) as an array on `device`, for selecting rows."""
    return DeviceArray(device.send(host, np.int64), device)


def once(kept: dict[Device, Made], device: Device, make: Callable[[], Made]) -> Made:
    """The result of `make` for `device`, computed at first use and cached in `kept`."""
    if device not in kept:
        kept[device] = make()
    return kept[device]


def released(x: Any) -> Any:
    """The library's own array of a DeviceArray; any other x unchanged."""
    return x.raw if isinstance(x, DeviceArray) else x


def on_host(x: Any, name: str = "the array") -> Any:
    """x as a NumPy array if it is on a device, an explicit transfer. Any other x unchanged."""
    if isinstance(x, DeviceArray):
        return x.device.fetch(x.raw)
    if type(x) is np.ndarray or not is_foreign(x):
        return x
    raw = without_history(x)
    return device_for(raw, name).fetch(raw)


def device_of(x: Any, name: str = "the array") -> Device | None:
    """The device of an array of a library other than NumPy; None for anything else."""
    if isinstance(x, DeviceArray):
        return x.device
    return device_for(x, name) if is_foreign(x) else None


def require_host(x: Any, name: str) -> None:
    """Raises InvalidTypeError, which names the argument, if x is an array of a library other than NumPy."""
    if is_device_array(x):
        where = str(x.device) if isinstance(x, DeviceArray) else type(x).__module__.partition(".")[0]
        raise InvalidTypeError(
            f"{name} must be a NumPy array here; found an array of {where}. Nothing is moved to the host unasked: "
            "pass a NumPy copy"
        )
