"""Manifold learning: maximum variance unfolding, and multidimensional scaling by SSTRESS."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, MethodSpec, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges as nearest_neighbour_edges
    from psdopt_plugins.manifold_learning.mvu import MaximumVarianceUnfolding as MaximumVarianceUnfolding
    from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem as mvu_problem
    from psdopt_plugins.manifold_learning.report import embedding_report as embedding_report
    from psdopt_plugins.manifold_learning.sstress import SSTRESS as SSTRESS
    from psdopt_plugins.manifold_learning.sstress import sstress_problem as sstress_problem
    from psdopt_plugins.manifold_learning.unfolding_newton import UnfoldingNewton as UnfoldingNewton

REFERENCE = "Hao, Yuan, Ghanem: BILGO, section 5.2"
SSTRESS_REFERENCE = "Meyer, Bonnabel, Sepulchre: Regression on fixed-rank PSD matrices, section 8"

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Maximum variance unfolding, and SSTRESS."""
    yield from ApplicationSpec(
        name="mvu",
        factory=lazy.MaximumVarianceUnfolding,
        summary="embedding that unfolds a surface and keeps local distances",
        reference=f"{REFERENCE}, eq. 11",
        parameters=(
            Parameter("n_components", int, 2, "columns of the embedding"),
            Parameter("n_neighbors", int, None, "neighbours joined to each sample; none: 12, or all of fewer"),
            Parameter("nu", float, None, "tension; none: from edge_error"),
            Parameter("edge_error", float, 0.003, "median relative error of edge lengths that is allowed"),
            Parameter(
                "disconnected", str, "connect", "connect a graph in pieces, refuse it, or unfold them separate-ly"
            ),
        ),
        # for any samples: unconnected blobs must not be an error
        example=partial(lazy.MaximumVarianceUnfolding, disconnected="separate"),
        report=partial(lazy.embedding_report, describe=_edge_errors),
        problem=lazy.mvu_problem,
        default_data="swiss_roll",
        needs=DataNeeds(samples=4),
    ).with_problem(
        summary="squared errors of edge lengths minus nu times the variance",
        parameters=(Parameter("nu", float, None, "weight of the variance"),),
        example=_example,
    )
    yield from ApplicationSpec(
        name="sstress",
        factory=lazy.SSTRESS,
        summary="positions from squared distances, some of them missing",
        reference=SSTRESS_REFERENCE,
        parameters=(Parameter("n_components", int, 2, "columns of the embedding"),),
        report=partial(lazy.embedding_report, describe=_stress),
        problem=lazy.sstress_problem,
        default_data="wine",
        needs=DataNeeds(samples=4, sparse=False),
    ).with_problem(
        summary="1/(2m) Σ (|g_i − g_j|² − delta_ij)², M = G Gᵀ",
        example=_sstress_example,
    )
    yield MethodSpec(
        name="unfolding-newton",
        factory=lazy.UnfoldingNewton,
        summary="primal-dual Newton steps, the Hessian a sparse block matrix on the graph",
        reference="Sun, Boyd, Xiao, Diaconis: The fastest mixing Markov process on a graph (the dual)",
        parameters=(Parameter("columns", int, 0, "most columns of Y; 0: as many as the gap asks for"),),
        example=lazy.UnfoldingNewton,
    )


def _edge_errors(model: MaximumVarianceUnfolding) -> list[tuple[str, str]]:
    shares = model.eigenvalues_ / model.eigenvalues_.sum()
    added = [("edges added", f"{model.edges_added_}, to connect the graph of neighbours")] if model.edges_added_ else []
    return [
        *added,
        ("variance in the first axes", ", ".join(f"{100 * share:.1f} %" for share in shares[:4])),
        ("tension nu", f"{model.nu_:.4g}"),
        (
            "edge length error",
            f"median {100 * model.edge_error_median_:.2g} %, worst {100 * model.edge_error_max_:.2g} %",
        ),
    ]


def _stress(model: SSTRESS) -> list[tuple[str, str]]:
    from psdopt_plugins.manifold_learning.sstress import relative_stress

    share, plane = relative_stress(model)
    return [("SSTRESS, of the sum of d⁴", f"{share:.3g}; 2 principal components {plane:.3g}")]


def _example() -> Any:
    X = np.random.default_rng(0).standard_normal((12, 2))
    return lazy.mvu_problem(lazy.nearest_neighbour_edges(X, 5).matrix(), 0.1)


def _sstress_example() -> Any:
    X = np.random.default_rng(0).standard_normal((8, 2))
    delta = np.sum((X[:, None] - X) ** 2, axis=2)
    delta[0, 7] = delta[7, 0] = np.nan
    return lazy.sstress_problem(delta)
