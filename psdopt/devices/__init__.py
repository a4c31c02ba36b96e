"""Large arrays of other libraries, such as PyTorch or CuPy, on the processor or on a GPU.

Arrays with n or m rows stay on their device, as :class:`~psdopt.devices.array.DeviceArray`; arrays without a long axis
come to the host as NumPy arrays. No other module of psdopt knows an array library besides NumPy, and NumPy arrays are
never wrapped.
"""

from psdopt.devices.array import DeviceArray, DeviceMatrix
from psdopt.devices.deferred import Deferred, here
from psdopt.devices.functions import FUNCTIONS
from psdopt.devices.library import Device, Transfers
from psdopt.devices.transfers import (
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

__all__ = [
    "FUNCTIONS",
    "Deferred",
    "Device",
    "DeviceArray",
    "DeviceMatrix",
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
