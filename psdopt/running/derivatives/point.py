"""The stationary point near the answer of a run, and proofs that it moves smoothly with the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from psdopt.checks import vector
from psdopt.constraints.fit import ModelFit
from psdopt.constraints.problem import Constrained
from psdopt.contracts.abilities import Ability
from psdopt.contracts.constrained_fit import constrained_fit_of
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.errors import IncompatibleError, NotDifferentiableError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import FACTOR_ORDER, ROUNDS
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, SLIGHT, VANISHED
from psdopt.running.derivatives.conditions import Conditions
from psdopt.running.derivatives.preconditioners import inverse_at, probe_of
from psdopt.running.derivatives.system import AdjointSystem, Inverse

#: Newton steps after which a residual that has not become rounding never will.
STEPS = 12
#: A residual of Lagrange's conditions that counts as rounding, and the largest at which they end if it falls no more.
SETTLED, ROUGH = 64.0 * EPS, VANISHED**1.5


def stationary_point(problem: Problem, matrix: LowRankPSD, multipliers: object) -> tuple[Conditions, AdjointSystem]:
    """Lagrange's conditions at the stationary point near `matrix`, and their system, shown to be nonsingular.

    Newton's method from `matrix`; the preconditioner is made anew while the residual is large. Raises
    NotDifferentiableError where it does not converge or where the point is degenerate.
    """
    _require(problem)
    at, columns = _beginning(problem, matrix, multipliers)
    at, inverse = _polished(at)
    for _ in range(ROUNDS):  # of two numbers that both are nearly 0, that of the range was not the larger one
        U, s, _ = np.linalg.svd(at.Y, full_matrices=False)
        kept = s**2 > VANISHED * np.max(s, initial=0.0) ** 2
        if kept.all():
            break
        at, inverse = _polished(replace(at, evaluation=problem.at(U[:, kept] * s[kept])))
    system = AdjointSystem(at, inverse)
    _check_rank(at, columns)
    _check_rows(at)
    if at.evaluation.corner() <= ROOT_EPS:
        text = f"a loss is at a corner of its derivative, at a distance of {at.evaluation.corner():.1e} of its data"
        raise NotDifferentiableError(text)
    system.solve(probe_of(at), np.zeros_like(at.y), accuracy=MINOR)  # refuses a singular system
    return at, system


def _polished(at: Conditions) -> tuple[Conditions, Inverse]:
    """Newton's method from a point to rounding, and the last preconditioner."""
    inverse, made, before = inverse_at(at), at.residual, np.inf
    for _ in range(STEPS):
        if at.residual <= SETTLED or (at.residual <= ROUGH and at.residual > 0.5 * before):
            break
        X, v = AdjointSystem(at, inverse).solve(-at.pull, at.off, accuracy=MINOR)
        before, at = at.residual, at.moved(X, v)
        # under constraints the rotations Y Ω of the Y of the preconditioner are damped slightly, not left out
        if made > (MINOR * SLIGHT if at.model is None else ROUGH):
            inverse, made = inverse_at(at), at.residual
    if not at.residual <= ROUGH:
        text = f"Newton's method from M leads to no stationary point: |S Y| / (|S| |Y|) is still {at.residual:.1e}"
        raise NotDifferentiableError(text)
    return at, inverse


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


def _beginning(problem: Problem, matrix: LowRankPSD, multipliers: object) -> tuple[Conditions, int]:
    """The conditions at the columns and the constraints that are part of them, and the columns of `matrix`.

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
    lengths = np.einsum("ij,ij->j", axes, axes)
    if len(lengths):
        quotients = np.abs(np.einsum("ij,ij->j", axes, at.slack @ axes)) / lengths
        kept = quotients < at.unit * np.minimum(lengths / lengths[0], MINOR / SLIGHT)
        if not kept.all():
            at = Conditions(problem, problem.at(axes[:, kept]), at.rows, at.bound, at.y)
    return at, int(matrix.factor.shape[1])


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


def _check_rank(at: Conditions, columns: int) -> None:
    """Refuses an M whose rank may change with the data: strict complementarity, and a rank within its limit."""
    n, r = at.Y.shape
    if r:
        lengths = np.linalg.svd(at.Y, compute_uv=False) ** 2
        if not lengths[-1] > VANISHED * lengths[0]:
            share = lengths[-1] / lengths[0]
            text = f"the rank of M may change with the data: its eigenvalue {r} is {share:.1e} of the first"
            raise NotDifferentiableError(text)
    if r == n:
        return
    Q = np.linalg.qr(at.Y)[0]
    beyond = at.slack + (at.unit * Q) @ Q.T
    if at.unit > 0.0 and factor_above(beyond, VANISHED * at.unit) is not None:
        return
    values = np.linalg.eigvalsh(beyond) / (at.unit or 1.0)
    least = float(values[np.argmin(np.abs(values))])
    if abs(least) <= VANISHED:
        raise NotDifferentiableError(
            f"strict complementarity fails: S has an eigenvalue of {least:.1e} of its largest beyond the range of M"
        )
    if columns > r:
        raise NotDifferentiableError(
            f"M is no minimiser: S has an eigenvalue of {values[0]:.1e} of its largest, and Y a column to spare"
        )


def _check_rows(at: Conditions) -> None:
    """Refuses multipliers that are not unique, and inequalities that neither hold M nor are away from it."""
    model = at.model
    if model is None:
        return
    fit, trace = constrained_fit_of(model), norm(at.Y) ** 2
    a = model.measured(at.Y)
    free = np.setdiff1d(np.arange(model.m), at.rows)
    slack = np.minimum(a - model.lower, model.upper - a) / (fit.norms * (trace or 1.0))
    for t in free[slack[free] <= VANISHED]:
        raise NotDifferentiableError(
            f"the multiplier of constraint {t} is 0, and so is its slack: {slack[t]:.1e} of |A_t| tr M"
        )
    push = at.multipliers * fit.norms / (at.unit or 1.0)
    sided = model.lower < model.upper
    toward = np.where(at.spread(at.bound) == model.upper, push, -push)
    for t in at.rows[(sided & (toward <= VANISHED))[at.rows]]:
        raise NotDifferentiableError(
            f"constraint {t} holds M at its bound with a multiplier of {toward[t]:.1e} of |S|, which is 0"
        )
    k = len(at.rows)
    if k == 0:
        return
    gram = np.zeros((k, k))
    assert isinstance(fit, ModelFit)  # made by every Constrained
    fit.coupled(at.rows).add(gram, at.Y @ at.Y.T, np.eye(model.n), fresh=True)
    gram = np.triu(gram) + np.triu(gram, 1).T
    sizes = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
    if not sizes.min() > VANISHED * norm(at.Y):
        t = int(at.rows[np.argmin(sizes)])
        raise NotDifferentiableError(
            f"constraint {t} does not change with Y: |A_t Y| is {sizes.min() / (norm(at.Y) or 1.0):.1e} of |A_t| |Y|"
        )
    gram /= sizes * sizes[:, None]
    if factor_above(gram, VANISHED**2) is None:
        least = max(float(np.linalg.eigvalsh(gram)[0]), 0.0) ** 0.5
        raise NotDifferentiableError(
            f"multipliers are not unique: the matrices A_t Y are dependent, with a singular value of {least:.1e}"
        )
