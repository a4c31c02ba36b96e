"""Soft margins of linear measurements: the problem behind PSDBoost, its structure, and column generation.

:func:`psdopt.solve_smoothed` (module ``psdopt.running.smoothing``) belongs to this package, too, but
calls :func:`psdopt.solve` and is therefore imported from the top of the package only.
"""

from psdopt.margins.column_generation import ColumnGeneration, ColumnGenerationState
from psdopt.margins.loss import CappedMargin
from psdopt.margins.problem import MarginProblem
from psdopt.margins.structure import HasMargins, MarginStructure, MeasuredMargins, SignedSquares

__all__ = [
    "CappedMargin",
    "ColumnGeneration",
    "ColumnGenerationState",
    "HasMargins",
    "MarginProblem",
    "MarginStructure",
    "MeasuredMargins",
    "SignedSquares",
]
