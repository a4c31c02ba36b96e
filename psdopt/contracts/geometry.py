"""The geometry interface: the set of M, and how to move in it. A geometry knows nothing of F.

Every geometry offers the first group of :class:`Geometry`. The abilities "riemannian", "linear-oracle" and
"projection" stand for the groups below it. Further optional groups are in :mod:`psdopt.contracts.geometry_groups`, one
protocol for each.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.checks import brief
from psdopt.contracts.abilities import Ability
from psdopt.contracts.curve import FactorCurve
from psdopt.contracts.matrix import LowRankPSD
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, is_finite, norm
from psdopt.linalg.tolerances import EPS

#: Old names of members, and what replaces them.
RENAMED = {"keeps": "invariant", "movable": "tangent_part", "grows": "can_grow"}


@dataclass(frozen=True)
class Defect:
    """Why a point or vector is not valid: the reason, the size of the violation, and the allowed size."""

    reason: str
    magnitude: float
    allowed: float

    def __str__(self) -> str:
        if "found" in self.reason:  # it says all, as that of a wrong shape
            return self.reason
        return f"{self.reason}: {self.magnitude:.3g}, allowed {self.allowed:.3g}"


def array_defect(array: Array, fits: bool, wanted: str) -> Defect | None:
    """None for a finite array whose shape `fits`, else the :class:`Defect`; `wanted` describes the required shape."""
    if not fits:
        return Defect(f"{wanted}; found {array.shape}", float(array.size), 0.0)
    return None if is_finite(array) else Defect("non-finite entries", float(np.sum(~np.isfinite(array))), 0.0)


@dataclass(frozen=True)
class Atom:
    """Answer of a linear oracle: v with vvᵀ an extreme point, ⟨S, vvᵀ⟩, and a bound on its error.

    `value` = vᵀSv; the true minimum of ⟨S, N⟩ over the set lies in [value − gap_bound, value].
    """

    vector: Array
    value: float
    gap_bound: float
    products: int


class Geometry(ABC):
    """A set of PSD matrices of order `n` with the tools that methods need.

    Points and vectors may be any objects; :meth:`factor` turns a point into Y with M = Y Yᵀ. Vectors need ``+``, ``-``
    and multiplication by numbers.

    Attributes
    ----------
    abilities : the groups that this geometry offers (see :class:`~psdopt.contracts.abilities.Ability`).
    rank : largest rank of the members, the number of columns of all factors; None if there is no limit.
    dimension : dimension of the set as a manifold, or None if it is not known.
    trace : fixed trace of all members, or None.
    closed : False if a limit of members need not be a member (definite matrices; matrices of rank exactly r), so that
        a minimum need not be attained.
    invariant : properties besides rank and trace that no move changes, in words for messages ("" for none).
    retraction_order : 2 if :meth:`retract` agrees with geodesics to second order.
    horizontal_is_orthogonal : False if the horizontal space is another complement of the fibre.
    retraction_depends_on_representative : True if R(Y O, D O) is R(Y, D) O up to second order only.
    takes_device_arrays : True if points and vectors may be arrays on a device (:mod:`psdopt.devices`).
    """

    n: int
    abilities: frozenset[str] = frozenset()
    rank: int | None = None
    dimension: int | None = None
    trace: float | None = None
    closed: bool = True
    invariant: str = ""
    retraction_order: int = 1
    horizontal_is_orthogonal: bool = True
    retraction_depends_on_representative: bool = False
    takes_device_arrays: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for old, new in RENAMED.items():
            if old in cls.__dict__:
                hint = "; tangent_part has a default now" if old == "movable" else ""
                text = f"{cls.__name__}.{old} is no longer read; its new name is {new}{hint}"
                warnings.warn(text, DeprecationWarning, stacklevel=2)

    # every geometry

    @abstractmethod
    def check_point(self, point: Any) -> Defect | None:
        """None for a valid point, else a :class:`Defect`."""

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> Any:
        """A generic point, determined by `rng`."""

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

    def validated(self, point: Any, name: str = "start") -> Any:
        """`point` if valid, else InvalidInputError, or InvalidTypeError if it does not hold numbers."""
        try:
            defect = self.check_point(point)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(f"{name} must be a point of {self!r}; found {brief(point)}: {error}") from error
        if defect is not None:
            raise InvalidInputError(f"{name} is not a point of {self!r}: {defect}")
        return point

    def with_rank(self, r: int) -> Geometry:
        """The same kind of set with factors of `r` columns, for runs whose rank grows."""
        raise self._lacks("with_rank")

    @property
    def can_grow(self) -> bool:
        """Whether the geometry offers `with_rank`."""
        return type(self).with_rank is not Geometry.with_rank

    # ability "riemannian": check_vector, inner, horizontal, random_vector, gradient and retract; the rest has defaults

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
        """Transport a tangent vector at `point` to `target`. Default: the horizontal part of the same array there."""
        return self.horizontal(target, vector)

    def velocity(self, point: Any, vector: Any) -> Array:
        """Ẏ (n, r): how the factor begins to move along `vector`, up to directions YΩ (Ω skew) of the fibre.

        Default: central differences of factors along the retraction, turned to be closest to Y. Relative accuracy
        about eps^⅔; four to eight retractions and O(n r²).
        """
        Y, size = self.factor(point), self.norm(point, vector)
        if size == 0.0:
            return np.zeros_like(Y)
        reach = float(np.cbrt(EPS)) * (norm(Y) or 1.0)
        h = reach / size
        for _ in range(6):  # lengths in the metric may differ from lengths of the factor
            moved = norm(self._turned(point, h * vector) - Y)
            if not 0.0 < moved < np.inf or 0.1 < moved / reach < 10.0:
                break
            h *= reach / moved
        return np.asarray((self._turned(point, h * vector) - self._turned(point, -h * vector)) / (2.0 * h))

    def curve(self, point: Any, vector: Any, straight: bool = False) -> FactorCurve | None:
        """The curve s ↦ R(point, s vector) as combinations of known arrays; None (the default) if unknown.

        With `straight` the geometry may return the retraction along the straight line Y + s Ẏ instead, if it has one.
        """
        return None

    def frame(self, point: Any) -> tuple[Array, Array] | None:
        """(U, R) with Y = U R, if the curves from `point` combine U (n, r) instead of Y; None (the default)."""
        return None

    def with_factor(self, point: Any, Y: Array) -> Any:
        """`point` with the array object Y as its factor: known products S Y are recognised by the identity of Y."""
        return point

    def refreshed(self, point: Any) -> Any:
        """`point` without the rounding accumulated by many combinations."""
        return point

    @property
    def restricted(self) -> bool:
        """Whether some changes of M that keep rank and trace cannot be reached by moves.

        If so, S Y need not vanish at an optimum of the set, and :meth:`tangent_part` decides when a run ends. True by
        default for a Riemannian geometry without straight lines.
        """
        return Ability.RIEMANNIAN in self.abilities and Ability.STRAIGHT not in self.abilities

    def tangent_part(self, point: Any, S: Any) -> Array:
        """The part of 2 S Y (n, r) along which a `restricted` geometry can move; zero where it cannot decrease F.

        Default: Ẏ for the Riemannian gradient, scaled to the length ⟨2 S Y, Ẏ⟩ / |Ẏ|, the slope of F along it. For the
        metric tr(D₁ᵀD₂) on factors this is the orthogonal projection. Cost: that of `gradient` and `velocity`.
        """
        gradient = self.gradient(point, S)
        moved = self.velocity(point, gradient)
        size = norm(moved)
        return moved * (self.inner(point, gradient, gradient) / size**2) if size > 0.0 else moved

    # abilities "linear-oracle" and "projection"

    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        """Extreme point vvᵀ of least ⟨S, vvᵀ⟩, to within `tol`, with a bound on the error."""
        raise self._lacks("minimize_linear")

    def minimize_linear_many(self, S: Any, tol: float, count: int, warm_start: Array | None = None) -> list[Atom]:
        """Up to `count` orthogonal extreme points in order of ⟨S, vvᵀ⟩, the first as from :meth:`minimize_linear`.

        `warm_start` (n,) or (n, k). Default: only the first.
        """
        guess = None if warm_start is None else np.reshape(warm_start, (self.n, -1))[:, 0]
        return [self.minimize_linear(S, tol, guess)]

    def project(self, M: Array) -> LowRankPSD:
        """Closest member of the set, in Frobenius norm, to a symmetric array M (n, n)."""
        raise self._lacks("project")

    def _turned(self, point: Any, vector: Any) -> Array:
        """The factor of R(point, vector) that is closest to the factor of `point` among all equivalent ones."""
        Y, Z = self.factor(point), self.factor(self.retract(point, vector))
        U, _, Vt = np.linalg.svd(Z.T @ Y)
        return np.asarray(Z @ (U @ Vt))

    def _lacks(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} does not offer {what}; its abilities: {sorted(self.abilities)}")
