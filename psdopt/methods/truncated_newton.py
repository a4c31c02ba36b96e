"""Newton's method on the factor, its systems solved by truncated conjugate gradient, with exact line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import boolean, integer, number, one_of
from psdopt.contracts.abilities import Ability, Requires, on_factors
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import Evaluation, LineModel, Problem
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import rounding
from psdopt.methods.factor_moves import compressed
from psdopt.methods.searches.preconditioning import PRECONDITIONERS, gram_inverse, resolved

#: If the best mu is below OUTSIDE, D left the region where the quadratic model holds: the next D is at most as long as
#: the step. Otherwise the next D may be LONGER times as long as the step.
OUTSIDE, LONGER = 0.5, 4.0
#: The inner conjugate gradient goes on while a product gains more than this share of the mean of all so far. By the
#: residual alone problems of condition 1e17 did not end; by this rule alone, fits of few columns did not.
WORTH = 0.5
#: Columns that may be dropped are together at most this long, relative to |Y|. Fewer steps are spent on columns that go
#: to zero than with 1e-3; with 1e-1 columns are dropped that have to be added again.
SHORT = 1e-2
#: The Gram matrix YᵀY is damped by this share of its mean eigenvalue, since S D, which it leaves out, is the curvature
#: along columns that are to vanish. With a tenth fits of entries took two thirds of the time, hinges twice the time.
DAMPING = 1.0


@dataclass(kw_only=True)
class TruncatedNewtonState(State):
    """Gradient 2 S Y at the current point; the largest length of the next D, in the metric of the preconditioner; and
    how many steps in a row were `cut` short by it, or by the line search."""

    gradient: Array
    radius: float = math.inf
    cut: int = 0


@dataclass(frozen=True)
class TruncatedNewton(Method[TruncatedNewtonState]):
    """Y + mu D, D from ∇²F(Y)[D] ≈ −∇F(Y) by preconditioned conjugate gradient, mu the best along the line.

    The inner conjugate gradient ends in one of four cases: the residual is below `share` |g|, both in the metric of the
    preconditioner's inverse, and the next product promises little, as k times the fall of the quadratic model by the
    k-th is at most WORTH of the whole fall (S. G. Nash and A. Sofer, Operations Research Letters 9, 1990); D is as
    long, in the metric of the preconditioner, as the quadratic model has held; a direction has negative curvature, and
    is D itself if it is the first direction; or after `inner` Hessian products.
    Where the problem has no preconditioner, it is D ↦ D (YᵀY + eta I): a column of Y that is twice as long turns the
    same D into twice as large a change of M. Where F falls without end, columns of Y that grow make it shorten steps:
    the augmented Lagrangian takes none.

    The stretch ⟨A_t, D Dᵀ⟩ of a long step violates constraints, and their penalties then force short steps. Where the
    problem has a correction Z for this stretch (:meth:`psdopt.Evaluation.bend`), lines through points of the arc
    Y + mu D + mu² Z are searched as well, and the lowest minimum is taken.

    Parameters
    ----------
    inner : largest number of Hessian products per step, at least 1. share : of |g|, in (0, 1).
    narrow : whether to drop columns that M does not need (:func:`~psdopt.methods.factor_moves.compressed`). Where
        M needs fewer than Y has, F is flat to second order in the others, and each step shrinks them by a constant
        factor only. ``solve`` narrows where it may add columns again.
    preconditioner : that of the problem or of the Gram matrix, "auto", "problem", "diagonal", "gram" or "none"; see
        :func:`~psdopt.methods.searches.preconditioning.resolved`.

    Cost per step: up to `inner` Hessian products (two passes over the terms each) and as many preconditioner solves.
    """

    inner: int = 200
    share: float = 0.5
    narrow: bool = False
    preconditioner: str = "auto"

    requires: ClassVar[Requires] = on_factors(Ability.GRADIENT, Ability.EXACT_LINE, Ability.HESSIAN)
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True
    takes_device_arrays: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.inner, "inner")
        number(self.share, "share", above=0.0, below=1.0)
        boolean(self.narrow, "narrow")
        one_of(self.preconditioner, "preconditioner", PRECONDITIONERS)

    def with_escape(self, escape: bool, max_rank: int) -> TruncatedNewton:
        return replace(self, narrow=self.narrow or escape)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> TruncatedNewtonState:
        geometry, evaluation = self._needed(geometry, evaluation or problem.at(geometry.factor(start)))
        G = evaluation.factor_gradient()
        return TruncatedNewtonState(problem, geometry, evaluation.factor, evaluation, gradient_norm=norm(G), gradient=G)

    def step(self, state: TruncatedNewtonState) -> TruncatedNewtonState:
        evaluation, G = state.evaluation, state.gradient
        if not norm(G) > 0.0:
            return replace(state, step=0.0, outcome=Outcome.STALLED)
        D, length, products = self._direction(evaluation, G, state.radius, self._inverse(state))
        line, slope = evaluation.along(D), inner(G, D)
        # what is left of the gradient is orthogonal to D, unless D is a first direction of negative curvature
        mu = line.nearly_minimize(bend=-slope if products > 1 else None)
        if mu == math.inf:
            return replace(state, step=0.0, outcome=Outcome.UNBOUNDED, ray=D)
        if not mu > 0.0:
            return replace(state, step=0.0, outcome=Outcome.STALLED)
        line, mu = _lower(evaluation, line, mu, D)
        radius = mu * length if mu < OUTSIDE else max(state.radius, LONGER * mu * length)
        geometry, moved = self._needed(state.geometry, line.step(mu))
        G = moved.factor_gradient()
        return TruncatedNewtonState(
            state.problem,
            geometry,
            moved.factor,
            moved,
            gradient_norm=norm(G),
            step=mu,
            extras={"products": float(products)},
            gradient=G,
            radius=radius,
            cut=state.cut + 1 if length > state.radius or mu < OUTSIDE else 0,
        )

    def _needed(self, geometry: Geometry, evaluation: Evaluation) -> tuple[Geometry, Evaluation]:
        """Both without the columns that M does not need, if they are to be dropped."""
        if not self.narrow:
            return geometry, evaluation
        kept = compressed(evaluation, shares=(SHORT**2,))
        columns = kept.factor.shape[1]
        return (geometry, evaluation) if columns == evaluation.factor.shape[1] else (geometry.with_rank(columns), kept)

    def _inverse(self, state: TruncatedNewtonState) -> Callable[[Array], Array]:
        """R ↦ P⁻¹ R for the preconditioner P."""
        kind, evaluation = resolved(self.preconditioner, state.problem, state.geometry), state.evaluation
        if kind == "none":
            return lambda R: R
        if kind == "gram":
            return gram_inverse(evaluation.factor, DAMPING)
        return evaluation.preconditioner() if kind == "problem" else evaluation.diagonal_preconditioner()

    def _direction(
        self, evaluation: Evaluation, G: Array, radius: float, precondition: Callable[[Array], Array]
    ) -> tuple[Array, float, int]:
        """(D, its length in the metric of the preconditioner, Hessian products).

        The recurrences of conjugate gradient give lengths and the angle of D and P without a product (Steihaug 1983).
        """
        D, R = np.zeros_like(G), -G
        Z = precondition(R)
        P, rz = Z.copy(), inner(R, Z)
        own, between, squared = rz, 0.0, 0.0  # of P, of D and P, of D
        stop, fallen = self.share**2 * abs(rz), 0.0  # the latter is twice the fall of the model
        for product in range(1, self.inner + 1):
            HP = evaluation.hessian_vector(P)
            curvature = inner(P, HP)
            if not curvature > rounding(norm(P) * norm(HP), 1):
                return (P, math.sqrt(abs(own)), product) if product == 1 else (D, math.sqrt(abs(squared)), product)
            step = rz / curvature
            D += step * P
            squared += step * (2.0 * between + step * own)
            gain = step * rz
            fallen += gain
            if not squared <= radius * radius:
                break
            R -= step * HP
            Z = precondition(R)
            new = inner(R, Z)
            if not new > 0.0 or (new <= stop and product * gain <= WORTH * fallen):
                break
            turn = new / rz
            between, own = turn * (between + step * own), new + turn * turn * own
            P *= turn
            P += Z
            rz = new
        return D, math.sqrt(abs(squared)), product


def _lower(evaluation: Evaluation, line: LineModel, mu: float, D: Array) -> tuple[LineModel, float]:
    """The line along D with its minimiser `mu`, or one to a lower point near the arc Y + mu D + mu² Z.

    Lines through the arc's points at mu = 1, 1/4, ... are searched until a minimiser is near such a point, or the point
    as near as the minimiser along D. Each costs one application of the maps.
    """
    Z = evaluation.bend(D)
    if Z is None:
        return line, mu
    value, reach, straight = line.value(mu), 1.0, mu
    while True:
        other = evaluation.along(D + reach * Z)
        best = other.nearly_minimize()
        lower = other.value(best) if 0.0 < best < math.inf else math.inf
        if lower < value:
            line, mu, value = other, best, lower
        if best > OUTSIDE * reach or reach <= straight:
            return line, mu
        reach /= LONGER
