"""Linear regression with positive semidefinite parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.regression.estimator import PSDRegressor as PSDRegressor
    from psdopt_plugins.regression.online import psd_regression_stream as psd_regression_stream
    from psdopt_plugins.regression.problem import psd_regression_problem as psd_regression_problem
    from psdopt_plugins.regression.report import regression_report as regression_report

REFERENCE = "Meyer, Bonnabel, Sepulchre: Regression on fixed-rank positive semidefinite matrices"

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """PSD regression."""
    yield from ApplicationSpec(
        name="psd-regression",
        factory=lazy.PSDRegressor,
        summary="targets as quadratic forms xᵀWx with a low-rank W ⪰ 0",
        reference=REFERENCE,
        parameters=(
            Parameter("rank", int, None, "largest rank of W; none: no limit", (1, 2, 3, 4)),
            Parameter("geometry", str, "flat", "flat or polar"),
            Parameter("weight", float, 0.5, "of the polar metric: 0 keeps the range, 1 moves only the range"),
        ),
        report=lazy.regression_report,
        problem=lazy.psd_regression_problem,
        default_data="diabetes",
        needs=DataNeeds(samples=5, labels="numbers", blocks=True),
    ).with_problem(
        summary="1/(2m) Σ (tr(W X_i) − y_i)²",
        example=_example,
    )


def _example() -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    return lazy.psd_regression_problem(X, (X @ rng.standard_normal(5)) ** 2)
