"""Broken methods: conjugate gradient or steepest descent on a factor, with one sin each."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Outcome
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.geometries import FlatQuotient, Spectraplex
from psdopt.linalg.arrays import inner, norm
from psdopt.methods import LBFGS, ConjugateGradient, FrankWolfe
from psdopt.methods.frank_wolfe import _principal, _with_oracle
from psdopt.methods.searches.paths import Path
from psdopt.problems import QuadraticSDP
from psdopt.testing.gallery import with_spectrum

N = 4


def _instances() -> list[tuple[Problem, Geometry]]:
    A, C = with_spectrum([0.6, 0.9, 1.3, 2.0], 1), with_spectrum([-2.0, -1.0, 0.3, 1.0], 2)
    return [(QuadraticSDP(A, 0.5, C), FlatQuotient(N, N))]


class Watched:
    """Tried on one instance only: the sin shows there."""

    rejected_by: ClassVar[tuple[str, ...]] = ()
    conformance_gallery: ClassVar[bool] = False

    def conformance_instances(self) -> list[tuple[Problem, Geometry]]:
        return _instances()


@dataclass(frozen=True)
class Overshoots(Watched, ConjugateGradient):
    """Steps are three times too long, and the value goes up."""

    rejected_by = (
        "method.steps_counted",
        "method.descent",
        "method.solves_instances",
        "method.representative_independent",
    )

    def _search(self, state: Any, d: Any, slope: float) -> tuple[Path, float]:
        path, best = super()._search(state, d, slope)
        return path, 3.0 * best


@dataclass(frozen=True)
class Creeps(Watched, ConjugateGradient):
    """Steps of a fiftieth of the best length, always downhill: right in every respect but speed."""

    rejected_by = ("method.steps_counted",)

    def _search(self, state: Any, d: Any, slope: float) -> tuple[Path, float]:
        path, best = super()._search(state, d, slope)
        return path, 0.02 * best


@dataclass(frozen=True)
class NanThenConverged(Watched, ConjugateGradient):
    """A NaN is swallowed, and the run declared finished."""

    rejected_by = ("method.nan_is_non_finite",)

    def step(self, state: Any) -> Any:
        new = super().step(state)
        if math.isnan(new.evaluation.value):
            return dataclasses.replace(state, gradient_norm=0.0, outcome=Outcome.FINISHED)
        return new


@dataclass(frozen=True)
class OwnsALoop(Watched, ConjugateGradient):
    """One step looks at a hundred and more points: no budget can hold it."""

    rejected_by = ("method.budgets",)

    def step(self, state: Any) -> Any:
        for _ in range(120):
            state.evaluation.refresh()
        return super().step(state)


@dataclass(frozen=True)
class OneColumn(Watched, ConjugateGradient):
    """Moves the column of Y with the largest gradient: another representative, another run."""

    rejected_by = ("method.representative_independent",)
    conformance_steps: ClassVar[int] = 100

    preconditioner: str = "none"

    def step(self, state: Any) -> Any:
        return super().step(dataclasses.replace(state, last=None))

    def _search(self, state: Any, d: Any, slope: float) -> tuple[Path, float]:
        G = state.gradient
        only = np.zeros_like(G)
        k = int(np.argmax(np.linalg.norm(G, axis=0)))
        only[:, k] = -G[:, k]
        return super()._search(state, only, inner(G, only))


@dataclass(frozen=True)
class ClaimsScaling(Watched, ConjugateGradient):
    """A fixed step length, with the claim that the scale of F does not matter."""

    rejected_by = ("method.scaling_independent",)
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = False
    preconditioner: str = "none"

    def conformance_instances(self) -> list[tuple[Problem, Geometry]]:
        return [(QuadraticSDP(None, 1.0, with_spectrum(np.linspace(-2.0, 1.0, 6), 2)), FlatQuotient(6, 6))]

    def _search(self, state: Any, d: Any, slope: float) -> tuple[Path, float]:
        path, best = super()._search(state, d, slope)
        return path, min(best, 0.25) if math.isfinite(best) else best


@dataclass(frozen=True)
class ClaimsUnits(ClaimsScaling):
    """The same step lengths, of which the units of M are said not to matter."""

    rejected_by = ("method.units_independent",)
    scale_invariant: ClassVar[bool] = False
    unit_invariant: ClassVar[bool] = True


@dataclass(frozen=True)
class GivesUp(Watched, ConjugateGradient):
    """Says after the first step that nothing is left to do."""

    rejected_by = ("method.solves_instances", "method.steps_counted")

    def step(self, state: Any) -> Any:
        return dataclasses.replace(super().step(state), outcome=Outcome.FINISHED)


@dataclass(frozen=True)
class CriesUnbounded(Watched, ConjugateGradient):
    """Says after the first step that F is unbounded along that step, whatever F is."""

    rejected_by = ("method.unbounded_is_true", "method.solves_instances", "method.steps_counted")

    def step(self, state: Any) -> Any:
        new = super().step(state)
        ray = new.evaluation.factor - state.evaluation.factor
        return dataclasses.replace(new, outcome=Outcome.UNBOUNDED, ray=ray)


@dataclass(frozen=True)
class OtherObjective(Watched, ConjugateGradient):
    """Minimises a regularised objective and reports its certificate as if it were the problem's."""

    rejected_by = (
        "method.state_is_true",
        "method.optimal_is_true",
        "method.optimal_is_true_on_hostile",
        "method.conic_agreement",
        "method.nan_is_non_finite",
        "method.resume_repeats",
        "method.residual_is_true",
    )

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> Any:
        other: Any = getattr(problem, "inner", problem)
        C = np.asarray(other.C.to_dense()) if other.C is not None else None
        easier = QuadraticSDP(other.A, 2.0 * other.B.scale if other.B is not None else 0.1, C)
        state = super().init(easier, geometry, start)
        return dataclasses.replace(state, problem=problem)


@dataclass(frozen=True)
class EvaluatesAgain(Watched, ConjugateGradient):
    """Computes F at its start though it is given."""

    rejected_by = ("method.given_evaluation",)

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> Any:
        return super().init(problem, geometry, start)


@dataclass(frozen=True)
class RemembersMore(Watched, LBFGS):
    """Keeps one pair more than it is told."""

    rejected_by = ("method.memory_kept",)

    def step(self, state: Any) -> Any:
        return LBFGS(self.memory + 1, self.preconditioner).step(state)


@dataclass(frozen=True)
class KeepsItsFirstStep(Watched, ConjugateGradient):
    """Keeps the length of its first step in the problem, where every later run finds it."""

    rejected_by = ("method.leaves_nothing_behind",)

    def _search(self, state: Any, d: Any, slope: float) -> tuple[Path, float]:
        path, best = super()._search(state, d, slope)
        if state.last is not None or not 0.0 < best < math.inf:
            return path, best
        return path, state.problem.once("first step", lambda: best)


@dataclass(frozen=True)
class _Greedy(FrankWolfe):
    """Healthy base: Frank-Wolfe over the matrices of trace one, which is of order one."""

    variant: str = "vanilla"

    rejected_by: ClassVar[tuple[str, ...]] = ()
    conformance_gallery: ClassVar[bool] = False

    def conformance_instances(self) -> list[tuple[Problem, Geometry]]:
        return [(QuadraticSDP(None, 1.0, with_spectrum([-0.6, -0.5, -0.4, 1.0], 2)), Spectraplex(N))]


class FalseGap(_Greedy):
    """Reports a hundredth of the duality gap."""

    rejected_by = ("method.residual_is_true",)

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> Any:
        return self._flattered(super().init(problem, geometry, start, evaluation))

    def step(self, state: Any) -> Any:
        return self._flattered(super().step(state))

    def _flattered(self, state: Any) -> Any:
        return dataclasses.replace(state, gradient_norm=0.02 * state.gap / norm(state.evaluation.factor))


class SlowerThanDeclared(_Greedy):
    """Steps that are too short, and shorter from step to step, under a declared order of one."""

    rejected_by: ClassVar[tuple[str, ...]] = ("method.sublinear_order", "method.solves_instances")

    def step(self, state: Any) -> Any:
        _, best = self._toward(state)
        count = (0.1 / state.step) ** (2.0 / 3.0) if state.step > 0.0 else 0.0  # of the steps so far
        size = min(best, 0.1 / (count + 1.0) ** 1.5)
        evaluation = state.evaluation.along_atom(state.atom.vector).step(1.0 - size, size)
        return _with_oracle(state.problem, state.geometry, _principal(evaluation), state, size)


class ExcusesItself(_Greedy):
    """Declares an order so low that nothing could be asked of it."""

    rejected_by = ("method.sublinear_order",)

    @property
    def sublinear_order(self) -> float | None:  # type: ignore[override]
        return 0.01


ALL: tuple[type[Any], ...] = (
    Overshoots,
    Creeps,
    NanThenConverged,
    OwnsALoop,
    OneColumn,
    ClaimsScaling,
    ClaimsUnits,
    GivesUp,
    CriesUnbounded,
    OtherObjective,
    EvaluatesAgain,
    RemembersMore,
    KeepsItsFirstStep,
    FalseGap,
    SlowerThanDeclared,
    ExcusesItself,
)
