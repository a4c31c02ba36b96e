"""Semismooth Newton on the multipliers, for the matrix nearest to a given one under linear equations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from psdopt.certificates.constrained.scales import relative_violation
from psdopt.constraints.explicit import Nearest
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.problem import Constrained, constrained_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Outcome
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.simplex import shift_to
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, rounding
from psdopt.methods.constrained_gradient import ConstrainedGradient, ConstrainedGradientState, ended_at_zero, judged
from psdopt.methods.nearest import Known, decomposed, newton_direction, searched


@dataclass
class DualNewtonState(ConstrainedGradientState):
    """Multipliers y, and what is `known` there: the eigendecomposition of −(C + A*(y)), and the dual function.

    `residual` : A(M(y)) − b, each over |A_t|, minus the gradient of the dual function in these units.
    """

    known: Known = field(default_factory=lambda: (np.zeros(0), np.zeros((0, 0)), math.inf))
    residual: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class DualNewton(ConstrainedGradient):
    """min (rho/2) |M|² + ⟨C, M⟩ over M ⪰ 0 with A(M) = b, by its dual: min |Π(−C − A*(y))|²/(2 rho) + bᵀy.

    Π is the projection to the cone, M = Π(−C − A*(y))/rho. The dual is convex and once differentiable, with gradient
    b − A(M). Its generalised Hessian is applied through the eigenvectors. Systems are solved by conjugate gradient,
    preconditioned by the diagonal, more accurately as the residual falls, so that local convergence is quadratic.
    S = rho M + C + A*(y) ⪰ 0 by itself, and its factor, from the same eigenvectors, goes to the certificate. With
    S M = 0, F(M) is the dual bound less ⟨y, A(M) − b⟩. Where A*(w) = I for some w, so that the trace is fixed, the
    first y is the best multiple of w: it costs no decomposition beside that at y = 0.

    Any other quadratic F is minimised by gradient steps, each ended at the nearest feasible matrix in this way
    (:class:`~psdopt.methods.constrained_gradient.ConstrainedGradient`): fast where F measures most of M about evenly,
    as a distance of which some entries are left out, and slow where F is flat.

    Qi, Sun: A quadratically convergent Newton method for computing the nearest correlation matrix, SIAM J. Matrix Anal.
    Appl. 28 (2006).

    Parameters
    ----------
    inner : largest number of products with the Hessian per step, at least 1.

    Cost per step: an eigendecomposition, 9 n³ flops or so, for each trial, and O(n² p) per product, p the smaller of
    the numbers of positive and of other eigenvalues.
    """

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ConstrainedGradientState:
        parts = _parts_of(problem)
        if parts is None:
            return super().init(problem, geometry, start, evaluation)
        y, known = _begun(parts)
        first = self._at(parts, geometry, y, math.nan, known)
        return ended_at_zero(first, parts[0]) if parts[0].only_zero else first

    def _at(
        self, parts: DistanceParts, geometry: Geometry, y: Array, step: float, known: Known
    ) -> ConstrainedGradientState:
        values, V, theta = known
        problem, nearest, _ = parts
        rho = nearest.rho
        k = int(np.count_nonzero(values <= 0.0))
        Y = V[:, k:] * np.sqrt(values[k:] / rho) if k < len(values) else np.zeros((problem.n, 1))
        measured = problem.measured(Y)
        residual = problem.scale * (measured - problem.lower)
        bound, feasible = nearest.constant - theta, problem.at_fixed_diagonal(Y)
        if feasible is not None:
            infeasibility, evaluation = 0.0, problem.at(feasible)
            Y, value = feasible, evaluation.value
        else:
            infeasibility, evaluation = relative_violation(problem, measured, Y), problem.at(Y)
            value = bound - float(y @ (measured - problem.lower))  # F(M(y)), as S M(y) = 0
        gap = abs(value - bound)
        # the gap is also to be small beside half the squared distance from M to −C / rho, however close that is
        half = value - nearest.constant + nearest.size**2 / (2.0 * rho)
        unit = problem.duality.value_unit(value, evaluation.size**2) or 1.0
        unit = min(unit, max(half, EPS * nearest.size**2 / rho) or unit)
        # the gap falls like the square of the error of y, which is also to be small beside its tolerance
        wrong = MINOR * norm(residual) / (norm(problem.scale * problem.lower) or 1.0)
        point = geometry.from_factor(Y)
        new = DualNewtonState(problem, geometry, point, evaluation, step=step, y=y, known=known, residual=residual)
        new.extras = {"dual_bound": bound}
        slack = V[:, :k] * np.sqrt(-values[:k])
        return judged(new, infeasibility, max(gap / unit, wrong), nearest.size, slack)

    def warmed(self, state: ConstrainedGradientState, multipliers: Array) -> ConstrainedGradientState:
        """The state at y = `multipliers`, if the dual function is lower there than at the first y."""
        parts = _parts_of(state.problem)
        if parts is None or not isinstance(state, DualNewtonState):
            return super().warmed(state, multipliers)
        known = decomposed(parts, multipliers)
        return self._at(parts, state.geometry, multipliers, math.nan, known) if known[2] < state.known[2] else state

    def step(self, state: ConstrainedGradientState) -> ConstrainedGradientState:
        parts = _parts_of(state.problem)
        if parts is None or not isinstance(state, DualNewtonState):
            return super().step(state)
        (values, V, theta), residual = state.known, state.residual
        d = newton_direction(parts, values, V, residual, self.inner) if norm(residual) > 0.0 else residual
        found = searched(parts, state.y, parts[0].scale * d, theta, -inner(residual, d))
        if found is None:
            return replace(state, step=0.0, outcome=Outcome.STALLED)
        t, y, known = found
        return self._at(parts, state.geometry, y, t, known)


#: The first y leaves at least this share of the eigenvalues positive that are so at y = 0.
KEPT = 0.2
#: A problem, its objective and its equations.
DistanceParts = tuple[Constrained, Nearest, SparseForms]


def _begun(parts: DistanceParts) -> tuple[Array, Known]:
    """The first y, and :func:`decomposed` there: the best multiple of w where A*(w) = I, so that the trace is fixed.

    A multiple of I moves eigenvalues and leaves eigenvectors, so that it costs no further decomposition. y = 0 where M
    is feasible there, or where the multiple leaves few eigenvalues positive, as for C of a wide diagonal: the Hessian
    of the dual function has no more directions than these.
    """
    problem, nearest, forms = parts
    y, limit = np.zeros(problem.m), problem.trace_limit
    values, V, theta = decomposed(parts, y)
    w = None if limit is None or not limit.least > 0.0 else limit.weights
    if w is not None and norm(forms.on_places(w) - (forms.i == forms.j)) <= rounding(1.0, problem.n):
        total = float(w @ problem.lower)
        t = shift_to(values, nearest.rho * total)
        fewer = np.count_nonzero(values > t) < KEPT * np.count_nonzero(values > 0.0)
        root = V * np.sqrt(np.maximum(values, 0.0) / nearest.rho)
        off = norm(problem.measured(root) - problem.lower)
        if fewer or off <= SLIGHT * norm(problem.lower):
            return y, (values, V, theta)
        y, values = t * w, values - t
        theta = inner(np.maximum(values, 0.0), values) / (2.0 * nearest.rho) + t * total
    return y, (values, V, theta)


def _parts_of(problem: Problem) -> DistanceParts | None:
    """The parts of `problem`; None without the ability ``nearest``."""
    known = constrained_of(problem) if Ability.NEAREST in problem.abilities else None
    if known is None or known.nearest is None or known.forms is None:
        return None
    return known, known.nearest, known.forms
