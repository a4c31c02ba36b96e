"""Block conjugate gradient: the best M in the span of the factor, the gradient and the last direction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer, one_of
from psdopt.contracts.abilities import Ability, Requires, on_factors
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State, without_step
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS, MINOR
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.searches.preconditioning import PRECONDITIONERS, preconditioned, resolved


@dataclass(kw_only=True)
class BlockState(State):
    """The iterate and the evaluation of the last direction D (n, r)."""

    direction: Evaluation | None = None


@dataclass(frozen=True)
class BlockConjugateGradient(Method[BlockState]):
    """M⁺ = argmin F over M of rank r with range in span [Y, P⁻¹G, D], D the last step of Y.

    Conjugate gradient takes the best mu along one line, the same for all columns. This method takes the best of all
    combinations Y K₁ + Z K₂ + D K₃ with (r, r) matrices K, so that each column has its own step length, as in LOBPCG
    (Knyazev 2001), whose counterpart for a quadratic F this is. The problem restricted to the span has order
    at most 3r and is solved by :class:`ConjugateGradient` from the current Y, at a cost independent of n.

    For problems in which products with the data dominate the cost: it needs far fewer iterations than conjugate
    gradient, no decomposition of A, and O(n r²) flops per iteration besides the one application, with a larger
    constant.

    Parameters
    ----------
    preconditioner : as for :class:`ConjugateGradient`, or "diagonal", the default: the problem's approximation
        of the factor Hessian from the diagonal of A, which needs no set-up.
    inner_iterations : most conjugate-gradient steps on each restricted problem.

    Cost per iteration: one application of the problem's maps to one (n, r) block in each direction,
    about 30 n r² flops, and `inner_iterations` times O(r³).
    """

    preconditioner: str = "diagonal"
    inner_iterations: int = 40

    requires: ClassVar[Requires] = on_factors(Ability.GRADIENT, Ability.EXACT_LINE, Ability.RESTRICTION)
    takes_device_arrays: ClassVar[bool] = True
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of(self.preconditioner, "preconditioner", PRECONDITIONERS)
        integer(self.inner_iterations, "inner_iterations")

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BlockState:
        resolved(self.preconditioner, problem, geometry)
        evaluation = evaluation or problem.at(geometry.factor(start))
        return BlockState(
            problem, geometry, evaluation.factor, evaluation, gradient_norm=norm(evaluation.factor_gradient())
        )

    def step(self, state: BlockState) -> BlockState:
        here = state.evaluation
        G = here.factor_gradient()
        Z = preconditioned(self.preconditioner, here, G)
        size = norm(Z)
        if not 0.0 < size < math.inf:
            return without_step(state, 0.0, None)
        downhill = state.problem.at(Z * (-norm(here.factor) / size))
        blocks = [downhill] if state.direction is None else [downhill, state.direction]
        span = here.joined(blocks)
        r = here.factor.shape[1]
        gram = span.factor.T @ span.factor
        T = _whitening(gram)
        if T.shape[1] < r:
            return self._along_line(state, downhill, 0)
        K, outcome, steps = self._restricted_minimizer(span, T, T.T @ gram[:, :r])
        if outcome is Outcome.UNBOUNDED:
            return without_step(state, math.inf, None)
        moved = span.mix(K)
        if moved.value >= here.value:  # a NaN is passed on, so that the driver reports it
            return self._along_line(state, downhill, steps)
        tail = K.copy()
        tail[:r] = 0.0
        direction = span.mix(tail)
        return self._state(state, moved, direction, norm(direction.factor), steps)

    def _restricted_minimizer(self, span: Evaluation, T: Array, start: Array) -> tuple[Array, Outcome, int]:
        """(K, outcome, steps): span K is the new factor, from conjugate gradient on the problem within the span."""
        small = span.restricted(T)
        method = ConjugateGradient()
        state = method.init(small, FlatQuotient(small.n, start.shape[1]), start)
        goal, steps = MINOR * state.gradient_norm, 0
        while steps < self.inner_iterations and state.gradient_norm > goal and state.outcome is Outcome.RUNNING:
            state = method.step(state)
            steps += 1
        return T @ state.evaluation.factor, state.outcome, steps

    def _along_line(self, state: BlockState, downhill: Evaluation, steps: int) -> BlockState:
        """The exact step along −P⁻¹G, used where rounding hides any decrease within the span."""
        line = state.evaluation.along_evaluation(downhill)
        mu = line.minimize()
        if not 0.0 < mu < math.inf:
            return without_step(state, mu, downhill.factor)
        return self._state(state, line.step(mu), None, mu * norm(downhill.factor), steps)

    def _state(
        self, state: BlockState, moved: Evaluation, direction: Evaluation | None, length: float, steps: int
    ) -> BlockState:
        return replace(
            state,
            point=moved.factor,
            evaluation=moved,
            gradient_norm=norm(moved.factor_gradient()),
            step=length,
            extras={"inner_steps": float(steps)},
            direction=direction,
        )


def _whitening(gram: Array) -> Array:
    """T (w, k) with Tᵀ gram T = I, k <= w, without columns that depend on others up to rounding."""
    lengths = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
    units = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    values, vectors = np.linalg.eigh(gram * units * units[:, None])
    # of the coordinates along the others, rounding leaves fewer than six digits
    keep = values > EPS / MINOR**2 * values[-1]
    return np.asarray((units[:, None] * vectors[:, keep]) / np.sqrt(values[keep]))
