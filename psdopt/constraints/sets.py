"""The sets in which constraints hold measured values: boxes, points, second-order cones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import finite, integer
from psdopt.constraints.cones import Cones
from psdopt.errors import InvalidInputError, InvalidTypeError


class ConstraintSet:
    """A closed convex set of vectors a (m,): :class:`Box`, :class:`Zero` or :class:`SecondOrder`.

    `names` : the arguments from which the lower and the upper bound come, for messages.
    """

    names: ClassVar[tuple[str, str]] = ("lower", "upper")

    def parts(self, size: int) -> tuple[Any, Any, Cones | None]:
        """Lower and upper bounds of `size` values, numbers or arrays, and the cones that hold them, if any."""
        raise InvalidTypeError(f"a set must be a Box, Zero or SecondOrder; found {type(self).__name__}")


class Box(ConstraintSet):
    """lower_t <= a_t <= upper_t for all t < m; numbers or arrays (m,), −inf and inf are no bounds.

    ``Constraint(measurement, Box(lower, upper))`` is ``Constraint(measurement, lower, upper)``.
    """

    def __init__(self, lower: Any = -np.inf, upper: Any = np.inf) -> None:
        self.lower, self.upper = lower, upper

    def parts(self, size: int) -> tuple[Any, Any, Cones | None]:
        return self.lower, self.upper, None

    def __repr__(self) -> str:
        return f"Box({self.lower!r}, {self.upper!r})"


class Zero(ConstraintSet):
    """a = target: a − target is zero; a number or an array (m,)."""

    names = ("target", "target")

    def __init__(self, target: Any = 0.0) -> None:
        self.target = target

    def parts(self, size: int) -> tuple[Any, Any, Cones | None]:
        return self.target, self.target, None

    def __repr__(self) -> str:
        return f"Zero({self.target!r})"


class SecondOrder(ConstraintSet):
    """|a_1 − b_1| <= a_0 − b_0 (Euclidean norm), a_1 all values of a cone but the first; one cone, or several in turn.

    Multipliers y of a cone have −y in it, and σ(y) = ⟨y, b⟩ then. The violation of a cone is the distance of a − b from
    it.

    Parameters
    ----------
    offset : b, a number or an array (m,). sizes : the numbers of values in each cone, m in all and at least two each;
        default one cone of all m. One value alone is in ``Box(lower=b)``.

    Raises
    ------
    InvalidInputError for an offset that is not finite or no vector, and for sizes below two; the constraint raises it
    for sizes that do not add up to m.
    """

    def __init__(self, offset: Any = 0.0, sizes: Sequence[int] | None = None) -> None:
        self.offset = np.array(finite(offset, "offset"), dtype=np.float64)
        if self.offset.ndim > 1:
            raise InvalidInputError(f"offset must be a number or a vector; found shape {self.offset.shape}")
        if sizes is not None and (isinstance(sizes, str) or not isinstance(sizes, (Sequence, np.ndarray))):
            raise InvalidTypeError(f"sizes must be a sequence of integers; found {type(sizes).__name__}")
        self.sizes = None if sizes is None else tuple(integer(k, "sizes", least=2) for k in sizes)

    def parts(self, size: int) -> tuple[Any, Any, Cones | None]:
        sizes = (size,) if self.sizes is None else self.sizes
        if sum(sizes) != size or min(sizes) < 2:
            needs = f"at least 2 each and {size} in all, as the measurement has"
            raise InvalidInputError(f"sizes must be {needs}; found {list(sizes)}, {sum(sizes)} in all")
        if self.offset.ndim == 1 and len(self.offset) != size:
            raise InvalidInputError(f"offset must be a number or have length {size}; found length {len(self.offset)}")
        return -np.inf, np.inf, Cones.of(sizes, np.array(np.broadcast_to(self.offset, (size,))))

    def __repr__(self) -> str:
        return f"SecondOrder({self.offset.tolist()!r}, sizes={self.sizes!r})"
