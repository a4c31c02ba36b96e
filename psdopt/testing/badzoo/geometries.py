"""Broken geometries: the flat quotient of order 5 and rank 3, or the trace-one set of order 5, with one sin each."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.geometry import Atom, Defect, Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.matrix import LowRankPSD
from psdopt.testing.reference import project_spectraplex

N, R = 5, 3


class _Quotient(FlatQuotient):
    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(N, R)


class FlippedLyapunov(_Quotient):
    """The fibre component is added instead of removed: SciPy's and Julia's Lyapunov equations differ by a sign."""

    rejected_by = ("geometry.horizontal_idempotent", "geometry.horizontal_removes_fibre",
                   "geometry.horizontal_orthogonal", "geometry.transport", "geometry.vectors_valid",
                   "geometry.pymanopt_hessian")  # fmt: skip

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

    rejected_by = ("geometry.horizontal_linear", "geometry.horizontal_removes_fibre",
                   "geometry.horizontal_orthogonal", "geometry.transport", "geometry.pymanopt_hessian")  # fmt: skip

    def horizontal(self, point: Array, ambient: Array) -> Array:
        part = super().horizontal(point, ambient)
        size = norm(part)
        return part * (norm(ambient) / size) if size > 1e-10 * norm(ambient) else part


class GradientHalf(_Quotient):
    """The gradient is S Y, without its factor two."""

    rejected_by = ("geometry.gradient_slope", "geometry.pymanopt_gradient", "geometry.pymanopt_hessian")  # fmt: skip

    def gradient(self, point: Array, S: Any) -> Array:
        return np.asarray(S @ point)


class NeedsAnArray(_Quotient):
    """The gradient turns S into an array, which an operator is not."""

    rejected_by = ("geometry.gradient_takes_operators", "geometry.pymanopt_gradient",
                   "geometry.pymanopt_hessian")  # fmt: skip

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

    def random_point(self, rng: np.random.Generator) -> Array:
        return super().random_point(np.random.default_rng())


class OtherMatrix(_Quotient):
    """to_matrix gives 2 Y Yᵀ where factor gives Y."""

    rejected_by = ("geometry.matrix_of_point", "geometry.gradient_slope")

    def to_matrix(self, point: Array) -> LowRankPSD:
        return LowRankPSD(math.sqrt(2.0) * point)


class RankLosing(_Quotient):
    """Beyond a short way the retraction drops the smallest singular value."""

    rejected_by = ("geometry.retraction_keeps_set", "geometry.pymanopt_retraction")

    def retract(self, point: Array, vector: Array) -> Array:
        moved = point + vector
        if norm(vector) <= 0.1 * norm(point):
            return moved
        U, s, Vt = np.linalg.svd(moved, full_matrices=False)
        s[-1] = 0.0
        return np.asarray((U * s) @ Vt)


class HalfStep(_Quotient):
    """The retraction goes half as far as it is told."""

    rejected_by = ("geometry.retraction_first_order", "geometry.gradient_slope",
                   "geometry.pymanopt_retraction")  # fmt: skip

    def retract(self, point: Array, vector: Array) -> Array:
        return point + 0.5 * vector


class ClaimsSecondOrder(_Quotient):
    """A first-order retraction that claims to follow geodesics."""

    retraction_order = 2
    rejected_by = ("geometry.retraction_second_order", "geometry.pymanopt_retraction")

    def retract(self, point: Array, vector: Array) -> Array:
        return point * (1.0 + 0.5 * (norm(vector) / norm(point)) ** 2) + vector


class PrefersARepresentative(_Quotient):
    """The retraction's second-order part depends on the representative."""

    rejected_by = ("geometry.retraction_equivariant",)

    def retract(self, point: Array, vector: Array) -> Array:
        bend = vector[:, ::-1] * (norm(vector) / norm(point)) * 0.2
        return point + vector + bend


class TransportsNothing(_Quotient):
    """Vectors are carried as they are, and are no longer horizontal where they arrive."""

    rejected_by = ("geometry.transport",)

    def transport(self, point: Array, target: Array, vector: Array) -> Array:
        return vector


class IndefiniteMetric(_Quotient):
    """One direction counts negatively."""

    rejected_by = ("geometry.metric", "geometry.metric_invariant", "geometry.horizontal_orthogonal",
                   "geometry.gradient_slope", "geometry.vectors_valid", "geometry.pymanopt_gradient",
                   "geometry.pymanopt_hessian")  # fmt: skip

    def inner(self, point: Array, left: Array, right: Array) -> float:
        return inner(left[:, 1:], right[:, 1:]) - 5.0 * inner(left[:, 0], right[:, 0])


class ColumnMetric(_Quotient):
    """Columns are weighted differently, so that the length depends on the representative."""

    rejected_by = ("geometry.metric_invariant", "geometry.horizontal_orthogonal", "geometry.gradient_slope",
                   "geometry.vectors_valid", "geometry.pymanopt_gradient", "geometry.pymanopt_hessian")  # fmt: skip

    def inner(self, point: Array, left: Array, right: Array) -> float:
        return inner(left, right * np.array([1.0, 2.0, 3.0]))


class _TraceOne(Geometry):
    """Healthy base: {M ⪰ 0, tr M = 1} by dense eigensolves."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.n, self.trace = N, 1.0
        self.abilities = frozenset({Ability.FULL_CONE, Ability.LINEAR_ORACLE, Ability.PROJECTION})

    def check_point(self, point: Any) -> Defect | None:
        Y = np.asarray(point)
        if Y.ndim != 2 or len(Y) != N or not np.all(np.isfinite(Y)):
            return Defect("no finite (n, r) factor", 1.0, 0.0)
        error = abs(norm(Y) ** 2 - 1.0)
        return None if error <= 1024 * EPS * N else Defect("trace is not one, off by", error, 1024 * EPS * N)

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.from_factor(rng.standard_normal((N, 2)))

    def factor(self, point: Array) -> Array:
        return point

    def from_factor(self, Y: Array) -> Array:
        return np.asarray(Y / norm(Y))

    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        dense = np.asarray(S @ np.eye(N))
        values, vectors = np.linalg.eigh(dense)
        v = vectors[:, self.chosen]
        return self.answer(Atom(v, float(v @ dense @ v), 64 * EPS * N * float(np.max(np.abs(values))), N))

    chosen: ClassVar[int] = 0

    def answer(self, atom: Atom) -> Atom:
        return atom

    def project(self, M: Array) -> LowRankPSD:
        return LowRankPSD.from_dense(project_spectraplex(M))


class OracleMaximises(_TraceOne):
    """The linear oracle returns the wrong end of the spectrum."""

    rejected_by = ("geometry.linear_oracle",)
    chosen = -1


class OracleWithoutDoubt(_TraceOne):
    """The oracle is inexact, and its bound on the error says that it is not."""

    rejected_by = ("geometry.linear_oracle",)

    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        dense = np.asarray(S @ np.eye(N))
        _, vectors = np.linalg.eigh(dense)
        v = vectors[:, 0] + 0.05 * vectors[:, -1]
        v = v / norm(v)
        return Atom(v, float(v @ dense @ v), 0.0, N)


class OracleCountsOne(_TraceOne):
    """The oracle says that it used a single product."""

    rejected_by = ("geometry.linear_oracle_counts",)

    def answer(self, atom: Atom) -> Atom:
        return Atom(atom.vector, atom.value, atom.gap_bound, 1)


class LazyConicOracle(PSDCone):
    """On the cone, the oracle answers with a coordinate direction and calls it exact."""

    rejected_by: ClassVar[tuple[str, ...]] = ("geometry.conic_oracle",)

    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __init__(self) -> None:
        super().__init__(N)

    def __getnewargs__(self) -> Any:
        return ()

    def minimize_linear(self, S: Any, tol: float, warm_start: Array | None = None) -> Atom:
        dense = np.asarray(S @ np.eye(N))
        k = int(np.argmin(np.diag(dense)))
        return Atom(np.eye(N)[:, k], float(dense[k, k]), 0.0, N)


class ClipsAndScales(_TraceOne):
    """The projection drops negative eigenvalues and scales the trace, which is a member but not the closest."""

    rejected_by = ("geometry.projection",)

    def project(self, M: Array) -> LowRankPSD:
        values, vectors = np.linalg.eigh(M)
        values = np.maximum(values, 0.0)
        if not values[-1] > 0.0:
            values[-1] = 1.0
        return LowRankPSD(vectors * np.sqrt(values / np.sum(values)))


ALL: tuple[type[Any], ...] = (
    FlippedLyapunov, NotHorizontal, NormalisedHorizontal, GradientHalf, NeedsAnArray, OptimisticPoints,
    OptimisticVectors, GlobalRandomness, OtherMatrix, RankLosing, HalfStep, ClaimsSecondOrder, PrefersARepresentative,
    TransportsNothing, IndefiniteMetric, ColumnMetric, OracleMaximises, OracleWithoutDoubt, OracleCountsOne,
    LazyConicOracle, ClipsAndScales,
)  # fmt: skip
