"""Objects whose constructors change the arrays that they are given; right in every other respect."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.problems import QuadraticSDP
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measurements import QuadraticForms
from psdopt.testing.gallery import with_spectrum


class HalvesItsMatrix(QuadraticSDP):
    """|M|² + ⟨G, M⟩: the caller's G is halved in place."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.constructor_untouched",)

    def __init__(self, G: Array | None = None) -> None:
        self.G = with_spectrum(np.linspace(-2.0, 1.0, 4), 2) if G is None else G
        self.G *= 0.5
        super().__init__(None, 1.0, self.G)


class HalvesAndKeepsNothing(QuadraticSDP):
    """|M|² + 2 ⟨C, M⟩: the caller's C is halved in place, and only the library's own form of it is kept."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.constructor_untouched",)

    def __init__(self, C: Array | None = None) -> None:
        C = with_spectrum(np.linspace(-2.0, 1.0, 4), 2) if C is None else C
        C *= 0.5
        super().__init__(None, 1.0, C)


class CentresItsTargets(LeastSquares):
    """The caller's targets are centred in place, which a second time changes nothing."""

    rejected_by: ClassVar[tuple[str, ...]] = ("loss.constructor_untouched",)

    def __init__(self, goals: Array | None = None) -> None:
        self.goals = np.linspace(-1.0, 1.0, 5) if goals is None else goals
        self.goals -= self.goals.mean()
        super().__init__(self.goals)


class ScalesItsRows(QuadraticForms):
    """The caller's rows are brought to length one in place."""

    rejected_by: ClassVar[tuple[str, ...]] = ("measurement.constructor_untouched",)

    def __init__(self, rows: Array | None = None) -> None:
        self.rows = np.random.default_rng(8).standard_normal((6, 4)) if rows is None else rows
        self.rows /= np.linalg.norm(self.rows, axis=1, keepdims=True)
        super().__init__(self.rows)


PROBLEMS: tuple[type[Any], ...] = (HalvesItsMatrix, HalvesAndKeepsNothing)
LOSSES: tuple[type[Any], ...] = (CentresItsTargets,)
MEASUREMENTS: tuple[type[Any], ...] = (ScalesItsRows,)
