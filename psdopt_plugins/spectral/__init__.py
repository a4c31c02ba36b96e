"""Leading eigenpairs and the closest PSD matrix of rank k."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.spectral.estimator import TopKEigen as TopKEigen
    from psdopt_plugins.spectral.estimator import TopKProblem as TopKProblem
    from psdopt_plugins.spectral.estimator import topk_problem as topk_problem
    from psdopt_plugins.spectral.report import spectral_report as spectral_report

REFERENCE = "Yuan, Zhang, Ghanem: Low-rank optimization for quadratic SDP, section 2.1"

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Top-k eigenvalue approximation."""
    yield from ApplicationSpec(
        name="topk",
        factory=lazy.TopKEigen,
        summary="leading eigenpairs, and the closest PSD matrix of rank k",
        reference=REFERENCE,
        parameters=(
            Parameter("k", int, 1, "number of eigenpairs"),
            Parameter("guard", int, 4, "further columns that speed up convergence"),
        ),
        report=lazy.spectral_report,
        problem=lazy.topk_problem,
        default_data="digits",
        needs=DataNeeds(symmetric=True),
    ).with_problem(
        summary="|M − K|² − |K|² for a symmetric K of any sign",
        parameters=(Parameter("k", int, 1, "rank that is asked for"),),
        example=lambda: lazy.topk_problem(np.diag([4.0, -3.0, 2.0, 1.0]), 2),
    )
