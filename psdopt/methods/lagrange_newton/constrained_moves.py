"""The Newton step of Lagrange's conditions under linear constraints, and the merit function that judges it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psdopt.contracts.constrained_fit import ConstrainedFit
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import SLIGHT
from psdopt.methods.lagrange_newton.system import LagrangeSystem, lacking


@dataclass(frozen=True)
class Active:
    """Tied constraints at measurements a (m,), multipliers y (m,): equations, and those whose a + y/w violates a bound.

    `rows` (k,) are tied, `off` (k,) is a − bound there, `w` (k,) the penalty sigma / |A_t|². `merit` is the merit
    function F + Σ_t ((w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]) − y_t²/(2 w_t)) without F.
    """

    y: Array
    rows: NDArray[np.intp]
    off: Array
    w: Array
    merit: float

    @classmethod
    def of(cls, fit: ConstrainedFit, a: Array, y: Array, sigma: float, keep: bool = False) -> Active:
        """The tied constraints at a and y. Unless `keep`, y is first set to zero where it pushes against no bound."""
        w = sigma / fit.norms**2
        tied, bound = _tied(fit, a, y, w)
        if not keep:
            y = np.where(tied, y, 0.0)
            tied, bound = _tied(fit, a, y, w)
        off = (a - bound)[tied]
        free = y[~tied]
        merit = float(y[tied] @ off + 0.5 * (w[tied] * off) @ off - 0.5 * (free / w[~tied]) @ free)
        return cls(y, np.flatnonzero(tied), off, w[tied], merit)


def _tied(fit: ConstrainedFit, a: Array, y: Array, w: Array) -> tuple[NDArray[np.bool_], Array]:
    z = a + y / w
    bound = np.clip(z, fit.lower, fit.upper)
    tied = (z != bound) | (fit.lower == fit.upper)
    tied[fit.held] = False
    return tied, bound


@dataclass(frozen=True)
class Move:
    """Y + mu X + mu² Z and y + mu v + mu² bent; `pull` S(y) Y, `rates` 2 ⟨A_t Y, Xᵀ⟩, `delta` the damping and `shift`
    the part of it that makes S(y) definite."""

    X: Array
    Z: Array
    v: Array
    bent: Array
    pull: Array
    rates: Array
    delta: float
    shift: float

    def slope(self, active: Active) -> float:
        """The slope of the merit function along (X, v)."""
        return 2.0 * inner(self.pull, self.X) + float(active.off @ (active.w * self.rates + self.v))

    def needed(self, fit: ConstrainedFit, active: Active, rounding: float) -> float:
        """The least penalty at which the slope is at most −⟨X, H X⟩, H the matrix of the system in X."""
        # ⟨X, H X⟩, from the first equation of the step
        energy = -inner(self.pull, self.X) - 0.5 * float(self.v @ self.rates)
        excess = 2.0 * inner(self.pull, self.X) + float(active.off @ self.v) + energy
        if excess <= rounding:
            return 0.0
        falls = -float((active.off / fit.norms[active.rows] ** 2) @ self.rates)
        return excess / falls if falls > 0.0 else math.inf


def newton_move(fit: ConstrainedFit, here: Evaluation, active: Active, damping: float, residual: float) -> Move:
    """The solution of the linearised conditions at Y, with S(y) + damping I, and its second-order part.

    `residual` says how accurately the systems of a curved F are solved. Raises LinAlgError where the system is
    singular. n³ + k³/3 + O(n² r) flops for k tied constraints, and the products A_s M A_t S⁻¹; for a curved F up to 200
    solutions more.
    """
    Y = here.factor
    tied = fit.tied(here, active.rows)
    block = tied.block(Y)
    probe = np.random.default_rng(0).standard_normal(Y.shape)
    bent = fit.bend(here, probe)
    curvature = 0.0 if bent is None else max(inner(probe, bent), 0.0) / inner(probe, probe)
    k = len(active.rows)
    system = LagrangeSystem(tied, block, Y, active.y, damping + curvature, np.empty((k, k)))
    X, v = system.solve(-system.pull, active.off)
    if bent is not None:
        X, v = _curved(fit, here, system, X, v, curvature, min(SLIGHT, residual))
    moved = tied.block(X)
    Z, bend = system.bend(tied.pair(moved, moved))
    shift = system.delta - damping - curvature
    if curvature > 0.0 and residual <= SLIGHT:
        # the next step may square the residual, and the curvature of F can make the system definite while S is
        # indefinite in directions that no column has
        shift = max(shift, lacking(tied.gradient(active.y), damping))
    return Move(X, Z, v, bend, system.pull, 2.0 * tied.pair(block, moved), system.delta, shift)


def _curved(
    fit: ConstrainedFit, here: Evaluation, system: LagrangeSystem, X: Array, v: Array, shift: float, share: float
) -> tuple[Array, Array]:
    """The step with ∇²F, by conjugate gradient; the system with `shift` I instead of ∇²F is preconditioner and start.

    Directions meet 2 ⟨A_t Y, Dᵀ⟩ = 0, so that the second equation stays met.
    """
    none = np.zeros(len(v))

    def beyond(D: Array) -> Array:
        bent = fit.bend(here, D)
        return -shift * D if bent is None else bent - shift * D

    R = -beyond(X)
    stop, P, held, old = 0.0, np.zeros_like(X), np.zeros_like(X), math.inf
    for k in range(MOST_PRODUCTS):
        D, dv = system.solve(R, none)
        R, v = R - system.force(dv), v + dv
        size = inner(R, D)
        stop = stop or share**2 * size
        if not size > stop:
            break
        beta = 0.0 if k == 0 else size / old
        P, held, old = D + beta * P, R + beta * held, size  # held is (S + (delta + shift) I) P
        HP = held + beyond(P)
        along = inner(P, HP)
        if not along > 0.0:
            break
        X = X + (size / along) * P
        R = R - (size / along) * HP
    return X, v
