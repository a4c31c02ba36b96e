"""F along curves of a geometry, those of fixed trace among them, and transport of directions and gradients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.curve import FactorCurve, Mixture
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.geometry_groups import Lift
from psdopt.contracts.problem import Evaluation, LineModel, Problem
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner, is_finite, norm

#: Images are recomputed after this many combinations.
REFRESH_STEPS = 50


@dataclass
class Located:
    """A point, F there, and the evaluation of its frame if the geometry has one; `age` counts combinations."""

    point: Any
    evaluation: Evaluation
    frame: Evaluation | None = None
    age: int = 0


@dataclass(frozen=True)
class Carried:
    """The direction of a step and the gradient at its start, both transported to its end.

    `slope` = ⟨gradient, direction⟩ at the start. `gradient` is a tangent vector, or with `on_factors` an array (n, r)
    to be paired with velocities of the factor, since a covector must not be rescaled by the metrics of two points.
    """

    direction: Any
    gradient: Any
    slope: float
    on_factors: bool = False

    def pair(self, geometry: Geometry, point: Any, vector: Any) -> float:
        """⟨old gradient, vector⟩ at `point`, the end of the step."""
        if self.on_factors:
            return inner(self.gradient, geometry.velocity(point, vector))
        return geometry.inner(point, self.gradient, vector)


def locate(problem: Problem, geometry: Geometry, point: Any, evaluation: Evaluation | None = None) -> Located:
    """F at `point`. One application of the maps, none if `evaluation` is given and no frame is needed."""
    parts = geometry.frame(point)
    if parts is None:
        return Located(point, evaluation or problem.at(geometry.factor(point)))
    frame = problem.at(parts[0])
    _ = frame.value  # computes the images of the frame, which later steps reuse
    at = frame.mix(parts[1])
    return Located(geometry.with_factor(point, at.factor), at, frame)


class LagrangianLine(LineModel):
    """mu ↦ F(M) − λ (tr M − t) at M = (Y + mu D)(Y + mu D)ᵀ, with t = |Y|² and λ = ⟨S, Y Yᵀ⟩ / t.

    This is the second-order model of F on the curve √t (Y + mu D) / |Y + mu D|. F on the line itself is not, because
    the line leaves the matrices of trace t. Adding c (tr M − t) to F, which is 0 on the set, does not change the steps.

    Parameters: `line`, F along Y + mu D; `evaluation`, F at Y; `direction` D (n, r). O(n r).
    """

    def __init__(self, line: LineModel, evaluation: Evaluation, direction: Array) -> None:
        Y, length = evaluation.factor, norm(direction)
        self.line, size = line, norm(Y)
        self.multiplier = 0.5 * inner(evaluation.factor_gradient(), Y) / size**2
        self._radial, self._square = 2.0 * inner(Y, direction), length**2
        #: The mu at which Y and mu D are equally long: beyond it the line is no longer close to the curve.
        self.reach = size / length if length > 0.0 else math.inf
        if line.coefficients is not None:
            c0, c1, c2, c3, c4 = line.coefficients
            c1, c2 = c1 - self.multiplier * self._radial, c2 - self.multiplier * self._square
            self.coefficients = [c0, c1, c2, c3, c4]

    def value(self, mu: float) -> float:
        return self.line.value(mu) - self.multiplier * mu * (self._radial + mu * self._square)

    def derivatives(self, mu: float) -> tuple[float, float]:
        first, second = self.line.derivatives(mu)
        return (
            first - self.multiplier * (self._radial + 2.0 * mu * self._square),
            second - 2.0 * self.multiplier * self._square,
        )

    def minimize(self, upper: float = math.inf) -> float:
        """The minimiser as for any line, but no farther than `reach`."""
        return super().minimize(min(upper, self.reach))

    def step(self, mu: float) -> Evaluation:
        return self.line.step(mu)


class Path(ABC):
    """s ↦ F(R(point, s vector)) for s in [0, `longest`]."""

    longest: float = math.inf
    #: Whether F on the curve equals F on its tangent line, so that the minimiser of the line model is the best step.
    exact: bool = False
    #: The last evaluation whose value was NaN; a search that finds no step returns it, so that the driver reports it.
    lost: Evaluation | None = None

    def __init__(self, geometry: Geometry, here: Located, vector: Any) -> None:
        self.geometry, self.here, self.vector = geometry, here, vector

    def finite(self, value: float, s: float) -> float:
        """`value`, or inf where it is not finite; a NaN (not an overflow) is remembered."""
        if math.isnan(value):
            self.lost = self.at(s).evaluation
        return value if math.isfinite(value) else math.inf

    def curvature(self, s: float) -> float | None:
        """Estimate of the curvature ⟨N, ∇²F[N]⟩ / |N|² of F in M, N = ẎẎᵀ for a quadratic F, else Ṁ at s; or None."""
        return None

    @abstractmethod
    def at(self, s: float) -> Located:
        """The point at s, and F there."""

    def slope(self, s: float) -> float:
        """dF/ds at s, with the direction transported there. One gradient."""
        end, start = self.at(s), self.here.point
        gradient = self.geometry.gradient(end.point, end.evaluation.gradient)
        return self.geometry.inner(end.point, gradient, self.geometry.transport(start, end.point, self.vector))

    def value(self, s: float) -> float:
        """F at s; inf if F is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.at(s).evaluation.value
        return self.finite(value, s)

    @abstractmethod
    def tangent(self) -> LineModel:
        """F along the line Y + s Ẏ tangent to the curve at its start; its Lagrangian where the trace is fixed."""

    def carried(self, s: float, direction: Any, gradient: Any, slope: float) -> Carried:
        """`direction` and `gradient`, tangent at the start, transported to the point at s."""
        start, end = self.here.point, self.at(s).point
        moved = [self.geometry.transport(start, end, vector) for vector in (direction, gradient)]
        return Carried(moved[0], moved[1], slope)


class LinePath(Path):
    """Straight lines: trials are values of the line model. One application for the whole search."""

    exact = True

    def __init__(self, geometry: Geometry, here: Located, vector: Array) -> None:
        super().__init__(geometry, here, vector)
        self.line = here.evaluation.along(vector)

    def at(self, s: float) -> Located:
        moved = self.line.step(s)
        return Located(moved.factor, moved)

    def slope(self, s: float) -> float:
        """dF/ds of the line model: no gradient."""
        return self.line.derivatives(s)[0]

    def value(self, s: float) -> float:
        return self.finite(self.line.value(s), s)

    def tangent(self) -> LineModel:
        return self.line

    def carried(self, s: float, direction: Any, gradient: Any, slope: float) -> Carried:
        return Carried(direction, gradient, slope)


class CurvePath(Path):
    """A :class:`~psdopt.FactorCurve`: one application (to its block) for the whole search, none per trial."""

    def __init__(self, geometry: Geometry, here: Located, curve: FactorCurve, vector: Any) -> None:
        super().__init__(geometry, here, vector)
        self.curve = curve
        self.frame = here.frame or here.evaluation
        self.wide = self.frame if curve.block is None else self.frame.append(curve.block)
        self.longest, self.exact = curve.longest, curve.straight
        self._last: tuple[float, Located, Mixture] | None = None

    def _at(self, s: float) -> tuple[float, Located, Mixture]:
        if self._last is None or self._last[0] != s:
            mixture = self.curve.mixture(s)
            frame = self.frame if mixture.frame is None else self.wide.mix(mixture.frame)
            at = frame if mixture.factor is None else frame.mix(mixture.factor)
            point = self.curve.point(frame.factor, mixture, at.factor)
            kept = frame if self.here.frame is not None else None
            self._last = (s, Located(point, at, kept, self.here.age + 1), mixture)
        return self._last

    def at(self, s: float) -> Located:
        return self._at(s)[1]

    def value(self, s: float) -> float:
        return self.finite(self.line.value(s), s) if self.exact else super().value(s)

    def curvature(self, s: float) -> float | None:
        """As in :class:`Path`; None if the columns of [frame, block] are not orthonormal. Cost independent of n."""
        if not self.curve.orthonormal:
            return None
        line, T, start = self.line, self.curve.velocity, self.curve.start
        if line.coefficients is not None:
            size = norm(T.T @ T)
            return 2.0 * float(line.coefficients[4]) / size**2 if size > 0.0 else None
        Y = s * T
        Y[: len(start)] += start
        along = Y.T @ T
        moved = 2.0 * float(np.sum((T.T @ T) * (Y.T @ Y)) + np.sum(along * along.T))
        return line.derivatives(s)[1] / moved if moved > 0.0 else None

    def tangent(self) -> LineModel:
        if self.geometry.trace is None:
            return self.line
        return LagrangianLine(self.line, self.here.evaluation, self.velocity.factor)

    @cached_property
    def velocity(self) -> Evaluation:
        """F at Ẏ, for its images."""
        return self.wide.mix(self.curve.velocity)

    @cached_property
    def line(self) -> LineModel:
        """F along Y + s Ẏ."""
        return self.here.evaluation.along_evaluation(self.velocity)

    def carried(self, s: float, direction: Any, gradient: Any, slope: float) -> Carried:
        """A known velocity Ẏ of the factor is kept, as on straight lines; otherwise the direction is transported."""
        _, moved, mixture = self._at(s)
        if mixture.turn is None or not isinstance(self.geometry, Lift):
            return super().carried(s, direction, gradient, slope)
        velocity = self.geometry.velocity(self.here.point, direction) @ mixture.turn
        covector = self.here.evaluation.factor_gradient() @ mixture.turn
        return Carried(self.geometry.from_velocity(moved.point, velocity), covector, slope, on_factors=True)


def retracted(geometry: Geometry, point: Any, vector: Any) -> Any:
    """R(point, vector), or None if the vector is too long for the geometry or the factor overflows."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            target = geometry.retract(point, vector)
    except (InvalidInputError, np.linalg.LinAlgError):
        return None
    return target if is_finite(geometry.factor(target)) else None


class RetractionPath(Path):
    """Any retraction: one evaluation per trial. F counts as infinite if the retraction gives no point."""

    def __init__(self, problem: Problem, geometry: Geometry, here: Located, vector: Any) -> None:
        super().__init__(geometry, here, vector)
        self.problem = problem
        self._last: tuple[float, Located | None] | None = None

    def value(self, s: float) -> float:
        return super().value(s) if self._at(s) is not None else math.inf

    def at(self, s: float) -> Located:
        return cast(Located, self._at(s))

    def _at(self, s: float) -> Located | None:
        if self._last is None or self._last[0] != s:
            point = retracted(self.geometry, self.here.point, s * self.vector)
            at = None if point is None else Located(point, self.problem.at(self.geometry.factor(point)))
            self._last = (s, at)
        return self._last[1]

    def tangent(self) -> LineModel:
        velocity = self.geometry.velocity(self.here.point, self.vector)
        line = self.here.evaluation.along(velocity)
        return line if self.geometry.trace is None else LagrangianLine(line, self.here.evaluation, velocity)


def path_along(problem: Problem, geometry: Geometry, here: Located, vector: Any, straight: bool = False) -> Path:
    """F along the cheapest curve s ↦ R(point, s vector) that the geometry offers.

    `straight`: use the retraction along straight lines of the factor if the geometry offers it.
    """
    if Ability.STRAIGHT in geometry.abilities:
        return LinePath(geometry, here, vector)
    if here.age >= REFRESH_STEPS:
        here = locate(problem, geometry, geometry.refreshed(here.point))
    curve = geometry.curve(here.point, vector, straight)
    if curve is None:
        return RetractionPath(problem, geometry, here, vector)
    return CurvePath(geometry, here, curve, vector)
