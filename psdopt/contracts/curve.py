"""Curves of a geometry whose factors combine a few arrays, so that F along them costs one application."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from psdopt.linalg.arrays import Array


@dataclass(frozen=True)
class Mixture:
    """A point of a curve: its frame is [frame, block] `frame`, and its factor is this new frame times `factor`.

    `frame` None: the frame has not moved. `factor` None: the factor is the frame. `turn` (r, r), orthogonal: the smooth
    curve of factors from the start Y passes through (factor here) · turnᵀ; None if unknown.
    """

    frame: Array | None
    factor: Array | None
    turn: Array | None = None


class FactorCurve(ABC):
    """s ↦ R(point, s vector) with factors in the span of [frame, block], frame (n, r) and block (n, k).

    The frame is the one that :meth:`psdopt.Geometry.frame` returns for the point, or else its factor. F at any s
    follows from the images of frame and block under the linear maps of a problem, which are computed once.

    Attributes: `block`, or None if no new columns are needed; `velocity` T with Ẏ = [frame, block] T; `start`, the
    factor of the point in the frame (the identity if the frame is the factor); `longest`, the largest s allowed;
    `straight`, whether F on the curve equals F on the line Y + s Ẏ; `orthonormal`, whether [frame, block] has
    orthonormal columns, so that |Ẏ| = |T|.
    """

    block: Array | None = None
    longest: float = math.inf
    straight: bool = False
    orthonormal: bool = False
    velocity: Array
    start: Array

    @abstractmethod
    def mixture(self, s: float) -> Mixture:
        """The point of the curve at s. Its cost does not depend on n."""

    @abstractmethod
    def point(self, frame: Array, mixture: Mixture, factor: Array) -> Any:
        """The point with that frame and factor, both computed already."""
