"""Covariances with a sparse inverse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, DatasetSpec, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.covariance.orthant_newton import SparseInverse as SparseInverse
    from psdopt_plugins.covariance.orthant_newton import sparse_inverse as sparse_inverse
    from psdopt_plugins.covariance.precision import SparsePrecision as SparsePrecision
    from psdopt_plugins.covariance.problem import covariance_problem as covariance_problem
    from psdopt_plugins.covariance.report import linked_variables as linked_variables
    from psdopt_plugins.covariance.report import precision_report as precision_report

REFERENCE = "Olsen, Oztoprak, Nocedal, Rennie: Newton-like methods for sparse inverse covariance estimation"

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Sparse inverse covariances."""
    yield from ApplicationSpec(
        name="sparse-precision",
        factory=lazy.SparsePrecision,
        summary="direct links of variables, by a sparse inverse covariance",
        reference=REFERENCE,
        parameters=(Parameter("alpha", float, 0.01, "penalty, in units of S", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)),),
        report=lazy.precision_report,
        problem=lazy.covariance_problem,
        default_data="linked_variables",
        needs=DataNeeds(samples=2, symmetric=True),
    ).with_problem(
        summary="−log det W with W_ii = S_ii and |W_ij − S_ij| <= alpha, S a covariance",
        parameters=(Parameter("alpha", float, 0.01, "largest change of an entry"),),
        example=_example,
    )
    yield DatasetSpec(
        "linked_variables",
        lazy.linked_variables,
        "200 samples of 25 variables, each linked to the next (drawn, fixed seed)",
    )


def _example() -> Any:
    X = np.random.default_rng(0).standard_normal((30, 5))
    return lazy.covariance_problem(X.T @ X / len(X), 0.1)
