"""Alternating direction method of multipliers on a bi-convex split M = V Uᵀ, V = U, with an exact-search polish."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires, require_inner
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, is_finite, norm
from psdopt.method import Method, Outcome, State
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.lagrange_newton import LagrangeNewton
from psdopt.problem import Evaluation, Problem
from psdopt.splitting import BiconvexSplit, split_of

#: rho starts at this multiple of the problem's own unit (see `_unit`), and adaptation does not go below it: at l = 2/3
#: the slowest mode shrinks by 0.83 per iteration, at l = 1 not at all, and the mean slows down as rho grows.
MULTIPLE = 1.5
#: Share of the split's `scale` (size of its convex pieces) in that unit: it counts where they outweigh the coupling.
SCALE_SHARE = 0.1
#: Residuals that differ by more than this factor move rho (Hu & Kwok, eq. 15).
IMBALANCE = 10.0
#: Blocks whose difference exceeds this multiple of their mean, for so many iterations in a row, have come apart.
APART = 1.5
PATIENCE = 10
#: So do blocks that have grown by this factor over the start, at once.
EXPLODED = 1e6
#: Divergence is answered by doubling rho and starting again from the best mean, this many times.
MAX_RESTARTS = 5
#: With a polish to come, the split phase ends here at the latest.
SPLIT_ITERATIONS = 100


@dataclass
class ADMMState(State):
    """Blocks V and U, multiplier, image L U, penalty; in the polish phase the state of that method.

    `best` is the evaluation of least value, `restarts` how often rho was doubled because the blocks came
    apart, `apart` for how many iterations they have been, `size` the largest |Y| seen at a start.
    """

    V: Array | None = None
    U: Array | None = None
    multiplier: Array | None = None
    image: Array | None = None
    rho: float = float("nan")
    split_iterations: int = 0
    restarts: int = 0
    apart: int = 0
    size: float = 0.0
    best: Evaluation | None = None
    polish: State | None = None


@dataclass(frozen=True)
class ADMM(Method):
    """V ← argmin_V ℒ, then U ← argmin_U ℒ, then Λ ← Λ + rho (V − U) (Hu & Kwok, algorithm 1), then a polish.

    ℒ(V, U, Λ) = F(V, U) + ⟨Λ, V − U⟩ + rho/2 |V − U|², F the problem's :class:`~psdopt.splitting.BiconvexSplit`.
    The iterate is the mean (V + U)/2, so M is symmetric by construction. Departures from the printed
    algorithm, each of which it needs:

    - all of V is updated before any of U; the dual residual is rho |U⁺ − U|, of the block updated last;
    - rho scales with a bound b on λ_max(L), L the coupling of the blocks. ℒ is unbounded below for
      rho < λ_max/2; the iteration itself, in a direction with eigenvalue λ that no other piece of F touches, has the
      characteristic equation μ² − (1 − 3l + l²) μ − l(1 − l) = 0, l = λ/rho: unstable for l > (1 + √5)/2,
      that is rho < 0.618 λ_max, stable but with μ = −1 at l = 1, safely stable for rho > λ_max. Hence the start
      and floor 1.5 b (b being at least a tenth of the size of the other pieces of F);
    - adaptation compares |V − U| b with the dual residual (the printed comparison has units) and never raises
      rho when it means to lower it;
    - once the value of the mean changes by less than `switch` (F(0) − F) in an iteration, `polish` goes on
      from the mean: the tail of the splitting iteration is slow, that of an exact search is not. The history's
      column `phase` is 0 for the splitting, 1 for the polish, which also goes on where columns were added, and 2 for
      the Newton steps of a :class:`~psdopt.methods.lagrange_newton.LagrangeNewton`.

    When V and U come apart (|V − U| > 1.5 |V + U|/2 ten times in a row, a millionfold growth, or not finite), rho
    is doubled and the run goes on from the best mean; without `adapt`, or after five times, the outcome is
    ``Outcome.DIVERGED`` at the best mean: a run with that status has not converged, whatever its residuals.

    Parameters
    ----------
    rho : "auto", or a number above 0 to start from (to stay at, without `adapt`).
    adapt : whether rho may change.
    polish : a method that finishes the run, for a problem and geometry that it fits; None for none. "auto" is
        :class:`~psdopt.methods.lagrange_newton.LagrangeNewton` where Newton steps pay, else
        :class:`~psdopt.methods.conjugate_gradient.ConjugateGradient`.
    switch : relative change of the value at which the polish takes over, in (0, 1).

    Cost per iteration: two products with L on (n, r) blocks, two block updates, one value and gradient.
    """

    rho: float | str = "auto"
    adapt: bool = True
    polish: Method | str | None = "auto"
    switch: float = 1e-2

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.SPLIT),
        "geometry": (Ability.FACTOR, Ability.STRAIGHT),
    }

    def __post_init__(self) -> None:
        number = isinstance(self.rho, (int, float, np.floating)) and not isinstance(self.rho, bool)
        if self.rho != "auto" and not (number and 0.0 < float(self.rho) < math.inf):
            raise InvalidInputError(f"rho must be 'auto' or a finite number above 0; found {self.rho!r}")
        if not 0.0 < self.switch < 1.0:
            raise InvalidInputError(f"switch must lie between 0 and 1; found {self.switch!r}")
        if self.polish is not None and self.polish != "auto" and not isinstance(self.polish, Method):
            raise InvalidInputError(f"polish must be 'auto', a method or None; found {self.polish!r}")

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> ADMMState:
        split = split_of(problem)
        self._check_polish(problem, geometry)
        Y = geometry.factor(start) if evaluation is None else evaluation.factor
        rho = MULTIPLE * _unit(split) if self.rho == "auto" else float(self.rho)
        if self.adapt:
            rho = max(rho, MULTIPLE * split.coupling_bound)
        state = ADMMState(problem, geometry, Y, problem.at(Y) if evaluation is None else evaluation)
        if self.polish is not None and evaluation is not None:
            # columns were added to a point that had been polished: that work is not to be undone
            return self._polishing(state)
        LY = split.image(Y)
        return self._restarted(state, split, split.evaluation(Y, LY), LY, rho, 0)

    def step(self, state: Any) -> ADMMState:
        assert isinstance(state, ADMMState)
        if state.polish is not None:
            polisher = self._polisher(state.problem, state.evaluation.factor.shape[1])
            return _wrapped(state, polisher.step(state.polish))
        if state.outcome is not Outcome.RUNNING:
            return replace(state)
        split = split_of(state.problem)
        V, U, Lam, LU, rho = state.V, state.U, state.multiplier, state.image, state.rho
        assert V is not None
        assert U is not None
        assert Lam is not None
        assert LU is not None
        # one work array: fresh pages for each intermediate would cost as much as the updates
        work = Lam * (-1.0 / rho)
        work += U
        V_new = split.update(U, LU, work, rho)
        LV = split.image(V_new)
        np.multiply(Lam, 1.0 / rho, out=work)
        work += V_new
        U_new = split.update(V_new, LV, work, rho)
        dual = rho * norm(np.subtract(U_new, U, out=work))
        multiplier, mean = V_new - U_new, V_new + U_new
        mean *= 0.5
        primal = norm(multiplier)
        multiplier *= rho
        multiplier += Lam
        apart = state.apart + 1 if primal > APART * norm(mean) else 0
        if not is_finite(mean) or not primal <= EXPLODED * state.size or apart >= PATIENCE:
            return self._apart(state, split)
        LU_new = split.image(U_new)
        LM = LV + LU_new
        LM *= 0.5
        evaluation = split.evaluation(mean, LM)
        best = state.best
        new = ADMMState(
            state.problem, state.geometry, mean, evaluation, norm(evaluation.factor_gradient()),
            norm(np.subtract(mean, state.point, out=work)),
            extras={"phase": 0.0, "primal_residual": primal, "dual_residual": dual, "rho": rho,
                    "restarts": float(state.restarts)},
            V=V_new, U=U_new, multiplier=multiplier, image=LU_new,
            rho=self._adapted(rho, split, primal, dual), split_iterations=state.split_iterations + 1,
            restarts=state.restarts, apart=apart, size=state.size,
            best=evaluation if best is None or evaluation.value < best.value else best,
        )  # fmt: skip
        return self._polishing(new) if self._settled(state, new) else new

    def _adapted(self, rho: float, split: BiconvexSplit, primal: float, dual: float) -> float:
        """Twice, half, or the same (E-A7: the case of balanced residuals is not in the printed rule)."""
        if not self.adapt:
            return rho
        unit = _unit(split)
        if primal * unit > IMBALANCE * dual:
            return 2.0 * rho
        if dual > IMBALANCE * primal * unit:
            return min(rho, max(0.5 * rho, MULTIPLE * unit))
        return rho

    def _settled(self, old: ADMMState, new: ADMMState) -> bool:
        """Whether the value of the mean has stopped moving, or the split phase has had its time."""
        if self.polish is None or new.split_iterations < 2:
            return False
        value = new.evaluation.value
        decrease = abs(new.problem.value_at_zero() - value)
        return abs(old.evaluation.value - value) <= self.switch * decrease or new.split_iterations >= SPLIT_ITERATIONS

    def _polishing(self, state: ADMMState) -> ADMMState:
        polisher = self._polisher(state.problem, state.evaluation.factor.shape[1])
        inner = polisher.init(state.problem, state.geometry, state.point, state.evaluation)
        # V, U and their images are of no more use: their memory goes
        return replace(
            state, gradient_norm=inner.gradient_norm, polish=inner,
            V=None, U=None, multiplier=None, image=None, best=None,
        )  # fmt: skip

    def _polisher(self, problem: Problem, columns: int) -> Method:
        if isinstance(self.polish, Method):
            return self.polish
        return LagrangeNewton() if LagrangeNewton.suits(problem, columns) else ConjugateGradient()

    def _apart(self, state: ADMMState, split: BiconvexSplit) -> ADMMState:
        """From the best mean with twice the penalty, or an end that says so."""
        best = state.best
        assert best is not None
        if not self.adapt or state.restarts >= MAX_RESTARTS:
            gradient_norm = norm(best.factor_gradient())
            return replace(
                state, point=best.factor, evaluation=best, gradient_norm=gradient_norm, outcome=Outcome.DIVERGED
            )
        return self._restarted(state, split, best, split.image(best.factor), 2.0 * state.rho, state.restarts + 1)

    def _restarted(
        self, state: ADMMState, split: BiconvexSplit, evaluation: Evaluation, image: Array, rho: float, restarts: int
    ) -> ADMMState:
        Y = evaluation.factor
        return ADMMState(
            state.problem, state.geometry, Y, evaluation, norm(evaluation.factor_gradient()),
            extras={"phase": 0.0, "rho": rho, "restarts": float(restarts)},
            V=Y, U=Y, multiplier=np.zeros_like(Y), image=image, rho=rho,
            split_iterations=state.split_iterations, restarts=restarts, best=evaluation,
            size=max(state.size, norm(Y), np.finfo(float).tiny),
        )  # fmt: skip

    def _check_polish(self, problem: Problem, geometry: Geometry) -> None:
        if self.polish is not None:
            # what "auto" may choose in place of conjugate gradient asks for no more than is there
            polisher = self.polish if isinstance(self.polish, Method) else ConjugateGradient()
            require_inner("polish", polisher, problem, geometry)


def _unit(split: BiconvexSplit) -> float:
    """The penalty that the problem's own scale suggests: the bound on λ_max(L), unless the rest is far larger."""
    return max(split.coupling_bound, SCALE_SHARE * split.scale)


def _wrapped(state: ADMMState, inner: State) -> ADMMState:
    return ADMMState(
        state.problem, state.geometry, inner.point, inner.evaluation, inner.gradient_norm, inner.step, inner.outcome,
        extras={**inner.extras, "phase": 1.0 + inner.extras.get("phase", 0.0), "restarts": float(state.restarts)},
        rho=state.rho, split_iterations=state.split_iterations, restarts=state.restarts, size=state.size, polish=inner,
    )  # fmt: skip
