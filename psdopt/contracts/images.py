"""A factor Y together with its images under a problem's linear maps.

A problem computes everything from these images. The images are linear in Y. Hence a step along a direction, a
change of columns and an appended column combine known arrays, and no map is applied again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, append_columns, inner, norm
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS


class Images:
    """Y (n, r) and A Y for each of the `maps` A; each image is computed once, on first use.

    `drift` bounds the rounding error, relative to |Y|, that linear combinations have accumulated since the images were
    last computed from Y itself.
    """

    __slots__ = ("_arrays", "_derived", "_size", "_start", "drift", "factor", "maps")

    def __init__(
        self,
        maps: Sequence[LinearMap],
        factor: Array,
        arrays: dict[int, Array] | None = None,
        drift: float = 0.0,
    ) -> None:
        self.maps = tuple(maps)
        self.factor = factor
        self.drift = drift
        self._arrays = {} if arrays is None else arrays
        self._derived: dict[int, tuple[object, Array]] = {}
        self._size: float | None = None
        self._start: tuple[Images, float] | None = None

    @property
    def size(self) -> float:
        """|Y|, computed once."""
        if self._size is None:
            self._size = norm(self.factor)
        return self._size

    def of(self, linear_map: LinearMap | None) -> Array:
        """The image of Y under `linear_map`; None stands for the identity."""
        if linear_map is None:
            return self.factor
        key = self.maps.index(linear_map)
        if key not in self._arrays:
            self._arrays[key] = linear_map.apply(self.factor)
        return self._arrays[key]

    def derived(self, owner: object, linear_map: LinearMap | None, compute: Callable[[Array], Array]) -> Array:
        """compute(image), stored with these images for `owner`, so that value, search and gradient share it."""
        known = self._derived.get(id(owner))
        if known is None:
            deadline.ask()
            known = self._derived[id(owner)] = (owner, compute(self.of(linear_map)))
        return known[1]

    def step(self, mu: float, direction: Images) -> Images:
        """Images of Y + mu D. Cost O(size of the images), no application if the images of D are known."""
        arrays = {key: _moved(Z, mu, direction.of(self.maps[key])) for key, Z in self._arrays.items()}
        new = Images(self.maps, self.factor + mu * direction.factor, arrays)
        moved = self.size + abs(mu) * direction.size
        # do not block on |Y + mu D| on a device
        size = new.size if type(new.factor) is np.ndarray else self._size_along(mu, direction)
        new.drift = (self.drift * self.size + EPS * moved) / size if size > 0.0 else 0.0
        return new

    def ask(self, direction: Images) -> None:
        """Queue the numbers that a step along `direction` needs on a device, so that they share one transfer."""
        _ = self.size, direction.size, direction.against(self)

    def against(self, start: Images) -> float:
        """⟨Y, D⟩ for this direction D from `start` Y, computed once."""
        if self._start is None or self._start[0] is not start:
            self._start = start, inner(start.factor, self.factor)
        return self._start[1]

    def _size_along(self, mu: float, direction: Images) -> float:
        """|Y + mu D| from known numbers; at least √eps (|Y| + mu |D|), because below that no digit is left."""
        own, step = float(self.size), abs(mu) * float(direction.size)
        square = own**2 + 2.0 * mu * float(direction.against(self)) + step**2
        return math.sqrt(max(square, EPS * (own + step) ** 2))

    def mix(self, T: Array) -> Images:
        """Images of Y T for a small T (r, r')."""
        return Images(self.maps, self.factor @ T, {k: Z @ T for k, Z in self._arrays.items()}, self.drift)

    def append(self, *others: Images) -> Images:
        """Images of [Y, Y₁, Y₂, ...]; a map is applied only if one of `others` lacks the image."""
        arrays = {k: append_columns(Z, *(o.of(self.maps[k]) for o in others)) for k, Z in self._arrays.items()}
        factor = append_columns(self.factor, *(o.factor for o in others))
        return Images(self.maps, factor, arrays, max(self.drift, *(o.drift for o in others)))

    def refreshed(self) -> Images:
        """The same Y without images: each is recomputed on first use."""
        return Images(self.maps, self.factor)

    def __getstate__(self) -> tuple[tuple[LinearMap, ...], Array, dict[int, Array], float]:
        return self.maps, self.factor, self._arrays, self.drift

    def __setstate__(self, state: tuple[tuple[LinearMap, ...], Array, dict[int, Array], float]) -> None:
        self.maps, self.factor, self._arrays, self.drift = state
        self._derived = {}
        self._size = self._start = None


def _moved(Z: Array, mu: float, D: Array) -> Array:
    """Z + mu D, with no other array of its size beside it."""
    new = mu * D
    new += Z
    return new
