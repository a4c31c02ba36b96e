"""The plugin's door: what it contributes, with small examples for the conformance kit."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from nearest_correlation.estimator import LowRankCorrelation
from nearest_correlation.geometry import UnitDiagonal
from nearest_correlation.picture import draw_correlation
from nearest_correlation.problem import nearest_correlation_problem
from psdopt.plugins import ApplicationSpec, GeometrySpec, Parameter, ProblemSpec, Spec, hookimpl

__all__ = ["LowRankCorrelation", "UnitDiagonal", "nearest_correlation_problem", "psdopt_components"]

REFERENCE = "Grubisic, Pietersz (2007): Efficient rank reduction of correlation matrices"
_RANK = Parameter("rank", int, 2, "largest rank of the correlation matrix")


def example_problem():
    """Order 4, not positive semidefinite, one entry weighted down."""
    G = np.array([[1.0, 0.9, -0.6, 0.1], [0.9, 1.0, 0.8, 0.2], [-0.6, 0.8, 1.0, 0.3], [0.1, 0.2, 0.3, 1.0]])
    W = np.ones((4, 4))
    W[0, 2] = W[2, 0] = 0.5
    return nearest_correlation_problem(G, W)


@hookimpl
def psdopt_components() -> Iterator[Spec]:
    """A problem, a geometry and an application."""
    yield ProblemSpec(
        "nearest-correlation", nearest_correlation_problem, "min 1/2 |W o (M - G)|^2 over M >= 0", REFERENCE,
        example=example_problem,
    )  # fmt: skip
    yield GeometrySpec(
        "unit-diagonal", UnitDiagonal, "correlation matrices of rank at most r", REFERENCE,
        (Parameter("r", int, 2, "rank"),), partial(UnitDiagonal, 6, 3),
    )  # fmt: skip
    yield ApplicationSpec(
        "low-rank-correlation", LowRankCorrelation, "correlation of the columns of X, of low rank", REFERENCE,
        (_RANK,), partial(LowRankCorrelation, 2), picture=draw_correlation, default_data="wine",
    )  # fmt: skip
