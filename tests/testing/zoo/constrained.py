"""Broken constraints: min ⟨C, M⟩, tr M = 2, M_01 <= 0.1 on order 4, and a method for them, with one sin each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psdopt.constraints import Constrained, entries, norm_bound, trace
from psdopt.constraints.trace_bound import TraceBound
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.problem import Problem
from psdopt.geometries import PSDCone
from psdopt.linalg.arrays import Array
from psdopt.methods import InteriorPoint
from psdopt.problems import QuadraticSDP
from psdopt.terms.measurements import Entries
from psdopt.testing.gallery import constrained_problems, with_spectrum

N = 4


class _Bounded(Constrained):
    """Healthy base."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        C = with_spectrum(np.linspace(-2.0, 1.0, N), 2)
        super().__init__(QuadraticSDP(C=C), [trace(N, 2.0), entries([0], [1], N, upper=0.1)])


class ForgetsSupport(_Bounded):
    """The dual bound leaves out σ(y)."""

    rejected_by = ("problem.multiplier_bound", "problem.contradictory_pair")

    def support(self, y: Array) -> float:
        return 0.0


class KeepsWrongSigns(Constrained):
    """Multipliers that push against a bound that is infinite are kept, and count nothing in σ(y): M_01 <= 1.9 alone."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.multiplier_bound",)

    def __init__(self) -> None:
        C = np.diag(np.linspace(0.5, 1.0, N))
        C[0, 1] = C[1, 0] = 0.5  # min ⟨C, M⟩ has M_01 < 0, and the bound is slack
        super().__init__(QuadraticSDP(C=C), [trace(N, 2.0), entries([0], [1], N, upper=1.9)])

    def admissible(self, y: Array) -> Array:
        return y

    def support(self, y: Array) -> float:
        bound = np.where(y > 0.0, self.upper, self.lower)
        return float(np.sum(np.where(np.isfinite(bound), y * bound, 0.0)))


class ForgetsCones(Constrained):
    """Multipliers of a ball, which is large, are taken as they are, in its dual cone or not."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.multiplier_bound",)

    def __init__(self) -> None:
        C = with_spectrum(np.linspace(-2.0, 1.0, N), 2)
        super().__init__(QuadraticSDP(C=C), [trace(N, 2.0), norm_bound(Entries([0, 1], [1, 2], N), 0.1, 20.0)])

    def admissible(self, y: Array) -> Array:
        return y


class SmallTrace(_Bounded):
    """Half of the true trace is taken for a bound on it."""

    rejected_by = ("problem.trace_bound", "problem.multiplier_bound", "problem.redundant_pair")

    @property
    def trace_limit(self) -> TraceBound | None:
        limit = super().trace_limit
        return None if limit is None else dataclasses.replace(limit, value=0.5 * limit.value, least=0.0)


class RedundantIsContradictory(_Bounded):
    """Constraints beyond the first two are taken for a contradiction."""

    rejected_by = ("problem.redundant_pair", "problem.contradictory_pair")

    @property
    def contradiction(self) -> Array | None:
        return np.ones(self.m) if self.m > 2 else None


class NeverInfeasible(_Bounded):
    """σ(y) is never negative, so that no proof of infeasibility is ever accepted."""

    rejected_by = ("problem.contradictory_pair",)

    def support(self, y: Array) -> float:
        return max(super().support(y), 0.0)


class SharedErrors(_Bounded):
    """Each ⟨A_t, M⟩ is measured with an error of a tenth of the largest, whatever the scale of A_t."""

    rejected_by = ("problem.constraint_scaling",)

    def measured(self, Y: Array) -> Array:
        a = super().measured(Y)
        return np.asarray(a + 0.1 * np.max(np.abs(a)))


@dataclass(frozen=True)
class WrongSign(InteriorPoint):
    """The multipliers of its point have the wrong sign, those of its best bound the right one."""

    rejected_by: ClassVar[tuple[str, ...]] = ("method.multipliers_are_true",)
    conformance_gallery: ClassVar[bool] = False

    def conformance_instances(self) -> list[tuple[Problem, Geometry]]:
        return [(constrained_problems(N)["linear under constraints"], PSDCone(N))]

    def step(self, state: Any) -> Any:
        new = super().step(state)
        assert new.dual is not None
        best = new.dual.y if new.dual.best is None else new.dual.best
        return dataclasses.replace(new, dual=dataclasses.replace(new.dual, y=-new.dual.y, best=best))


PROBLEMS: tuple[type[Any], ...] = (
    ForgetsSupport,
    KeepsWrongSigns,
    ForgetsCones,
    SmallTrace,
    RedundantIsContradictory,
    NeverInfeasible,
    SharedErrors,
)
METHODS: tuple[type[Any], ...] = (WrongSign,)
