"""Other libraries of arrays for tests: the strict one of the standard, on a device that refuses NumPy, and PyTorch."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psdopt.devices import DeviceArray, held

LIBRARIES = ("strict", "torch")
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le, operator.gt, operator.ge,
    operator.eq, operator.ne,
)  # fmt: skip


def sent(library: str, array: Any) -> Any:
    """A NumPy array as one of the library, float64 or integer as it is."""
    if library == "torch":
        torch = pytest.importorskip("torch")
        torch.set_num_threads(1)
        return torch.asarray(np.array(array))
    import array_api_strict

    return array_api_strict.asarray(np.array(array), device=array_api_strict.Device("device1"))


def fetched(raw: Any) -> Any:
    """An array of such a library as NumPy's."""
    if type(raw).__module__.startswith("array_api_strict"):
        import array_api_strict

        raw = raw.to_device(array_api_strict.Device("CPU_DEVICE"))
    return np.asarray(raw)


def is_of(library: str, raw: Any) -> bool:
    """Whether `raw` is an array of the library, on the device that :func:`sent` sends to."""
    if library == "torch":
        return type(raw).__module__ == "torch" and raw.device.type == "cpu"
    return type(raw).__module__.startswith("array_api_strict") and "device1" in str(raw.device)


def there(library: str, array: Any) -> DeviceArray:
    """An array that is held on the device of the library."""
    kept = held(sent(library, array))
    assert isinstance(kept, DeviceArray)
    return kept
