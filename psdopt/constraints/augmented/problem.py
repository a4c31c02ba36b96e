"""The augmented Lagrangian of linear constraints as a loss of the measured values, and F plus it as a problem."""

from __future__ import annotations

from typing import cast

import numpy as np

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.augmented.preconditioner import PenaltyPreconditioner
from psdopt.constraints.cones import moved_onto_cones
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Problem
from psdopt.devices import Device, device_of, placed
from psdopt.linalg.arrays import Array, inner
from psdopt.problems.composite import Composite
from psdopt.problems.term_sum import TermSum
from psdopt.terms.losses import Loss
from psdopt.terms.measured import MeasuredTerm


class Penalty(Loss):
    """Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]), w > 0: its derivative is the next multiplier.

    With z = a + y/w, the derivative is w (z − Π(z)), which equals y where a sits on its bound. The second derivative is
    w for equations and for z outside the bounds, 0 between the bounds. For values in a cone, whose w are alike, the
    distance is that from the cone; then the loss is not separable.

    Parameters
    ----------
    y, w : arrays (m,). allowed : the set of a.
    """

    def __init__(self, y: Array, w: Array, allowed: Allowed) -> None:
        self.size = len(y)
        self.y, self.w, self.allowed, self.separable = y, w, allowed, allowed.cones is None
        self._equal = allowed.lower == allowed.upper
        self.degree = 2 if bool(np.all(self._equal)) else None
        self._shift = y / w

    def on(self, device: Device) -> Penalty:
        """The penalty of values on a `device`, where y, w and the bounds are sent."""
        if self.device is not None:
            return self
        y, w = (cast(Array, placed(each, device)) for each in (self.y, self.w))
        return Penalty(y, w, self.allowed.on(device))

    @property
    def device(self) -> Device | None:
        return device_of(self.w)

    def _outside(self, a: Array) -> Array:
        return self.allowed.violation(a + self._shift)

    def value(self, a: Array) -> float:
        off = self._outside(a)
        return 0.5 * inner(self.w * off, off)

    def derivative(self, a: Array) -> Array:
        return self.w * self._outside(a)

    def second(self, a: Array) -> Array:
        if not self.separable:
            return super().second(a)
        return self.w if self.degree == 2 else np.where(self._equal | (self._outside(a) != 0.0), self.w, 0.0)

    def curvature(self, a: Array, direction: Array) -> Array:
        outside = self._outside(a)
        found = np.where(self._equal | (outside != 0.0), self.w * direction, 0.0)
        cones = self.allowed.cones
        if cones is None:
            return found
        for rows in cones.groups:
            w, d = (a + self._shift)[rows] - cones.offset[rows], direction[rows]
            found[rows] = self.w[rows] * (d - moved_onto_cones(w, d))
        return found


def augmented(problem: ConstrainedModel, y: Array, w: Array) -> Problem:
    """M ↦ F(M) + Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]): a sum of terms if F is one."""
    penalty = Penalty(y, w, problem.allowed)
    term = MeasuredTerm(problem.measurement, penalty if problem.device is None else penalty.on(problem.device))
    inner = problem.problem
    if isinstance(inner, TermSum):
        forms = problem.forms
        preconditioner = None if forms is None or problem.cones is not None else PenaltyPreconditioner.of(problem, term)
        return TermSum([*inner.terms, term], inner.constant, preconditioner)
    return Composite([inner, TermSum([term])])


def weights(problem: ConstrainedModel, sigma: float) -> Array:
    """sigma / |A_t|², in a cone of its largest |A_t|: the penalty of a violation does not depend on the scale."""
    norms = problem.allowed.alike(problem.norms)
    return np.asarray(sigma / np.where(norms > 0.0, norms, 1.0) ** 2)


def squared_distance(problem: ConstrainedModel) -> TermSum:
    """M ↦ Σ_t dist²(a_t, [lower_t, upper_t]) / (2 |A_t|²): zero where M is feasible, and convex."""
    loss = Penalty(np.zeros(problem.m), weights(problem, 1.0), problem.allowed)
    return TermSum([MeasuredTerm(problem.measurement, loss)])
