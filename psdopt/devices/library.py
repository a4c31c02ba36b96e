"""An array library and one of its devices: transfers to and from it, and their counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.devices.deferred import Deferred, Waiting
from psdopt.errors import InvalidTypeError, MissingDependencyError

#: Attributes by which arrays of other libraries are recognised: the standard's, PyTorch's, CuPy's.
_MARKS = ("__array_namespace__", "__torch_function__", "__cuda_array_interface__")


def is_foreign(x: Any) -> bool:
    """Whether x is an array of a library other than NumPy that follows the array API standard. Nothing is imported."""
    kind = type(x)
    return not issubclass(kind, (np.ndarray, np.generic)) and any(hasattr(kind, mark) for mark in _MARKS)


@dataclass
class Transfers:
    """Transfers between the host and a device: numbers of arrays each way, and the most rows of any of them."""

    to_device: int = 0
    to_host: int = 0
    most_rows: int = 0

    def clear(self) -> None:
        self.to_device = self.to_host = self.most_rows = 0


class Device:
    """A namespace `xp` of the array API standard, one of its devices, and the `transfers` to and from it.

    There is one object for each library and device, which :func:`device_for` returns. Its text is "torch on cuda:0".
    """

    def __init__(self, xp: Any, device: Any, name: str) -> None:
        self.xp, self.device, self.name = xp, device, name
        self.transfers = Transfers()
        self._waiting = Waiting()

    def send(self, array: Any, dtype: Any = np.float64) -> Any:
        """A NumPy array, or a list of numbers, as an array of the library on this device. Copied and counted."""
        host = np.ascontiguousarray(array, dtype=dtype)
        self.transfers.to_device += 1
        self.transfers.most_rows = max(self.transfers.most_rows, *host.shape[:1], 0)
        return self.xp.asarray(host, device=self.device, copy=True)

    def fetch(self, raw: Any) -> NDArray[Any]:
        """An array of the library as a NumPy array. Counted; waits for the device's pending work."""
        self.transfers.to_host += 1
        self.transfers.most_rows = max(self.transfers.most_rows, *raw.shape[:1], 0)
        return _to_numpy(raw, self.xp)

    def number(self, raw: Any) -> float:
        """A 0-d array as a number. Counted as a transfer."""
        self.transfers.to_host += 1
        return float(raw)

    def later(self, raw: Any) -> Deferred:
        """A small float64 array, or a 0-d array as a number, fetched at its first use.

        All results that this thread has requested by then share this one transfer, which is counted once.
        """
        return self._waiting.ask(raw, self._together)

    def _together(self, raws: list[Any]) -> list[Any]:
        """Arrays of any shapes, fetched as one vector; 0-d arrays become numbers."""
        xp, transfers = self.xp, self.transfers
        transfers.to_host += 1
        transfers.most_rows = max(transfers.most_rows, *(raw.shape[0] for raw in raws if raw.ndim), 0)
        if len(raws) == 1:
            host = _to_numpy(raws[0], xp).reshape(-1)
        else:
            host = _to_numpy(xp.concat([xp.reshape(raw, (-1,)) for raw in raws]), xp)
        found, start = [], 0
        for raw in raws:
            shape = tuple(raw.shape)
            size = math.prod(shape)
            part = host[start : start + size]
            found.append(part.reshape(shape) if shape else float(part[0]))
            start += size
        return found

    def full(self, shape: tuple[int, ...], value: float) -> Any:
        """A float64 array of the library with `value` in each entry, made on the device."""
        return self.xp.full(shape, float(value), dtype=self.xp.float64, device=self.device)

    def real(self, raw: Any, name: str) -> Any:
        """`raw` in the library's float64. Raises InvalidTypeError for non-real numbers or without float64."""
        xp = self.xp
        if raw.dtype == xp.float64:
            return raw
        if not xp.isdtype(raw.dtype, ("real floating", "integral", "bool")):
            raise InvalidTypeError(f"{name} must hold real numbers; found dtype {raw.dtype}")
        try:
            return xp.astype(raw, xp.float64)
        except Exception as error:  # each library raises a different error for a device without double precision
            text = f"{name} must be on a device that computes in float64; found {self}: {error}"
            raise InvalidTypeError(text) from error

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return _device_of_sample, (self.xp.zeros(1, device=self.device),)


_DEVICES: dict[str, Device] = {}


def device_for(raw: Any, name: str) -> Device:
    """The :class:`Device` of an array of another library.

    Raises MissingDependencyError without array-api-compat, InvalidTypeError, which names the argument `name`, for
    arrays that are not dense.
    """
    try:
        import array_api_compat
    except ImportError as error:
        text = f"{name} is a {type(raw).__name__}: arrays of other libraries need array-api-compat, in the extra gpu"
        raise MissingDependencyError(f"{text}: pip install 'psdopt[gpu]'") from error
    if array_api_compat.is_pydata_sparse_array(raw) or array_api_compat.is_dask_array(raw):
        raise InvalidTypeError(f"{name} must be a dense array; found a {type(raw).__name__}")
    xp = array_api_compat.array_namespace(raw)
    device = array_api_compat.device(raw)
    library = type(raw).__module__.partition(".")[0]
    name = f"{library} on {device}"
    if name not in _DEVICES:
        _DEVICES[name] = Device(xp, device, name)
    return _DEVICES[name]


def without_history(raw: Any) -> Any:
    """`raw` without the record of operations that PyTorch keeps for automatic differentiation."""
    return raw.detach() if hasattr(type(raw), "__torch_function__") else raw


def _to_numpy(raw: Any, xp: Any) -> NDArray[Any]:
    import array_api_compat

    if array_api_compat.is_torch_array(raw) or array_api_compat.is_cupy_array(raw):
        return np.asarray(array_api_compat.to_device(raw, "cpu"))
    return np.asarray(raw.to_device(xp.__array_namespace_info__().default_device()))


def _device_of_sample(raw: Any) -> Device:
    return device_for(raw, "a pickled array")
