"""Alternating direction method of multipliers on a bi-convex split M = V Uᵀ, V = U, with an exact-search polish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from psdopt.checks import brief, is_name, number, positive
from psdopt.contracts.abilities import Requires, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidInputError
from psdopt.methods.alternating import Alternating, InTurns, Settled
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.lagrange_newton.method import LagrangeNewton
from psdopt.methods.split_steps import SplitSteps


@dataclass(frozen=True)
class ADMM(InTurns[State]):
    """V ← argmin_V ℒ, then U ← argmin_U ℒ, then Λ ← Λ + rho (V − U) (Hu & Kwok, algorithm 1), then a polish.

    ℒ(V, U, Λ) = F(V, U) + ⟨Λ, V − U⟩ + rho/2 |V − U|², F the problem's
    :class:`~psdopt.contracts.splitting.BiconvexSplit`. The iterate is the mean (V + U)/2, so M is symmetric by
    construction. Corrections to the printed algorithm:

    - all of V is updated before any of U; the dual residual is rho |U⁺ − U|, of the block updated last;
    - rho scales with a bound b on λ_max(L), L the coupling of the blocks. ℒ is unbounded below for
      rho < λ_max/2. Along an eigenvector of L, eigenvalue λ, on which no other term of F acts, the iteration has the
      characteristic equation μ² − (1 − 3l + l²) μ − l(1 − l) = 0, l = λ/rho: unstable for l > (1 + √5)/2,
      that is rho < 0.618 λ_max, stable but with μ = −1 at l = 1, safely stable for rho > λ_max. Hence the start
      and floor 1.5 b (b being at least a tenth of the size of the other pieces of F);
    - adaptation compares |V − U| b with the dual residual (the printed comparison has units) and never raises
      rho when it means to lower it;
    - once the value of the mean changes by less than `switch` (F(0) − F) in an iteration, `polish` continues
      from the mean, since splitting converges slowly near the optimum and an exact search does not. The history's
      column `phase` is 0 for the splitting, 1 for the polish and 2 for the Newton steps of a
      :class:`~psdopt.LagrangeNewton`. When columns are added to a point, the polish continues from there.

    When V and U drift apart (|V − U| > 1.5 |V + U|/2 ten times in a row, a millionfold growth, or not finite), rho
    is doubled and the run continues from the best mean. Without `adapt`, or after five times, the outcome is
    ``Outcome.DIVERGED`` at the best mean: a run with that status has not converged, whatever its residuals.

    The splitting is meant for moderate accuracy, or for problems that offer only their split. On fits of
    entries with Newton steps, :class:`~psdopt.LagrangeNewton` alone is as fast or faster.

    Parameters
    ----------
    rho : "auto", or the first value of rho, above 0.
    adapt : whether rho may change.
    polish : a method that finishes the run and fits the problem and the geometry, or None. "auto" is
        :class:`~psdopt.methods.lagrange_newton.method.LagrangeNewton` if Newton steps pay off, else
        :class:`~psdopt.methods.conjugate_gradient.ConjugateGradient`.
    switch : relative change of the value at which the polish takes over, in (0, 1).

    Cost per iteration: two products with L on (n, r) blocks, two block updates, one value and gradient.
    """

    rho: float | str = "auto"
    adapt: bool = True
    polish: Method | str | None = "auto"
    switch: float = 1e-2

    requires: ClassVar[Requires] = SplitSteps.requires

    def __post_init__(self) -> None:
        if not is_name(self.rho, "auto"):
            positive(self.rho, "rho ('auto', or the first penalty)")
        number(self.switch, "switch", above=0.0, below=1.0)
        if not (is_name(self.polish, "auto") or self.polish is None or isinstance(self.polish, Method)):
            raise InvalidInputError(f"polish must be 'auto', a method or None; found {brief(self.polish)}")

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> State:
        if self.polish is not None:
            # the methods that "auto" may choose instead of conjugate gradient have no further requirements
            polish = self.polish if isinstance(self.polish, Method) else ConjugateGradient()
            require_inner("polish", polish, problem, geometry)
        return super().init(problem, geometry, start, evaluation)

    def turns(self, problem: Problem, columns: int) -> Method:
        splitting = SplitSteps(self.rho, self.adapt)
        if self.polish is None:
            return splitting
        polish = self.polish
        if not isinstance(polish, Method):
            polish = LagrangeNewton() if LagrangeNewton.is_efficient_for(problem, columns) else ConjugateGradient()
        return Alternating(splitting, polish, Settled(self.switch, most=100))
