"""Curves along retractions with F on them, and step lengths of Armijo along such curves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from psdopt.capability import Ability
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation, LineModel, Problem

#: A frame is evaluated anew after this many combinations of its images.
REFRESH_STEPS = 50
#: Growth of log B that a trial step may bring.
LARGEST_GROWTH = 60.0


@runtime_checkable
class Span(Protocol):
    """A curve inside the span of a frame (n, r) and one more block: see ``PolarSpan``."""

    block: Array | None
    growth_rate: float
    straight: bool

    @property
    def velocity(self) -> Array:
        """T with Ẏ = [frame, block] T."""

    def mixing(self, s: float) -> tuple[Array, Array, Array]:
        """(T, R, Q): the frame at s is [frame, block] T, its factor that times R; the curve is at factor · Qᵀ."""

    def point_at(self, frame: Array, R: Array, Y: Array) -> Any:
        """The point of that frame, R and factor Y."""


@dataclass
class Located:
    """A point, F there, and the evaluation of its frame if the geometry has one; `age` counts combinations.

    `turn` (r, r) is orthogonal: a curve that began at the factor Y of its start is at (factor here) · turnᵀ now.
    """

    point: Any
    evaluation: Evaluation
    frame: Evaluation | None = None
    age: int = 0
    turn: Array | None = None


def locate(problem: Problem, geometry: Geometry, point: Any, evaluation: Evaluation | None = None) -> Located:
    """F at `point`. One application of the maps, none if `evaluation` is given and no frame is needed."""
    frame_of = getattr(geometry, "frame", None)
    if frame_of is None:
        return Located(point, evaluation or problem.at(geometry.factor(point)))
    frame = problem.at(frame_of(point))
    _ = frame.value  # images of the frame are computed here, and handed on from step to step
    at = frame.mix(point.R)
    return Located(point.with_factor(at.factor), at, frame)


class Path(ABC):
    """s ↦ F(R(point, s vector)) for s in [0, `longest`]."""

    longest: float = math.inf
    #: Whether F on the curve is F on its tangent line, so that its minimiser is the best step.
    exact: bool = False
    #: The last evaluation whose value was NaN: what a search that found no step reports for the driver to name.
    lost: Evaluation | None = None

    def finite(self, value: float, s: float) -> float:
        """`value`, or inf where it is not finite; a NaN (not an overflow) is remembered."""
        if math.isnan(value):
            self.lost = self.at(s).evaluation
        return value if math.isfinite(value) else math.inf

    def curvature(self, s: float) -> float | None:
        """About the curvature ⟨N, ∇²F[N]⟩ / |N|² of F in M, N = ẎẎᵀ for a quadratic F, else Ṁ at s; None: not known."""
        return None

    @abstractmethod
    def at(self, s: float) -> Located:
        """The point at s, and F there."""

    def value(self, s: float) -> float:
        """F at s; inf where it is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.at(s).evaluation.value
        return self.finite(value, s)

    def tangent(self) -> LineModel:
        """F along the straight line Y + s Ẏ that the curve begins with."""
        raise TypeError(f"{type(self).__name__} knows no tangent line")


class LinePath(Path):
    """Straight lines: trials are values of the line model. One application for the whole search."""

    exact = True

    def __init__(self, here: Located, vector: Array) -> None:
        self.line = here.evaluation.along(vector)

    def at(self, s: float) -> Located:
        moved = self.line.step(s)
        return Located(moved.factor, moved)

    def value(self, s: float) -> float:
        return self.finite(self.line.value(s), s)

    def tangent(self) -> LineModel:
        return self.line


class SpanPath(Path):
    """Curves inside a known span: one application (to the new block) for the whole search, none per trial."""

    def __init__(self, here: Located, span: Span) -> None:
        assert here.frame is not None
        self.here, self.span = here, span
        self.wide = here.frame if span.block is None else here.frame.append(span.block)
        self.longest = LARGEST_GROWTH / span.growth_rate if span.growth_rate > 0.0 else math.inf
        self.line = here.evaluation.along_evaluation(self.wide.mix(span.velocity)) if span.straight else None
        self.exact = span.straight
        self._last: tuple[float, Located] | None = None

    def at(self, s: float) -> Located:
        if self._last is None or self._last[0] != s:
            T, R, turn = self.span.mixing(s)
            still = self.span.block is None
            frame = self.here.frame if still else self.wide.mix(T)
            assert frame is not None
            at = frame.mix(R)
            point = self.span.point_at(frame.factor, R, at.factor)
            self._last = (s, Located(point, at, frame, self.here.age + 1, turn))
        return self._last[1]

    def value(self, s: float) -> float:
        if self.line is None:
            return super().value(s)
        return self.finite(self.line.value(s), s)

    def curvature(self, s: float) -> float | None:
        line, T = self.tangent(), self.span.velocity
        if line.coefficients is not None:
            size = norm(T.T @ T)
            return 2.0 * float(line.coefficients[4]) / size**2 if size > 0.0 else None
        Y = s * T
        Y[: len(self.here.point.R)] += self.here.point.R
        along = Y.T @ T
        moved = 2.0 * float(np.sum((T.T @ T) * (Y.T @ Y)) + np.sum(along * along.T))
        return line.derivatives(s)[1] / moved if moved > 0.0 else None

    def tangent(self) -> LineModel:
        if self.line is not None:
            return self.line
        return self.here.evaluation.along_evaluation(self.wide.mix(self.span.velocity))


class MixingPath(Path):
    """Curves Y T(s) for a small T: trial points combine images, no application at all."""

    def __init__(self, geometry: Any, here: Located, vector: Any) -> None:
        self.geometry, self.here, self.vector = geometry, here, vector
        self.longest = geometry.longest_step(vector)

    def at(self, s: float) -> Located:
        moved = self.here.evaluation.mix(self.geometry.mixing(self.vector, s))
        return Located(self.geometry.point_of(moved.factor), moved, age=self.here.age + 1)

    def tangent(self) -> LineModel:
        return self.here.evaluation.along(self.geometry.velocity(self.here.point, self.vector))


class RetractionPath(Path):
    """Any retraction: one evaluation per trial."""

    def __init__(self, problem: Problem, geometry: Geometry, here: Located, vector: Any) -> None:
        self.problem, self.geometry, self.here, self.vector = problem, geometry, here, vector
        self._last: tuple[float, Located] | None = None

    def at(self, s: float) -> Located:
        if self._last is None or self._last[0] != s:
            point = self.geometry.retract(self.here.point, s * self.vector)
            self._last = (s, Located(point, self.problem.at(self.geometry.factor(point))))
        return self._last[1]

    def tangent(self) -> LineModel:
        return self.here.evaluation.along(self.geometry.velocity(self.here.point, self.vector))  # type: ignore[attr-defined]


def path_along(problem: Problem, geometry: Geometry, here: Located, vector: Any, straight: bool = False) -> Path:
    """The cheapest curve s ↦ R(point, s vector) that the geometry allows.

    `straight`: where the geometry offers, besides its retraction, that of straight lines of the factor, take it.
    """
    if Ability.STRAIGHT in geometry.abilities:
        return LinePath(here, vector)
    if here.frame is not None:
        if here.age >= REFRESH_STEPS:
            here = locate(problem, geometry, geometry.orthonormalized(here.point))  # type: ignore[attr-defined]
        return SpanPath(here, geometry.span(here.point, vector, straight))  # type: ignore[attr-defined]
    if getattr(geometry, "metric", None) == "affine-invariant":
        fresh = here if here.age < REFRESH_STEPS else locate(problem, geometry, here.point)
        return MixingPath(geometry, fresh, vector)
    return RetractionPath(problem, geometry, here, vector)


def halved(path: Path, value: float, slope: float, first: float, sufficient: float, shrink: float = 0.5) -> float:
    """The first of first, first·shrink, ... with F(s) <= F(0) + sufficient · s · slope; 0.0 if there is none.

    Meyer et al., eq. (22) with the sign that makes it a decrease: slope = −|grad|² along −grad. Decreases
    below the rounding of F count as met, so that a search next to the minimiser ends.
    """
    if not slope < 0.0:
        return 0.0
    noise = 8.0 * EPS * abs(value)
    s = min(first, path.longest)
    while s * -slope > noise * sufficient:
        trial = path.value(s)
        if trial <= value + sufficient * s * slope + (noise if -slope * s < 64.0 * noise else 0.0):
            return s
        s *= shrink
    return 0.0


def modelled(path: Path, value: float, slope: float, sufficient: float = 1e-4) -> float:
    """A step from the minimiser along the tangent line, corrected by what the curve shows; 0.0 if none decreases F.

    Where the curve is its tangent line that minimiser is the answer (inf if F is unbounded below along it). Else it
    is refined once by the parabola through F(0), F'(0) and F(s), if that moves it by more than a tenth, and halved
    until F decreases by `sufficient` of what the slope promises.
    """
    if not slope < 0.0:
        return 0.0
    s = path.tangent().minimize()
    if path.exact:
        return s
    if not 0.0 < s < math.inf:
        s = path.longest if math.isfinite(path.longest) else 1.0
    s = min(s, path.longest)
    trial = path.value(s)
    if math.isfinite(trial):
        excess = trial - value - slope * s
        better = -slope * s * s / (2.0 * excess) if excess > 0.0 else 2.0 * s
        better = min(max(better, 0.1 * s), 4.0 * s, path.longest)
        resolved = abs(slope) * s > 1e3 * EPS * abs(value)
        if resolved and abs(better - s) > 0.1 * s:
            second = path.value(better)
            if second < trial:
                s, trial = better, second
    return s if trial <= value + sufficient * s * slope else halved(path, value, slope, 0.5 * s, sufficient)
