"""Damped Newton on Lagrange's conditions, after a first-order method has come near."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

from psdopt.checks import integer_or_none
from psdopt.contracts.abilities import Ability, Requires, on_factors, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.quadratic_fit import quadratic_fit_of
from psdopt.errors import InvalidInputError
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.methods.alternating import AfterSteps, Alternating, AlternatingState, InTurns
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.lagrange_newton.steps import LagrangeState, LagrangeSteps, price

#: Slow Newton steps in a row after which conjugate gradient takes over again: a step of it costs far less.
PATIENCE = 3
#: Newton steps are chosen automatically if one costs at most this number of first-order steps.
MAX_PRICE = 60.0


@dataclass(frozen=True)
class LagrangeNewton(InTurns[AlternatingState]):
    """Newton on S(w) Y = 0, w = phi'(a), for F(M) = tr(C M) + Σ_t phi_t(a_t), a_t = ⟨A_t, M⟩, phi quadratic.

    With the multipliers w independent of Y the conditions linearise to

        (S(w) + delta I) X + Σ_t v_t A_t Y = −S(w) Y,   v_t = phi_t'(a_t) − w_t + 2 h_t ⟨A_t, Y Xᵀ⟩,

    which after elimination of X is a system whose order is the number of measurements
    (:class:`~psdopt.methods.lagrange_newton.system.LagrangeSystem`). Since measurements resist the second-order stretch
    ⟨A_t, X Xᵀ⟩ of a long move, the step follows the arc Y + mu X + mu² Z, Z from the same factors, to the first
    minimiser of a polynomial of degree eight. The next step takes S at the multipliers that this arc predicts, not at
    phi'(a): for large h, small errors of the measurements change phi'(a) much, whereas the predicted multipliers are
    smooth. delta falls with the residual, so that convergence is quadratic if S ⪰ 0 at the optimum. More columns than
    the optimum needs do no harm.

    The run begins with conjugate gradient, which is cheaper far from the optimum. If Newton steps are slow, as at a
    rank that is too low for S ⪰ 0, conjugate gradient takes over for twice as many steps
    (:class:`~psdopt.methods.alternating.Alternating`). The history's column `phase` is 0 for its steps and 1 for
    Newton's.

    Parameters
    ----------
    approach : the first method, which must descend; None is :class:`ConjugateGradient`.
    steps : number of steps in its first turn; None is the cost of two Newton steps. With 0 the run begins with Newton
        steps.
    patience : after this many Newton steps in a row that leave more than 70 % of the residual, `approach` takes over
        again; None is 3 steps.

    For a problem with the ability ``quadratic-fit`` (:class:`~psdopt.contracts.QuadraticFit`) on a factor; under linear
    constraints :class:`AugmentedLagrangian` takes its place. Cost of a Newton step: n³ + m³/3 + O(m² + n² r) flops,
    memory n² + m² (:meth:`is_efficient_for` says whether that pays off).
    """

    approach: Method | None = None
    steps: int | None = None
    patience: int | None = None

    requires: ClassVar[Requires] = on_factors(Ability.GRADIENT, Ability.EXACT_LINE, Ability.QUADRATIC_FIT)
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer_or_none(self.steps, "steps", 0)
        integer_or_none(self.patience, "patience")
        if not isinstance(self._approach, Method) or not self._approach.descends:
            raise InvalidInputError(f"approach must be a method that descends; found {self.approach!r}")

    @staticmethod
    def is_efficient_for(problem: Problem, columns: int) -> bool:
        """Whether `problem` is a quadratic fit of so few measurements that Newton steps for Y (n, `columns`) pay.

        False if the entries of a map are unknown (`problem.rows` is None), since C would then cost n products.
        """
        if Ability.QUADRATIC_FIT not in problem.abilities or problem.rows is None:
            return False
        fit = quadratic_fit_of(problem)
        small = max(fit.n, fit.size) <= FACTOR_ORDER and problem.rows * fit.n <= FACTOR_ORDER**2
        return small and price(fit, columns) <= MAX_PRICE

    @staticmethod
    def suits(problem: Problem, columns: int) -> bool:
        """Deprecated name of :meth:`is_efficient_for`."""
        warnings.warn("LagrangeNewton.suits is now is_efficient_for", DeprecationWarning, stacklevel=2)
        return LagrangeNewton.is_efficient_for(problem, columns)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> AlternatingState:
        require_inner("approach", self._approach, problem, geometry)
        return super().init(problem, geometry, start, evaluation)

    def turns(self, problem: Problem, columns: int) -> Method:
        count = self.steps
        if count is None:
            count = math.ceil(2.0 * price(quadratic_fit_of(problem), columns))
        return Alternating(self._approach, LagrangeSteps(), AfterSteps(int(count)), switch_back=self._slow)

    def _slow(self, state: AlternatingState) -> bool:
        return isinstance(state.inner, LagrangeState) and state.inner.slow >= (self.patience or PATIENCE)

    @property
    def _approach(self) -> Method:
        return ConjugateGradient() if self.approach is None else self.approach
