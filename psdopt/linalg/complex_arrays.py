"""The door through which complex data enter: dense arrays of finite numbers, which become real forms at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import brief, unmasked
from psdopt.devices import require_host
from psdopt.errors import InvalidInputError, InvalidTypeError


def complex_array(values: Any, name: str) -> Any:
    """`values` as an array of float64 or complex128, finite, not copied if it is one.

    Raises InvalidTypeError for what holds no numbers, InvalidInputError for NaN, infinite or masked entries.
    """
    require_host(values, name)
    try:
        array = np.asarray(unmasked(values, name))
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    except InvalidInputError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must hold real or complex numbers; found {brief(values)}") from error
    if bad := array.size - int(np.count_nonzero(np.isfinite(array))):
        raise InvalidInputError(f"{name} must be finite; found {bad} NaN or infinite entries")
    return array
