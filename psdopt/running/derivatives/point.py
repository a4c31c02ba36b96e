"""The stationary point near the answer of a run, and proofs that it moves smoothly with the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from psdopt.checks import vector
from psdopt.constraints.problem import Constrained
from psdopt.contracts.abilities import Ability
from psdopt.contracts.constrained_fit import constrained_fit_of
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.errors import IncompatibleError, NotDifferentiableError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import FACTOR_ORDER, ROUNDS
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, VANISHED
from psdopt.running.derivatives.conditions import Conditions
from psdopt.running.derivatives.degenerate import SETTLED, distances, refuse_degenerate
from psdopt.running.derivatives.hermitian import hermitian_axes
from psdopt.running.derivatives.preconditioners import system_at
from psdopt.running.derivatives.system import AdjointSystem, UnsettledError

#: Newton steps after which a residual that has not become rounding never will.
STEPS = 12
#: The largest residual at which they end if it falls no more.
ROUGH = VANISHED**1.5


def stationary_point(problem: Problem, matrix: LowRankPSD, multipliers: object, limited: bool) -> AdjointSystem:
    """The system of Lagrange's conditions at the stationary point near `matrix`, shown to be nonsingular.

    Newton's method from `matrix`; the preconditioner is made anew while the residual is large. Raises
    NotDifferentiableError where it does not converge or where the point is degenerate.
    """
    _require(problem)
    at = _beginning(problem, matrix, multipliers)
    columns = int(matrix.factor.shape[1]) * (2 if at.hermitian else 1) if limited else problem.n
    system = _polished(at)
    for _ in range(ROUNDS):
        revised = _revised(system.at)
        if revised is system.at:
            break
        system = _polished(revised)
    refuse_degenerate(system.at, columns, system)
    return system


def _polished(at: Conditions) -> AdjointSystem:
    """Newton's method from a point to rounding: the system there."""
    system, made, before = system_at(at), at.residual, np.inf
    for _ in range(STEPS):
        if at.residual <= SETTLED or (at.residual <= ROUGH and at.residual > 0.5 * before):
            break
        try:
            X, v = system.solve(-at.pull, at.off, accuracy=MINOR)
        except NotDifferentiableError as error:
            text = f"{error}; |S Y| / (|S| |Y|) was {at.residual:.1e} there, and a run with a smaller tol may help"
            raise UnsettledError(text) from error
        before, at = at.residual, at.moved(X, v)
        # under constraints the rotations Y Ω of the Y of the preconditioner are damped slightly, not left out
        if made > (MINOR * SLIGHT if at.model is None else ROUGH):
            system, made = system_at(at, system), at.residual
        else:
            system = system.moved(at)
    if not at.residual <= ROUGH:
        text = f"Newton's method from M leads to no stationary point: |S Y| / (|S| |Y|) is still {at.residual:.1e}; "
        text += "a run with a smaller tol may help"
        raise UnsettledError(text)
    return system


def _revised(at: Conditions) -> Conditions:
    """The conditions without axes of M that have vanished and inequalities that hold M the wrong way, and with those
    that M violates; `at` itself if there are none. Of two numbers that are both nearly 0, the larger one was wrong.
    """
    U, s, _ = np.linalg.svd(at.Y, full_matrices=False)
    if not np.all(s**2 > VANISHED * np.max(s, initial=0.0) ** 2):
        axes = hermitian_axes(at.evaluation.matrix) if at.hermitian else U * s
        lengths = np.einsum("ij,ij->j", axes, axes)
        return at.along(axes[:, lengths > VANISHED * np.max(lengths, initial=0.0)])
    if at.model is None:
        return at
    slack, push = distances(at)
    active = np.zeros(at.model.m, dtype=bool)
    active[at.rows] = push[at.rows] >= -VANISHED
    active |= slack < -VANISHED
    rows = np.flatnonzero(active)
    if np.array_equal(rows, at.rows):
        return at
    a, bound = at.model.measured(at.Y), at.spread(at.bound)
    nearest = np.where(at.model.upper - a < a - at.model.lower, at.model.upper, at.model.lower)
    bound = np.where(np.isin(np.arange(at.model.m), at.rows), bound, nearest)
    return replace(at, rows=rows, bound=bound[rows], y=at.multipliers[rows])


def _require(problem: Problem) -> None:
    """IncompatibleError if the problem offers no derivatives, in one sentence."""
    name = type(problem).__name__
    if problem.n > FACTOR_ORDER:
        raise IncompatibleError(f"derivatives take a matrix S of order at most {FACTOR_ORDER}; found {problem.n}")
    if problem.device is not None:
        raise IncompatibleError(f"derivatives take NumPy arrays; {name} is on {problem.device}")
    needed = Ability.CONSTRAINED_FIT if Ability.CONSTRAINTS in problem.abilities else Ability.HESSIAN
    if needed not in problem.abilities:
        raise IncompatibleError(f"derivatives need the ability {needed}; {name} lacks it")


def _beginning(problem: Problem, matrix: LowRankPSD, multipliers: object) -> Conditions:
    """The conditions at the columns and the constraints that are part of them.

    An axis of M belongs to the range, and an inequality is active, where the one of two complementary numbers is
    larger, each in its unit: λ_i / λ_1 or q_iᵀS q_i / |S|, |y_t| |A_t| / |S| or the slack / (|A_t| tr M).
    """
    axes = matrix.compress().factor
    if not axes.shape[1] or norm(axes) == 0.0:
        axes = np.zeros((problem.n, 0))
    evaluation = problem.at(axes)
    none: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
    at = Conditions(problem, evaluation, none, np.zeros(0), np.zeros(0))
    if isinstance(problem, Constrained):
        fit = constrained_fit_of(problem)
        if len(fit.held):
            t = int(fit.held[0])
            raise NotDifferentiableError(
                f"constraint {t} alone keeps M on a face of the cone: |A_t Y| is 0, and its multiplier is not unique"
            )
        y = _multipliers(at) if multipliers is None else vector(multipliers, "multipliers", problem.m, "constraints")
        a = problem.measured(axes)
        bound = np.where(y >= 0.0, problem.upper, problem.lower)
        bound = np.where(np.isfinite(bound), bound, np.where(np.isfinite(problem.lower), problem.lower, problem.upper))
        every = Conditions(problem, evaluation, np.arange(problem.m), bound, y)
        slack = np.abs(a - bound) / fit.norms
        push = np.abs(y) * fit.norms
        trace = norm(axes) ** 2
        active = (problem.lower == problem.upper) | (push * trace > slack * every.unit)
        rows = np.flatnonzero(active)
        at = Conditions(problem, evaluation, rows, bound[rows], y[rows])
    if at.sees_only_hermitian:
        axes = hermitian_axes(matrix)
        at = replace(at, hermitian=True).along(axes)
    lengths = np.einsum("ij,ij->j", axes, axes)
    if len(lengths):
        quotients = np.abs(np.einsum("ij,ij->j", axes, at.slack @ axes)) / lengths
        kept = quotients <= at.unit * np.minimum(lengths / lengths[0], MINOR / SLIGHT)
        if not kept.all():
            at = at.along(axes[:, kept])
    return at


def _multipliers(at: Conditions) -> Array:
    """The y (m,) of least |∇F Y + Σ_t y_t A_t Y|."""
    model = at.model
    assert model is not None
    every = Conditions(model, at.evaluation, np.arange(model.m), np.zeros(model.m), np.zeros(model.m))
    pull = 0.5 * at.evaluation.factor_gradient()

    def forth(y: Array) -> Array:
        return every.force(y.ravel(), at.Y).ravel()

    def back(X: Array) -> Array:
        return every.values(at.Y, X.reshape(at.Y.shape))

    operator = sla.LinearOperator((pull.size, model.m), matvec=forth, rmatvec=back)
    return np.asarray(sla.lsmr(operator, -pull.ravel(), atol=EPS, btol=EPS)[0])
