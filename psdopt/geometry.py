"""The geometry interface: where M lives and how to move there. A geometry knows nothing of F."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.matrix import LowRankPSD


@dataclass(frozen=True)
class Defect:
    """Why a point or vector is not valid: a reason, how large the violation is, what is allowed."""

    reason: str
    magnitude: float
    allowed: float

    def __str__(self) -> str:
        return f"{self.reason}: {self.magnitude:.3g}, allowed {self.allowed:.3g}"


@dataclass(frozen=True)
class Atom:
    """Answer of a linear oracle: v with vvᵀ an extreme point, ⟨S, vvᵀ⟩, and how far from least it may be.

    `value` = vᵀSv; the true minimum of ⟨S, N⟩ over the set lies in [value − gap_bound, value].
    """

    vector: Array
    value: float
    gap_bound: float
    products: int


class Geometry(ABC):
    """A set of PSD matrices of order `n` with the tools that methods need.

    `abilities` says which groups of methods of this class are there (see
    :class:`~psdopt.capability.Ability`). Points may be any object; :meth:`factor` turns one into Y.
    `trace` is the fixed trace of all members, or None. `closed` is False where limits of members need not be
    members (definite matrices; matrices of rank exactly r): a minimum there may be approached without end.
    `keeps` names what all moves leave as it is, besides rank and trace ("" for nothing): a run then ends where
    :meth:`movable` has nothing left, whatever the certificate of the whole problem says.
    """

    n: int
    abilities: frozenset[str] = frozenset()
    trace: float | None = None
    closed: bool = True
    keeps: str = ""

    # every geometry
    @abstractmethod
    def check_point(self, point: Any) -> Defect | None:
        """None for a valid point, else a :class:`Defect`."""

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> Any:
        """A generic point."""

    @abstractmethod
    def factor(self, point: Any) -> Array:
        """Y (n, r) with M = Y Yᵀ."""

    @abstractmethod
    def from_factor(self, Y: Array) -> Any:
        """The point whose matrix is Y Yᵀ (closest one if the set demands it)."""

    def to_matrix(self, point: Any) -> LowRankPSD:
        """M of a point, factored."""
        return LowRankPSD(self.factor(point))

    def from_matrix(self, M: LowRankPSD) -> Any:
        """The point of a matrix (closest one if the set demands it)."""
        return self.from_factor(M.factor)

    def with_rank(self, r: int) -> Geometry:
        """The same kind of set with factors of `r` columns, for runs whose rank grows."""
        raise self._lacks("with_rank")

    @property
    def grows(self) -> bool:
        """Whether the geometry offers `with_rank`."""
        return type(self).with_rank is not Geometry.with_rank

    def movable(self, Y: Array, G: Array) -> Array:
        """The part of the factor gradient G (n, r) at Y along which the geometry can move: all of it unless `keeps`."""
        return G

    # ability "riemannian"
    def check_vector(self, point: Any, vector: Any) -> Defect | None:
        """None for a valid (horizontal) tangent vector, else a :class:`Defect`."""
        raise self._lacks("check_vector")

    def inner(self, point: Any, left: Any, right: Any) -> float:
        """Metric at `point`."""
        raise self._lacks("inner")

    def norm(self, point: Any, vector: Any) -> float:
        """Length of a tangent vector."""
        return float(np.sqrt(max(self.inner(point, vector, vector), 0.0)))

    def horizontal(self, point: Any, ambient: Any) -> Any:
        """Horizontal part of an ambient vector: idempotent, removes exactly the fibre directions."""
        raise self._lacks("horizontal")

    def random_vector(self, point: Any, rng: np.random.Generator) -> Any:
        """A generic unit tangent vector."""
        raise self._lacks("random_vector")

    def gradient(self, point: Any, S: Any) -> Any:
        """Riemannian gradient of point ↦ F(M) for S = ∇F(M), anything with ``S @ block``."""
        raise self._lacks("gradient")

    def retract(self, point: Any, vector: Any) -> Any:
        """Move from `point` along `vector`: R(0) = point, dR(0) = identity."""
        raise self._lacks("retract")

    def transport(self, point: Any, target: Any, vector: Any) -> Any:
        """Carry a tangent vector at `point` to `target`."""
        raise self._lacks("transport")

    # A Riemannian geometry may also offer geodesics, exp(point, vector) and log(point, target), and
    # riemannian_hessian(point, S, factor_hessian, vector): pymanopt's checks, and its optimizers, make use of them.

    # abilities "linear-oracle" and "projection"
    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        """Extreme point vvᵀ of least ⟨S, vvᵀ⟩, to within `tol`, with a bound on the error."""
        raise self._lacks("minimize_linear")

    def minimize_linear_many(self, S: Any, tol: float, count: int, warm_start: Array | None = None) -> list[Atom]:
        """Up to `count` orthogonal extreme points in order of ⟨S, vvᵀ⟩, the first as from :meth:`minimize_linear`.

        `warm_start` (n,) or (n, k). By default the first one alone.
        """
        guess = None if warm_start is None else np.reshape(warm_start, (self.n, -1))[:, 0]
        return [self.minimize_linear(S, tol, guess)]

    def project(self, M: Array) -> LowRankPSD:
        """Closest member of the set, in Frobenius norm, to a symmetric array M (n, n)."""
        raise self._lacks("project")

    def validated(self, point: Any, name: str = "start") -> Any:
        """`point` if valid, else one clear error."""
        defect = self.check_point(point)
        if defect is not None:
            raise InvalidInputError(f"{name} is not a point of {self!r}: {defect}")
        return point

    def _lacks(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} does not offer {what}; its abilities: {sorted(self.abilities)}")
