"""One group of linear constraints: lower <= A(M) <= upper, or A(M) in another set."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import instance, real_array
from psdopt.constraints.cones import Cones
from psdopt.constraints.sets import ConstraintSet
from psdopt.devices import Device
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.terms.measurements import Measurement

#: Larger numbers are rejected: their squares and products may overflow, so that norms are infinite.
HUGE = 1e100


class Constraint:
    """lower_t <= ⟨A_t, M⟩ <= upper_t for t < m, or A(M) in a set. Equal bounds are an equation, infinite ones no bound.

    Parameters
    ----------
    measurement : M ↦ (⟨A_t, M⟩)_t. lower, upper : numbers or arrays (m,). In the place of both may be one set:
        :class:`Box`, :class:`Zero`, :class:`SecondOrder`.
    name : the name of the group in error messages and tables; default the class of the measurement.

    Raises
    ------
    InvalidTypeError for anything but a measurement, and for sets beside or in the place of `upper`; InvalidInputError
    for NaN, another length, lower > upper, or equal infinite bounds.
    """

    def __init__(self, measurement: Measurement, lower: Any = -np.inf, upper: Any = np.inf, name: str = "") -> None:
        measurement = instance(measurement, "measurement", Measurement)
        self.measurement, self.name = measurement, instance(name, "name", str) or type(measurement).__name__
        self.size, self.n = measurement.size, measurement.n
        if isinstance(upper, ConstraintSet):
            raise InvalidTypeError(f"a set takes the place of lower; found {type(upper).__name__} as upper")
        self.cones: Cones | None = None
        below, above = ConstraintSet.names
        if isinstance(lower, ConstraintSet):
            below, above = lower.names
            if not (isinstance(upper, float) and upper == np.inf):
                raise InvalidTypeError(f"{type(lower).__name__} must be the only set; found upper={upper!r} beside it")
            lower, upper, self.cones = lower.parts(self.size)
        self.lower = self._bound(below, lower)
        self.upper = self.lower.copy() if upper is lower else self._bound(above, upper)
        for t in np.flatnonzero(self.lower > self.upper):
            found = f"found {self.lower[t]:g} > {self.upper[t]:g} at position {t} of {self.name}"
            raise InvalidInputError(f"lower must not exceed upper; {found}")
        for t in np.flatnonzero((self.lower == self.upper) & ~np.isfinite(self.lower)):
            which = below if below == above else f"{below} and {above}, where equal,"
            raise InvalidInputError(f"{which} must be finite; found {self.lower[t]:g} at position {t} of {self.name}")

    def _bound(self, which: str, given: Any) -> Array:
        array = real_array(given, which)
        try:
            bound = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(f"{which} must hold real numbers; found {type(given).__name__}") from error
        if bound.ndim > 1 or (bound.ndim == 1 and len(bound) != self.size):
            raise InvalidInputError(
                f"{which} must be a number or an array of length {self.size}; found shape {bound.shape}"
            )
        if np.isnan(bound).any():
            raise InvalidInputError(f"{which} must not be NaN; found {int(np.isnan(bound).sum())} in {self.name}")
        return np.array(np.broadcast_to(bound, (self.size,)))

    def refuse_elsewhere(self, where: Device | None) -> None:
        """Refuse a constraint that does not take the arrays of F where they are: `where`, or on the host for None.

        Raises InvalidInputError for arrays in another place, InvalidTypeError where NumPy arrays alone are taken.
        """
        measurement = self.measurement
        places = {linear_map.device for linear_map in measurement.maps} | ({measurement.device} - {None})
        for other in places - {where}:
            found = f"{where or 'NumPy'} and {other or 'NumPy'}"
            raise InvalidInputError(f"the arrays of F and of {self.name} must be in one place; found {found}")
        if where is not None and (self.cones is not None or not measurement.takes_device_arrays):
            what = f"{self.name} under cones" if self.cones is not None else self.name
            raise InvalidTypeError(f"{what} takes NumPy arrays only, and the data of F are on a device ({where})")

    def __repr__(self) -> str:
        equations = int(np.sum(self.lower == self.upper))
        cones = "" if self.cones is None else f", cones={sum(len(rows) for rows in self.cones.groups)}"
        return f"Constraint({self.name}, m={self.size}, equations={equations}{cones})"


def refuse_huge(name: str, numbers: Array) -> None:
    """InvalidInputError if one of `numbers` is above HUGE in size."""
    largest = float(np.max(np.abs(numbers), initial=0.0))
    if largest > HUGE:
        raise InvalidInputError(f"{name} must be at most {HUGE:g} in size; found {largest:g}")
