"""Broken conic and linear oracles and projections: the trace-one set and the cone of order 5, with one sin each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Atom, Defect, Geometry
from psdopt.contracts.matrix import LowRankPSD
from psdopt.geometries import PSDCone
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS
from tests.testing.twins import project_spectraplex

N = 5


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


class OracleOutside(_TraceOne):
    """The set is {M ⪰ 0, tr M = 1, M ⪯ I/2}, which holds no matrix of rank one; the oracle answers with one."""

    rejected_by = ("geometry.linear_oracle",)

    def __init__(self) -> None:
        super().__init__()
        self.abilities = frozenset({Ability.LINEAR_ORACLE})

    def check_point(self, point: Any) -> Defect | None:
        defect = super().check_point(point)
        largest = 0.5 if defect is not None else float(np.linalg.norm(point, 2)) ** 2
        return Defect("an eigenvalue exceeds 1/2", largest, 0.5) if largest > 0.5 + 1024 * EPS else defect

    def from_factor(self, Y: Array) -> Array:
        values, vectors = np.linalg.eigh(Y @ Y.T)
        weights = project_simplex(values, 1.0, 0.5)
        return np.asarray(vectors * np.sqrt(np.where(weights > 64 * N * EPS, weights, 0.0)))  # rounding is no rank


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
    OracleMaximises,
    OracleOutside,
    OracleWithoutDoubt,
    OracleCountsOne,
    LazyConicOracle,
    ClipsAndScales,
)
