"""Points and tangent vectors of the polar geometry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from psdopt.linalg.arrays import Array


@dataclass(frozen=True, eq=False)
class PolarPoint:
    """M = U R Rᵀ Uᵀ: U (n, r) with orthonormal columns, R (r, r) invertible, any square root of B = R Rᵀ."""

    U: Array
    R: Array

    @cached_property
    def factor(self) -> Array:
        """Y = U R, one array per point: gradients recognise it by identity."""
        return self.U @ self.R

    def with_factor(self, Y: Array) -> PolarPoint:
        """This point, for which Y = U R is known already."""
        self.__dict__["factor"] = Y
        return self

    def __iter__(self) -> Iterator[Array]:
        return iter((self.U, self.R))


@dataclass(frozen=True, eq=False)
class PolarVector:
    """Tangent vector (U̇, Ḃ) as U (n, r) = U̇ and K (r, r), Ḃ = R K Rᵀ: no inverse of R is ever needed."""

    U: Array
    K: Array

    def __add__(self, other: PolarVector) -> PolarVector:
        return PolarVector(self.U + other.U, self.K + other.K)

    def __sub__(self, other: PolarVector) -> PolarVector:
        return PolarVector(self.U - other.U, self.K - other.K)

    def __mul__(self, a: float) -> PolarVector:
        return PolarVector(a * self.U, a * self.K)

    __rmul__ = __mul__

    def __neg__(self) -> PolarVector:
        return PolarVector(-self.U, -self.K)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.U, self.K))
