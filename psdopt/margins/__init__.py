"""Soft margins of linear measurements: the problem behind PSDBoost, its structure, and column generation.

:func:`psdopt.solve_smoothed` runs other methods on such a problem; it is with the runs, ``psdopt.running.smoothing``.
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
