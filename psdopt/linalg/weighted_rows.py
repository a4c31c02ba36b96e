"""Σ_j diag(w_j) Z_j, formed in blocks of rows, for adjoints of maps with more rows than memory should hold twice."""

from __future__ import annotations

from typing import Any

from psdopt.linalg.arrays import Array


class WeightedRows:
    """G = Σ_j diag(w_j) Z_j (m, k), of weights w_j (m,) and blocks Z_j (m, k): ``G[rows]`` forms some of its rows.

    Sums of two such matrices, and multiples, are again of this form; a sum with an array is an array.
    """

    __array_ufunc__ = None  # an array leaves its sums with these to them

    def __init__(self, *parts: tuple[Array, Array]) -> None:
        self.parts = parts
        self.shape: tuple[int, ...] = parts[0][1].shape

    def __getitem__(self, rows: Any) -> Array:
        (w, Z), *others = self.parts
        found: Array = w[rows, None] * Z[rows]
        for w, Z in others:
            found += w[rows, None] * Z[rows]
        return found

    def __add__(self, other: Any) -> Any:
        return WeightedRows(*self.parts, *other.parts) if isinstance(other, WeightedRows) else self[:] + other

    __radd__ = __add__

    def __mul__(self, number: float) -> WeightedRows:
        return WeightedRows(*((number * w, Z) for w, Z in self.parts))

    __rmul__ = __mul__

    def __neg__(self) -> WeightedRows:
        return -1.0 * self
