"""Geometries that say something false of themselves: the flat quotient of order 5 and rank 3, with one sin each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.geometries import FlatQuotient
from psdopt.linalg.arrays import Array, inner, norm

N, R = 5, 3


class _Quotient(FlatQuotient):
    """Healthy base."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(N, R)


class OneSeedForPoints(_Quotient):
    """random_point draws from a seed of its own, the same for every generator."""

    rejected_by = ("geometry.seeded",)

    def random_point(self, rng: np.random.Generator) -> Array:
        return super().random_point(np.random.default_rng(7))


class OneSeedForVectors(_Quotient):
    """random_vector draws from a seed of its own, the same for every generator."""

    rejected_by = ("geometry.seeded", "geometry.restriction_is_said")

    def random_vector(self, point: Array, rng: np.random.Generator) -> Array:
        return super().random_vector(point, np.random.default_rng(7))


class DropsAColumn(_Quotient):
    """A factor of more than three columns loses those beyond the third."""

    rejected_by = ("geometry.factors_of_any_width",)

    def from_factor(self, Y: Array) -> Any:
        return super().from_factor(Y[:, :R] if Y.shape[1] > R else Y)


class MakesSDense(_Quotient):
    """The gradient multiplies S by the identity first."""

    rejected_by = ("geometry.gradient_is_lean",)

    def gradient(self, point: Array, S: Any) -> Array:
        return np.asarray(2.0 * (np.asarray(S @ np.eye(N)) @ point))


class _Restricted(_Quotient):
    """Healthy base: moves reach everything, and yet it asks tangent_part when a run is over."""

    restricted = True


class StuckForever(_Restricted):
    """Says that nothing of the gradient can be followed, so that every run ends at once."""

    rejected_by = ("geometry.tangent_part",)

    def tangent_part(self, point: Array, S: Any) -> Array:
        return np.zeros_like(point)


class _Sphere(_Quotient):
    """Base: moves keep the trace, and nothing says so but `restricted`; the Hessian is still that of free traces."""

    restricted = True
    invariant = "trace"

    def __init__(self) -> None:
        super().__init__()
        self.abilities = self.abilities - {Ability.STRAIGHT}
        self.dimension = None

    def horizontal(self, point: Array, ambient: Array) -> Array:
        part = super().horizontal(point, ambient)
        return part - (inner(part, point) / inner(point, point)) * point

    def gradient(self, point: Array, S: Any) -> Array:
        return self.horizontal(point, np.asarray(2.0 * (S @ point)))

    def retract(self, point: Array, vector: Array) -> Array:
        moved = point + vector
        return np.asarray(moved * (norm(point) / norm(moved)))


class FollowsEverything(_Sphere):
    """Says that all of 2SY can be followed, where the trace cannot change."""

    rejected_by = ("geometry.tangent_part", "geometry.pymanopt_hessian")

    def tangent_part(self, point: Array, S: Any) -> Array:
        return np.asarray(2.0 * (S @ point))


class UnsaidRestriction(_Sphere):
    """Does not say that its moves keep the trace: S Y must vanish for a run to end, and never does."""

    rejected_by = ("geometry.restriction_is_said", "geometry.pymanopt_hessian")
    restricted = False


class WrongVelocity(_Quotient):
    """velocity is half of what the factor does."""

    rejected_by = ("geometry.retraction_first_order",)

    def velocity(self, point: Array, vector: Array) -> Array:
        return np.asarray(0.5 * vector)


class WrongDimension(_Quotient):
    """Counts the fibre among the directions in which M moves."""

    rejected_by = ("geometry.dimension",)

    def __init__(self) -> None:
        super().__init__()
        self.dimension = N * R


class WrongRank(_Quotient):
    """Declares one column more than its factors have."""

    rejected_by = ("geometry.rank",)

    def __init__(self) -> None:
        super().__init__()
        self.rank = R + 1


class SaysItIsOpen(_Quotient):
    """Holds the limits of its members, and says that it does not."""

    rejected_by = ("geometry.closed",)
    closed = False


class SaysItIsClosed(_Quotient):
    """Refuses matrices of lower rank, and says that it is closed."""

    rejected_by = ("geometry.closed",)

    def check_point(self, point: Any) -> Any:
        from psdopt.contracts.geometry import Defect

        defect = super().check_point(point)
        if defect is not None:
            return defect
        s = np.linalg.svd(point, compute_uv=False)
        return None if s[-1] > 1e-12 * s[0] else Defect("the rank is too low", float(s[0] / max(s[-1], 1e-300)), 1e12)


ALL: tuple[type[Any], ...] = (
    OneSeedForPoints,
    OneSeedForVectors,
    DropsAColumn,
    MakesSDense,
    StuckForever,
    FollowsEverything,
    UnsaidRestriction,
    WrongVelocity,
    WrongDimension,
    WrongRank,
    SaysItIsOpen,
    SaysItIsClosed,
)
