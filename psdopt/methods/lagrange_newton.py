"""Damped Newton on Lagrange's conditions in the factor and the multipliers of few measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires, require_inner
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.polynomials import minimize_smooth
from psdopt.linalg.tolerances import tie
from psdopt.method import Method, Outcome, State
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.problem import Evaluation, Problem
from psdopt.problems.lagrange_system import LagrangeSystem
from psdopt.problems.quadratic_fit import QuadraticFit
from psdopt.problems.term_sum import TermEvaluation, TermSum

#: Damping of S(w), as a multiple of |S Y| / |Y|: it vanishes with the residual, so that convergence is quadratic.
DAMPING = 0.2
#: Microseconds of a Newton step, CALLS[0] + (m³/3 + n³) / FLOPS, and of one of conjugate gradient, CALLS[1] + n r /
#: ENTRIES: a fit to n = 50 to 400, m = 2.2 n. For small arrays the calls are what costs, on both sides.
CALLS, FLOPS, ENTRIES = (600.0, 200.0), 16_000.0, 17.0
#: What begins takes (`SHARE` + p / `PATIENT`) p steps, p of them the price of a Newton step: but the dearer those are,
#: the harder a problem has to be to need them.
SHARE, PATIENT = 1.6, 60.0
#: Newton steps have to bring the residual below this share of what it was at their best so far. After this many that do
#: not it is the turn of the first method again, for twice as many steps as before.
SLOW, PATIENCE = 0.7, 3
#: Newton steps are worth their price where that is no more than so many steps, and (m, m) arrays are no burden.
DEAREST, MOST = 60.0, 2500


@dataclass
class LagrangeNewtonState(State):
    """Multipliers w predicted by the last Newton step; while `left` > 0, the state of the method that approaches.

    `turn` is the number of steps of that method's turn, `slow` the number of Newton steps since the residual was
    `mark`; `failed` says that there was no Newton step at all from here.
    """

    multipliers: Array | None = None
    approach: State | None = None
    left: int = 0
    turn: int = 0
    slow: int = 0
    mark: float = math.inf
    failed: bool = False


@dataclass(frozen=True)
class LagrangeNewton(Method):
    """Newton on S(w) Y = 0, w = phi'(a), for F(M) = tr(C M) + Σ_t phi_t(a_t), a_t = ⟨A_t, M⟩, phi quadratic.

    With the multipliers w independent of Y the conditions linearise to

        (S(w) + delta I) X + Σ_t v_t A_t Y = −S(w) Y,   v_t = phi_t'(a_t) − w_t + 2 h_t ⟨A_t, Y Xᵀ⟩,

    a system of the order of the measurements once X is eliminated
    (:class:`~psdopt.problems.lagrange_system.LagrangeSystem`). As measurements resist the second-order stretch
    ⟨A_t, X Xᵀ⟩ of a long move, the step follows the arc Y + mu X + mu² Z, Z from the same factors, to the first
    minimiser of a polynomial of degree eight. The next step takes S at the multipliers that this arc predicts and not
    at phi'(a), which is what makes large h harmless: the errors of the measurements are stiff, their multipliers
    smooth. delta falls with the residual: convergence is quadratic where S ⪰ 0 at the optimum, and columns to spare do
    no harm.

    Far away conjugate gradient is cheaper, so that it begins; where Newton steps are slow, as at a rank that is too
    low for S ⪰ 0, it takes its turn again. The history's column `phase` is 0 for its steps and 1 for Newton's.

    Parameters
    ----------
    approach : the method that begins.
    steps : how many steps it takes first; None is the price of a Newton step or two, more where that is dear.

    For a problem with the ability ``quadratic-fit`` on a factor without constraints. Cost of a Newton step:
    n³ + m³/3 + O(m² + n² r) flops, memory n² + m² (:meth:`suits` says whether that is little).
    """

    approach: Method = ConjugateGradient()
    steps: int | None = None

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_LINE, Ability.QUADRATIC_FIT),
        "geometry": (Ability.FACTOR, Ability.STRAIGHT),
    }
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole = isinstance(self.steps, (int, np.integer)) and not isinstance(self.steps, bool)
        if self.steps is not None and not (whole and self.steps >= 0):
            raise InvalidInputError(f"steps must be None or an integer of at least 0; found {self.steps!r}")
        if not isinstance(self.approach, Method) or not self.approach.descends:
            raise InvalidInputError(f"approach must be a method that descends; found {self.approach!r}")

    @staticmethod
    def suits(problem: Problem, columns: int) -> bool:
        """Whether `problem` is a quadratic fit of so few measurements that Newton steps for Y (n, `columns`) pay.

        Where entries of a map are not at hand, forming C would take n products: not by itself.
        """
        if not isinstance(problem, TermSum) or problem.quadratic_fit is None:
            return False
        fit = problem.quadratic_fit
        rows = max((linear_map.shape[0] for linear_map in fit.measurement.maps), default=0)  # of arrays with n columns
        cheap = max(fit.n, fit.size) <= MOST and rows * fit.n <= MOST**2 and _price(fit, columns) <= DEAREST
        return cheap and all(linear_map.is_matrix for linear_map in problem.maps)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> LagrangeNewtonState:
        require_inner("approach", self.approach, problem, geometry)
        inner = self.approach.init(problem, geometry, start, evaluation)
        columns = inner.evaluation.factor.shape[1]
        price = _price(_fit(problem), columns)
        turn = math.ceil((SHARE + price / PATIENT) * price) if self.steps is None else int(self.steps)
        return self._wrapped(inner, turn, turn)

    def step(self, state: Any) -> LagrangeNewtonState:
        assert isinstance(state, LagrangeNewtonState)
        if state.left > 0:
            assert state.approach is not None
            inner = self.approach.step(state.approach)
            if inner.outcome is Outcome.STALLED and not state.failed:
                return self._wrapped(replace(inner, outcome=Outcome.RUNNING), 0, state.turn)
            return self._wrapped(inner, state.left - 1, state.turn, failed=False)
        if state.slow >= PATIENCE:
            return self._handed_back(state)
        return self._newton(state) or self._handed_back(state, failed=True)

    def _handed_back(self, state: LagrangeNewtonState, failed: bool = False) -> LagrangeNewtonState:
        """A step of the first method's next turn."""
        turn = max(2 * state.turn, 1)
        inner = self.approach.init(state.problem, state.geometry, state.point, state.evaluation)
        return self.step(self._wrapped(inner, turn, turn, failed))

    def _wrapped(self, inner: State, left: int, turn: int, failed: bool = False) -> LagrangeNewtonState:
        return LagrangeNewtonState(
            inner.problem, inner.geometry, inner.point, inner.evaluation, inner.gradient_norm, inner.step,
            inner.outcome, {**inner.extras, "phase": 0.0},
            approach=inner if left > 0 else None, left=left, turn=turn, failed=failed,
        )  # fmt: skip

    def _newton(self, state: LagrangeNewtonState) -> LagrangeNewtonState | None:
        """The next state, or None where no step along the arc leads lower."""
        here = state.evaluation
        assert isinstance(here, TermEvaluation)
        if not math.isfinite(state.gradient_norm):
            raise FloatingPointError(f"the gradient's norm is {state.gradient_norm}")
        fit = _fit(state.problem)
        measured, size = here.feature(fit.position), here.size
        if size == 0.0 or state.gradient_norm == 0.0:
            return None
        damping = DAMPING * 0.5 * state.gradient_norm / size
        own = fit.multipliers(measured)
        w = own if state.multipliers is None else state.multipliers
        try:
            system = LagrangeSystem(fit, here.images, w, damping)
        except np.linalg.LinAlgError:
            return None
        with system:
            X, predicted = system.newton(w, own)
            move = fit.images(X)
            Z, bent = system.bend(fit.measurement.pair(move, move))
        rates = (predicted - own) / fit.curvatures, bent / fit.curvatures
        slope = inner(here.factor_gradient(), X)
        # a fall that the value cannot show is made of rounding, and no guide to how long a step should be
        shown = abs(slope) > tie(here.value, state.problem.value_at_zero())
        mu = _least(fit.along_arc(measured, rates, slope, here.images, move, fit.images(Z))) if shown else 1.0
        if mu == math.inf:
            return replace(state, step=mu, outcome=Outcome.UNBOUNDED)
        if not mu > 0.0:
            return None
        there = state.problem.at(here.factor + mu * (X + mu * Z))
        gradient_norm = norm(there.factor_gradient())
        if not self._better(state, there, gradient_norm):
            return None
        mark = min(state.mark, state.gradient_norm)
        fast = gradient_norm <= SLOW * mark
        return LagrangeNewtonState(
            state.problem, state.geometry, there.factor, there, gradient_norm, mu,
            extras={"phase": 1.0, "damping": system.delta}, multipliers=predicted + bent, turn=state.turn,
            slow=0 if fast else state.slow + 1, mark=gradient_norm if fast else mark,
        )  # fmt: skip

    def _better(self, state: LagrangeNewtonState, there: Evaluation, gradient_norm: float) -> bool:
        """Lower, or level to rounding with half the gradient: values tie long before gradients do."""
        value = state.evaluation.value
        if there.value < value or not math.isfinite(there.value):
            return True
        level = value + tie(value, state.problem.value_at_zero())
        return there.value <= level and gradient_norm < 0.5 * state.gradient_norm


def _fit(problem: Problem) -> QuadraticFit:
    assert isinstance(problem, TermSum)
    fit = problem.quadratic_fit
    assert fit is not None
    return fit


def _price(fit: QuadraticFit, columns: int) -> float:
    """About how many steps of conjugate gradient a Newton step costs."""
    n, m = float(fit.n), float(fit.size)
    newton, first = CALLS[0] + (m**3 / 3.0 + n**3) / FLOPS, CALLS[1] + n * columns / ENTRIES
    return newton / first


def _least(p: list[float]) -> float:
    """The first minimiser beyond 0 of Σ p_k mu^k; 0 where it does not fall there, inf where it falls for ever."""
    falling = p[::-1]

    def derivatives(mu: float) -> tuple[float, float]:
        first = second = 0.0
        value = 0.0
        for c in falling:
            second = second * mu + 2.0 * first
            first = first * mu + value
            value = value * mu + c
        return first, second

    def value(mu: float) -> float:
        total = 0.0
        for c in falling:
            total = total * mu + c
        return total

    return minimize_smooth(derivatives, first=1.0, value=value)
