"""The state of column generation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array
from psdopt.margins.masters import Bundle
from psdopt.method import State


@dataclass(kw_only=True)
class ColumnGenerationState(State):
    """The best matrix so far (`point`, `evaluation`), the best dual so far (`dual`, `bound`), and the master.

    `bundle` holds the columns V (n, k) and the aggregate with their images; `weights`, Diag(θ, T) if there is an
    aggregate and T if not, and `answer_dual` w (m,) are the last master's solution. `gap` = F − bound; `rows` (m,)
    marks the margins in the master, `settled` is the gap when some could last leave it. `gradient_norm` is
    2 gap / |Y|: the gap in the units of the factor gradient.
    """

    bundle: Bundle
    weights: Array
    answer_dual: Array
    dual: Array | None = None
    bound: float = -math.inf
    gap: float = math.inf
    guess: Array | None = None
    rows: NDArray[np.bool_] | None = None
    settled: float = math.inf
    marked: float = math.inf
    slow: int = 0

    @property
    def columns(self) -> Array:
        """The generated columns V (n, k), unit vectors."""
        return self.bundle.columns

    @property
    def theta(self) -> Array:
        """Weights T (k, k) of the columns of the last master."""
        return self.bundle.block(self.weights)

    @property
    def aggregate(self) -> tuple[float, Array]:
        """θ and Ȳ (n, q), |Ȳ| = 1: M = V T Vᵀ + θ Ȳ Ȳᵀ, both times the trace. (0, (n, 0)) if nothing was aggregated."""
        q = self.bundle.aggregated
        return float(self.weights[0, 0]) if q else 0.0, self.bundle.evaluation.factor[:, :q]
