"""The set of all constraints together: which values A(M) may have, the nearest ones, and what multipliers of it are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from psdopt.constraints.cones import Cones
from psdopt.constraints.constraint import Constraint
from psdopt.constraints.sets import ConstraintSet
from psdopt.devices import Device, DeviceArray
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.compensated import two_products

#: What a form of norm 0 is said to be.
ZERO = "that is zero or whose squared entries underflow"


class Allowed(ConstraintSet):
    """lower <= a <= upper for values a (m,), and a − b in second-order `cones`; values in cones have infinite bounds.

    Attributes: `lower`, `upper` (m,); `cones`, None without any.
    """

    def __init__(self, lower: Array, upper: Array, cones: Cones | None = None) -> None:
        self.lower, self.upper, self.cones = lower, upper, cones

    def parts(self, size: int) -> tuple[Array, Array, Cones | None]:
        return self.lower, self.upper, self.cones

    @classmethod
    def of(cls, groups: Sequence[Constraint]) -> Allowed:
        """The sets of these constraints, one after the other."""
        lower, upper = (np.concatenate([getattr(g, name) for g in groups]) for name in ("lower", "upper"))
        return cls(lower, upper, Cones.joined([(group.size, group.cones) for group in groups]))

    def on(self, device: Device) -> Allowed:
        """The set of values on a `device`; without cones."""
        lower, upper = (DeviceArray(device.send(bound), device) for bound in (self.lower, self.upper))
        return Allowed(cast(Array, lower), cast(Array, upper))

    def with_equations(self, count: int) -> Allowed:
        """The set of these values and `count` further ones that are zero."""
        zeros = np.zeros(count)
        cones = Cones.joined([(len(self.lower), self.cones), (count, None)])
        return Allowed(np.append(self.lower, zeros), np.append(self.upper, zeros), cones)

    def refuse_impossible(self, norms: Array) -> None:
        """Refuse A_t = 0, by the `norms` |A_t|, where the set excludes a_t = 0: no M meets such a constraint."""
        empty = norms == 0.0
        for t in np.flatnonzero(empty & ((self.lower > 0.0) | (self.upper < 0.0))):
            bounds = f"[{self.lower[t]:g}, {self.upper[t]:g}]"
            raise InvalidInputError(f"constraint {t} has a form {ZERO}, and bounds {bounds} without 0")
        if self.cones is None:
            return
        for rows in self.cones.groups:
            least = self.cones.offset[rows[:, 0]]
            for t in rows[empty[rows[:, 0]] & (least > 0.0), 0]:
                text = f"constraint {t} has a form {ZERO}, and a cone where it is at least"
                raise InvalidInputError(f"{text} {self.cones.offset[t]:g}")

    def recession(self) -> Allowed:
        """The set of all A(D) along which a may grow: bounds are zero, or infinite where they were."""
        lower = np.where(np.isfinite(self.lower), 0.0, -np.inf)
        upper = np.where(np.isfinite(self.upper), 0.0, np.inf)
        return Allowed(lower, upper, None if self.cones is None else self.cones.at_zero())

    def nearest(self, a: Array) -> Array:
        """Π(a), (m,)."""
        found: Array = np.minimum(np.maximum(a, self.lower), self.upper)
        return found if self.cones is None else self.cones.nearest(found)

    def violation(self, a: Array) -> Array:
        """a − Π(a), (m,): exactly zero for allowed values."""
        off: Array = a - np.minimum(np.maximum(a, self.lower), self.upper)
        return off if self.cones is None else self.cones.violation(a, off)

    def admissible(self, y: Array) -> Array:
        """y (m,) moved to where σ is finite: without multipliers of infinite bounds, and with −y in the cones."""
        wrong = ((y > 0.0) & np.isinf(self.upper)) | ((y < 0.0) & np.isinf(self.lower))
        if self.cones is None:
            return np.where(wrong, 0.0, y)
        return self.cones.admissible(np.where(wrong & ~self.cones.member, 0.0, y))

    def bound(self, y: Array) -> Array:
        """The values (m,) that multiply the nonzero entries of an admissible y in σ(y)."""
        bound = np.where(y > 0.0, self.upper, self.lower)
        return bound if self.cones is None else np.where(self.cones.member, self.cones.offset, bound)

    def support(self, y: Array) -> float:
        """σ(y) = sup ⟨y, a⟩ = Σ_t max(y_t lower_t, y_t upper_t) + Σ_k ⟨y_k, b_k⟩ over cones, for an admissible y.

        The sum of the products is rounded once.
        """
        used = y != 0.0
        products, errors = two_products(y[used], self.bound(y)[used])
        return math.fsum(np.concatenate([products, errors[np.isfinite(errors)]]).tolist())

    def relative(self, off: Array, scales: Array) -> tuple[Array, Array]:
        """Violations and scales (m,) of which the first, over the second, is relative: of a cone its own distance."""
        return (off, scales) if self.cones is None else (self.cones.lengths(off), self.cones.largest(scales))

    def alike(self, norms: Array) -> Array:
        """|A_t| (m,), in a cone the largest: to scale the values of a cone alike keeps it."""
        return norms if self.cones is None else self.cones.largest(norms)

    def sizes(self) -> Array:
        """|b_t| of all finite bounds and offsets."""
        bounds = np.abs(np.concatenate([self.lower, self.upper]))
        found = bounds[np.isfinite(bounds)]
        return found if self.cones is None else np.append(found, np.abs(self.cones.offset[self.cones.member]))
