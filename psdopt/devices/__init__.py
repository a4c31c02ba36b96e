"""Large arrays of another library, such as PyTorch or CuPy, wherever it keeps them: the one door for these libraries.

Arrays with n or m rows stay where they are, as :class:`~psdopt.devices.array.DeviceArray`; what has no long axis comes
to the host as a NumPy array. No other module of psdopt knows a library beside NumPy, and NumPy arrays never come here.
"""

from psdopt.devices.array import DeviceArray, DeviceMatrix
from psdopt.devices.doors import (
    as_data,
    device_of,
    held,
    indices_on,
    is_device_array,
    matrix_on,
    on_host,
    once,
    placed,
    released,
    require_host,
    transposed,
)
from psdopt.devices.functions import FUNCTIONS
from psdopt.devices.later import Later, here
from psdopt.devices.library import Device, Transfers

__all__ = [
    "FUNCTIONS",
    "Device",
    "DeviceArray",
    "DeviceMatrix",
    "Later",
    "Transfers",
    "as_data",
    "device_of",
    "held",
    "here",
    "indices_on",
    "is_device_array",
    "matrix_on",
    "on_host",
    "once",
    "placed",
    "released",
    "require_host",
    "transposed",
]
