"""F along curves of a geometry, transport along them, and step lengths."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.capability import Ability
from psdopt.curve import Curve, Mixture
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.geometry_groups import Lift
from psdopt.linalg.arrays import Array, inner, is_finite, norm
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation, LineModel, Problem
from psdopt.searches.armijo import SUFFICIENT, armijo_step
from psdopt.searches.fixed_trace import LagrangianLine, without_radial

#: What a `search` parameter may be: see :func:`searched`.
SEARCHES = ("exact", "armijo")
#: Images are recomputed after this many combinations.
REFRESH_STEPS = 50
#: A decrease below so many roundings of F is not measured by values; values that differ by so few are equal.
UNRESOLVED, TIE = 1e3, 4.0
#: A slope counts as smaller if it is this share of the one before.
FLATTER = 0.9


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


class Path(ABC):
    """s ↦ F(R(point, s vector)) for s in [0, `longest`]."""

    longest: float = math.inf
    #: Whether F on the curve equals F on its tangent line, so that the minimiser of the line model is the best step.
    exact: bool = False
    #: The last evaluation whose value was NaN; a search that finds no step returns it, so that the driver reports it.
    lost: Evaluation | None = None

    def __init__(self, geometry: Geometry, here: Located, vector: Any = None) -> None:
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

    def slope(self, s: float) -> float | None:
        """dF/ds at s, with the direction transported there; None where the path knows no direction. One gradient."""
        if self.vector is None:
            return None
        end, start = self.at(s), self.here.point
        gradient = self.geometry.gradient(end.point, end.evaluation.gradient)
        return self.geometry.inner(end.point, gradient, self.geometry.transport(start, end.point, self.vector))

    def value(self, s: float) -> float:
        """F at s; inf where it is not finite."""
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
        super().__init__(geometry, here)
        self.line = here.evaluation.along(vector)

    def at(self, s: float) -> Located:
        moved = self.line.step(s)
        return Located(moved.factor, moved)

    def value(self, s: float) -> float:
        return self.finite(self.line.value(s), s)

    def tangent(self) -> LineModel:
        return self.line

    def carried(self, s: float, direction: Any, gradient: Any, slope: float) -> Carried:
        return Carried(direction, gradient, slope)


class CurvePath(Path):
    """A :class:`~psdopt.curve.Curve`: one application (to its block) for the whole search, none per trial."""

    def __init__(self, geometry: Geometry, here: Located, curve: Curve, vector: Any = None) -> None:
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
        """As documented; None where the columns of [frame, block] are not orthonormal. Free of n."""
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
        """If the velocity Ẏ of the factor is known, Ẏ itself is kept, as on straight lines; otherwise by transport."""
        _, moved, mixture = self._at(s)
        if mixture.turn is None or not isinstance(self.geometry, Lift):
            return super().carried(s, direction, gradient, slope)
        velocity = self.geometry.velocity(self.here.point, direction) @ mixture.turn
        covector = self.here.evaluation.factor_gradient()
        if self.geometry.trace is not None:
            covector = without_radial(covector, self.here.evaluation.factor)
        covector = covector @ mixture.turn
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
        self._tried: tuple[float, Any] | None = None
        self._last: tuple[float, Located] | None = None

    def value(self, s: float) -> float:
        return super().value(s) if self._point(s) is not None else math.inf

    def at(self, s: float) -> Located:
        if self._last is None or self._last[0] != s:
            point = self._point(s)
            self._last = (s, Located(point, self.problem.at(self.geometry.factor(point))))
        return self._last[1]

    def _point(self, s: float) -> Any:
        if self._tried is None or self._tried[0] != s:
            self._tried = (s, retracted(self.geometry, self.here.point, s * self.vector))
        return self._tried[1]

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


def searched(search: str, path: Path, value: float, slope: float) -> float:
    """The step along `path` by :func:`modelled` ("exact") or :func:`~psdopt.searches.armijo.armijo_step` ("armijo")."""
    if search == "exact":
        return modelled(path, value, slope)
    return armijo_step(path.value, value, slope, longest=path.longest)


def halved(path: Path, value: float, slope: float, first: float, sufficient: float) -> float:
    """The first of first, first/2, first/4, ... with F(s) <= F(0) + sufficient · s · slope; 0.0 if there is none.

    Meyer et al., eq. (22) with the sign that makes it a decrease: slope = −|grad|² along −grad. A required decrease
    below the rounding of F counts as met, so that a search near the minimiser ends.
    """
    if not slope < 0.0:
        return 0.0
    noise = 8.0 * EPS * abs(value)
    s = min(first, path.longest)
    while s * -slope > noise * sufficient:
        trial = path.value(s)
        if trial <= value + sufficient * s * slope + (noise if -slope * s < 64.0 * noise else 0.0):
            return s
        s *= 0.5
    return 0.0


def halved_by_slopes(path: Path, value: float, slope: float, first: float, sufficient: float) -> float:
    """As :func:`halved`, but where the rounding of F hides the decrease that is required, the slope must be smaller.

    By values alone every step up to twice the best one is a tie there, and a run next to the minimiser leaps about it.
    One gradient for each tie.
    """
    if not slope < 0.0:
        return 0.0
    noise = 8.0 * EPS * abs(value)
    s = min(first, path.longest)
    while s * -slope > EPS * noise:
        hidden = s * -slope < 64.0 * noise
        if path.value(s) <= value + sufficient * s * slope + (noise if hidden else 0.0):
            there = path.slope(s) if hidden else None
            if there is None or abs(there) <= FLATTER * abs(slope):
                return s
        s *= 0.5
    return 0.0


def modelled(path: Path, value: float, slope: float, sufficient: float = SUFFICIENT) -> float:
    """The minimiser along the tangent line, corrected by values of F on the curve; 0.0 if no step decreases F.

    If the curve is its tangent line, this minimiser is the step (inf if F is unbounded below along it). Otherwise the
    step is refined once by the parabola through F(0), F'(0) and F(s), if that changes it by more than a tenth, and
    halved until F decreases by `sufficient` times the decrease that the slope predicts.
    """
    if path.exact:
        s = path.tangent().minimize()
        if math.isnan(s):
            path.value(s)  # records a NaN in path.lost
        return s
    if not slope < 0.0:
        return 0.0
    s = path.tangent().minimize()
    if not 0.0 < s < math.inf:
        s = path.longest if math.isfinite(path.longest) else 1.0
    s = min(s, path.longest)
    trial = path.value(s)
    if math.isfinite(trial):
        excess = trial - value - slope * s
        better = -slope * s * s / (2.0 * excess) if excess > 0.0 else 2.0 * s
        better = min(max(better, 0.1 * s), 4.0 * s, path.longest)
        resolved = abs(slope) * s > UNRESOLVED * EPS * abs(value)
        if resolved and abs(better - s) > 0.1 * s:
            second = path.value(better)
            if second < trial:
                s, trial = better, second
    if trial <= value + sufficient * s * slope or _flatter(path, s, trial, value, slope):
        return s
    return halved(path, value, slope, 0.5 * s, sufficient)


def _flatter(path: Path, s: float, trial: float, value: float, slope: float) -> bool:
    """Whether F at s ties with `value`, as the slope lets expect, and the slope there is smaller.

    Values tie long before slopes do: F has the resolution eps, a minimiser by values √eps, and by slopes eps.
    """
    if abs(slope) * s > UNRESOLVED * EPS * abs(value) or trial > value + TIE * EPS * abs(value):
        return False
    there = path.slope(s)
    return there is not None and abs(there) <= FLATTER * abs(slope)
