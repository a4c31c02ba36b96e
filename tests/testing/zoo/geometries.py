"""Broken geometries: the flat quotient of order 5 and rank 3, with one sin each."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.geometry import Defect
from psdopt.contracts.matrix import LowRankPSD
from psdopt.geometries import FlatQuotient, PositiveDefinite
from psdopt.linalg.arrays import Array, inner, norm

N, R = 5, 3


class _Quotient(FlatQuotient):
    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(N, R)


class FlippedLyapunov(_Quotient):
    """The fibre component is added instead of removed: SciPy's and Julia's Lyapunov equations differ by a sign."""

    rejected_by = (
        "geometry.horizontal_idempotent",
        "geometry.horizontal_removes_fibre",
        "geometry.horizontal_orthogonal",
        "geometry.transport",
        "geometry.vectors_valid",
        "geometry.pymanopt_hessian",
    )

    def horizontal(self, point: Array, ambient: Array) -> Array:
        return 2.0 * ambient - super().horizontal(point, ambient)


class NotHorizontal(_Quotient):
    """Every ambient vector passes as horizontal, and is left as it is."""

    rejected_by = ("geometry.horizontal_removes_fibre", "geometry.vectors_valid")

    def horizontal(self, point: Array, ambient: Array) -> Array:
        return ambient

    def check_vector(self, point: Array, vector: Any) -> Defect | None:
        D = np.asarray(vector)
        bad = D.shape != (N, R) or not np.all(np.isfinite(D))
        return Defect("wrong shape or not finite", 1.0, 0.0) if bad else None


class NormalisedHorizontal(_Quotient):
    """The horizontal part is stretched to the length of the ambient vector."""

    rejected_by = (
        "geometry.horizontal_linear",
        "geometry.horizontal_removes_fibre",
        "geometry.horizontal_orthogonal",
        "geometry.transport",
        "geometry.pymanopt_hessian",
    )

    def horizontal(self, point: Array, ambient: Array) -> Array:
        part = super().horizontal(point, ambient)
        size = norm(part)
        return part * (norm(ambient) / size) if size > 1e-10 * norm(ambient) else part


class GradientHalf(_Quotient):
    """The gradient is S Y, without its factor two."""

    rejected_by = ("geometry.gradient_slope", "geometry.pymanopt_gradient", "geometry.pymanopt_hessian")

    def gradient(self, point: Array, S: Any) -> Array:
        return np.asarray(S @ point)


class NeedsAnArray(_Quotient):
    """The gradient turns S into an array, which an operator is not."""

    rejected_by = (
        "geometry.gradient_takes_operators",
        "geometry.gradient_is_lean",
        "geometry.methods_run_here",
        "geometry.pymanopt_gradient",
        "geometry.pymanopt_hessian",
    )

    def gradient(self, point: Array, S: Any) -> Array:
        return np.asarray(2.0 * np.asarray(S, dtype=np.float64) @ point)


class OptimisticPoints(_Quotient):
    """No check was written, so every point is accepted."""

    rejected_by = ("geometry.points_valid",)

    def check_point(self, point: Any) -> Defect | None:
        return None


class OptimisticVectors(_Quotient):
    """No check was written, so every vector is accepted."""

    rejected_by = ("geometry.vectors_valid",)

    def check_vector(self, point: Array, vector: Any) -> Defect | None:
        return None


class GlobalRandomness(_Quotient):
    """random_point ignores the generator that it is given."""

    rejected_by = ("geometry.points_valid",)
    calls = itertools.count()  # no entropy of the system, with which a check fails at one of very many points

    def random_point(self, rng: np.random.Generator) -> Array:
        return super().random_point(np.random.default_rng(next(self.calls)))


class OtherMatrix(_Quotient):
    """to_matrix gives 2 Y Yᵀ where factor gives Y."""

    rejected_by = ("geometry.retraction_first_order", "geometry.matrix_of_point", "geometry.gradient_slope")

    def to_matrix(self, point: Array) -> LowRankPSD:
        return LowRankPSD(math.sqrt(2.0) * point)


class RankLosing(_Quotient):
    """Beyond a short way the retraction drops the smallest singular value."""

    rejected_by = ("geometry.straight_lines", "geometry.retraction_keeps_set", "geometry.pymanopt_retraction")

    def retract(self, point: Array, vector: Array) -> Array:
        moved = point + vector
        if norm(vector) <= 0.1 * norm(point):
            return moved
        U, s, Vt = np.linalg.svd(moved, full_matrices=False)
        s[-1] = 0.0
        return np.asarray((U * s) @ Vt)


class HalfStep(_Quotient):
    """The retraction goes half as far as it is told."""

    rejected_by = (
        "geometry.straight_lines",
        "geometry.retraction_first_order",
        "geometry.gradient_slope",
        "geometry.pymanopt_retraction",
    )

    def retract(self, point: Array, vector: Array) -> Array:
        return point + 0.5 * vector


class ClaimsSecondOrder(_Quotient):
    """A first-order retraction that claims to follow geodesics."""

    retraction_order = 2
    rejected_by = ("geometry.straight_lines", "geometry.retraction_second_order", "geometry.pymanopt_retraction")

    def retract(self, point: Array, vector: Array) -> Array:
        return point * (1.0 + 0.5 * (norm(vector) / norm(point)) ** 2) + vector


class PrefersARepresentative(_Quotient):
    """The retraction's second-order part depends on the representative."""

    rejected_by = (
        "geometry.straight_lines",
        "geometry.retraction_equivariant",
    )

    def retract(self, point: Array, vector: Array) -> Array:
        bend = vector[:, ::-1] * (norm(vector) / norm(point)) * 0.2
        return point + vector + bend


class Tilted(PositiveDefinite):
    """The retraction adds a millionth of the length of the vector, whatever its sign: central differences cancel it."""

    rejected_by = ("geometry.retraction_both_sides", "geometry.pymanopt_retraction")

    def __init__(self) -> None:
        super().__init__(4)

    def retract(self, point: Any, vector: Any) -> Any:
        longer = 1.0 + 1e-6 * self.norm(point, vector)
        return self.from_factor(math.sqrt(longer) * self.factor(super().retract(point, vector)))


class LosesAColumn(_Quotient):
    """with_rank(r) gives the set of rank r − 1."""

    rejected_by = ("geometry.with_rank",)

    def with_rank(self, r: int) -> FlatQuotient:
        return FlatQuotient(self.n, max(r - 1, 1))


class TransportsNothing(_Quotient):
    """Vectors are carried as they are, and are no longer horizontal where they arrive."""

    rejected_by = ("geometry.transport",)

    def transport(self, point: Array, target: Array, vector: Array) -> Array:
        return vector


#: Checks that see a metric that is not the one of the quotient.
_OTHER_METRIC = (
    "geometry.metric_invariant",
    "geometry.horizontal_orthogonal",
    "geometry.gradient_slope",
    "geometry.vectors_valid",
    "geometry.pymanopt_gradient",
    "geometry.pymanopt_hessian",
)


class IndefiniteMetric(_Quotient):
    """One direction counts negatively."""

    rejected_by = ("geometry.metric", *_OTHER_METRIC)

    def inner(self, point: Array, left: Array, right: Array) -> float:
        return inner(left[:, 1:], right[:, 1:]) - 5.0 * inner(left[:, 0], right[:, 0])


class ColumnMetric(_Quotient):
    """Columns are weighted differently, so that the length depends on the representative."""

    rejected_by = _OTHER_METRIC

    def inner(self, point: Array, left: Array, right: Array) -> float:
        return inner(left, right * np.array([1.0, 2.0, 3.0]))


ALL: tuple[type[Any], ...] = (
    FlippedLyapunov,
    NotHorizontal,
    NormalisedHorizontal,
    GradientHalf,
    NeedsAnArray,
    OptimisticPoints,
    OptimisticVectors,
    GlobalRandomness,
    OtherMatrix,
    RankLosing,
    HalfStep,
    ClaimsSecondOrder,
    PrefersARepresentative,
    Tilted,
    LosesAColumn,
    TransportsNothing,
    IndefiniteMetric,
    ColumnMetric,
)
