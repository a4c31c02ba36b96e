"""The papers that psdopt implements: their experiments, measured again by ``psdopt reproduce``, and their algorithms.

The algorithms here are as the papers print them, where the library's own is another: :func:`psdopt.solve` never
chooses them.
"""

from __future__ import annotations

from collections.abc import Iterable

from psdopt.plugins import MethodSpec, Parameter, Spec, hookimpl
from psdopt_plugins.papers.catalogue_bilgo import BILGO
from psdopt_plugins.papers.catalogue_kl_admm import KL_ADMM
from psdopt_plugins.papers.catalogue_lro import LRO
from psdopt_plugins.papers.catalogue_psdboost import PSDBOOST
from psdopt_plugins.papers.catalogue_regression import REGRESSION
from psdopt_plugins.papers.catalogue_sdp import SDP
from psdopt_plugins.papers.linear_program import Answer, LinearProgram, Unsolved
from psdopt_plugins.papers.matrix_generation import MatrixGeneration, MatrixGenerationState
from psdopt_plugins.papers.stabilizer import Smoothing, Stabilizer

__all__ = [
    "Answer",
    "LinearProgram",
    "MatrixGeneration",
    "MatrixGenerationState",
    "Smoothing",
    "Stabilizer",
    "Unsolved",
    "psdopt_components",
]


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Tables and figures, paper by paper; what measures them is imported when it is asked for. Methods as printed."""
    yield from (*BILGO, *KL_ADMM, *LRO, *PSDBOOST, *REGRESSION, *SDP)
    yield MethodSpec(
        "matrix-generation",
        MatrixGeneration,
        "PSDBoost's own algorithm: one column a round, weights by a linear program",
        "Shen, Welsh, Wang (2008), algorithm 1",
        (
            Parameter("stabilization", str, "smoothing", "smoothing of the duals, or none as printed"),
            Parameter("columns", int, 1, "new columns per round"),
            Parameter("max_columns", int, None, "most columns kept; the others are aggregated"),
        ),
        MatrixGeneration,
    )
