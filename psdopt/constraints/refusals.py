"""What a constrained problem refuses of its data: numbers too large, arrays in several places, faces on a device."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.constraint import Constraint
from psdopt.constraints.faces.face import Face
from psdopt.devices import Device
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array

#: Larger numbers are rejected: their squares and products may overflow, so that norms are infinite.
HUGE = 1e100


def refuse_huge(name: str, numbers: Array) -> None:
    """InvalidInputError if one of `numbers` is above HUGE in size."""
    largest = float(np.max(np.abs(numbers), initial=0.0))
    if largest > HUGE:
        raise InvalidInputError(f"{name} must be at most {HUGE:g} in size; found {largest:g}")


def refuse_elsewhere(group: Constraint, where: Device | None) -> None:
    """Refuse a constraint that does not take the arrays of F where they are: `where`, or on the host for None.

    Raises InvalidInputError for arrays in another place, InvalidTypeError for a group that takes NumPy arrays only.
    """
    measurement = group.measurement
    places = {linear_map.device for linear_map in measurement.maps} | ({measurement.device} - {None})
    for other in places - {where}:
        found = f"{where or 'NumPy'} and {other or 'NumPy'}"
        raise InvalidInputError(f"the arrays of F and of {group.name} must be in one place; found {found}")
    if where is None:
        return
    if group.cones is not None or not measurement.takes_device_arrays:
        what = f"{group.name} under cones" if group.cones is not None else group.name
        raise InvalidTypeError(f"{what} takes NumPy arrays only, and the data of F are on a device ({where})")


def on_host_only(face: Face | None, where: Device | None) -> Face | None:
    """The face itself; IncompatibleError where factors on it would be on a device."""
    if face is not None and where is not None:
        text = "constraints that confine M to a face of the cone take NumPy arrays only"
        raise IncompatibleError(f"{text}; found the data of F on {where}")
    return face
