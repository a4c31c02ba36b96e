"""Semidefinite relaxations with certified bounds, on constrained problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, DatasetSpec, Parameter, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.relaxations.communities import CommunityDetection as CommunityDetection
    from psdopt_plugins.relaxations.communities_problem import modularity_problem as modularity_problem
    from psdopt_plugins.relaxations.correlation import NearestCorrelation as NearestCorrelation
    from psdopt_plugins.relaxations.correlation_problem import correlation_problem as correlation_problem
    from psdopt_plugins.relaxations.correlation_report import correlation_report as correlation_report
    from psdopt_plugins.relaxations.correlation_report import gappy_correlations as gappy_correlations
    from psdopt_plugins.relaxations.graph_reports import communities_report as communities_report
    from psdopt_plugins.relaxations.graph_reports import maxcut_report as maxcut_report
    from psdopt_plugins.relaxations.graph_reports import theta_report as theta_report
    from psdopt_plugins.relaxations.graphs import planted_graph as planted_graph
    from psdopt_plugins.relaxations.graphs import random_graph as random_graph
    from psdopt_plugins.relaxations.graphs import torus_graph as torus_graph
    from psdopt_plugins.relaxations.maxcut import MaxCut as MaxCut
    from psdopt_plugins.relaxations.maxcut import maxcut_problem as maxcut_problem
    from psdopt_plugins.relaxations.rounding import hyperplane_cut as hyperplane_cut
    from psdopt_plugins.relaxations.sensors import Localization as Localization
    from psdopt_plugins.relaxations.sensors import SensorLocalization as SensorLocalization
    from psdopt_plugins.relaxations.sensors import localize_sensors as localize_sensors
    from psdopt_plugins.relaxations.sensors_problem import sensor_problem as sensor_problem
    from psdopt_plugins.relaxations.sensors_report import sensor_network as sensor_network
    from psdopt_plugins.relaxations.sensors_report import sensors_report as sensors_report
    from psdopt_plugins.relaxations.theta import LovaszTheta as LovaszTheta
    from psdopt_plugins.relaxations.theta import lovasz_theta as lovasz_theta
    from psdopt_plugins.relaxations.theta import theta_problem as theta_problem

CUT_REFERENCE = "Goemans, Williamson: Improved approximation algorithms for maximum cut"
CORRELATION_REFERENCE = "Qi, Sun: A quadratically convergent Newton method for computing the nearest correlation matrix"
THETA_REFERENCE = "Lovász: On the Shannon capacity of a graph"
SENSOR_REFERENCE = "Biswas, Ye: Semidefinite programming for ad hoc wireless sensor network localization"
MODULARITY_REFERENCE = "Newman: Modularity and community structure in networks"
#: A symmetric matrix, or samples from which one is made.
MATRIX = DataNeeds(samples=2, symmetric=True)
DRAWN = {
    "planted_graph": "150 vertices in three groups, denser within",
    "random_graph": "50 vertices, each pair joined with probability 0.2",
    "gappy_correlations": "correlations of 40 series with gaps, pair by pair",
    "sensor_network": "noisy distances of 60 sensors and 5 anchors in a unit square",
    "torus_graph": "256 vertices of a 16 × 16 torus, 512 edges of weight 1 or -1",
}

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Largest cut, nearest correlation matrix, theta number, communities, positions of sensors."""
    yield from ApplicationSpec(
        name="maxcut",
        factory=lazy.MaxCut,
        summary="a heavy cut of a graph, and a bound that no cut exceeds",
        reference=CUT_REFERENCE,
        parameters=(
            Parameter("trials", int, 100, "random hyperplanes"),
            Parameter("improve", bool, True, "move single vertices afterwards"),
        ),
        report=lazy.maxcut_report,
        problem=lazy.maxcut_problem,
        default_data="torus_graph",
        needs=MATRIX,
    ).with_problem(
        summary="¼ ⟨W, M⟩ − ¼ eᵀW e with M_ii = 1, W the weights of a graph",
        example=lambda: lazy.maxcut_problem(_cycle(7)),
    )
    yield from ApplicationSpec(
        name="nearest-correlation",
        factory=lazy.NearestCorrelation,
        summary="correlation matrix nearest to a symmetric matrix",
        reference=CORRELATION_REFERENCE,
        report=lazy.correlation_report,
        problem=lazy.correlation_problem,
        default_data="gappy_correlations",
        needs=MATRIX,
    ).with_problem(
        name="weighted-correlation",
        summary="½ |W ∘ (M − G)|² with M_ii = 1",
        example=lambda: lazy.correlation_problem(_cycle(6)),
    )
    yield from ApplicationSpec(
        name="lovasz-theta",
        factory=lazy.LovaszTheta,
        summary="theta number of a graph, proven, and an independent set",
        reference=THETA_REFERENCE,
        report=lazy.theta_report,
        problem=lazy.theta_problem,
        default_data="random_graph",
        needs=MATRIX,
    ).with_problem(
        summary="−eᵀM e with tr M = 1 and M_ij = 0 on the edges of a graph",
        example=lambda: lazy.theta_problem(_cycle(7)),
    )
    yield from ApplicationSpec(
        name="communities",
        factory=lazy.CommunityDetection,
        summary="communities of a graph, and a proven bound on modularity",
        reference=MODULARITY_REFERENCE,
        parameters=(
            Parameter("n_clusters", int, None, "most communities; default: chosen by modularity"),
            Parameter("n_neighbors", int, 10, "of the graph of samples"),
            Parameter("resolution", float, 1.0, "above 1 favours small communities"),
        ),
        report=lazy.communities_report,
        problem=lazy.modularity_problem,
        default_data="planted_graph",
        needs=MATRIX,
    ).with_problem(
        summary="−⟨B, M⟩/(2w) with M_ii = 1, B the modularity matrix of a graph",
        parameters=(Parameter("resolution", float, 1.0, "weight of the null model"),),
        example=lambda: lazy.modularity_problem(_cycle(7)),
    )
    yield from ApplicationSpec(
        name="sensor-localization",
        factory=lazy.SensorLocalization,
        summary="positions of sensors from distances and a few anchors",
        reference=SENSOR_REFERENCE,
        parameters=(
            Parameter("anchors", str, None, "a file of the anchors' positions, the last nodes: .npy or .csv"),
            Parameter("error", float, None, "largest relative error of a distance, as a hard constraint"),
            Parameter("refine", bool, True, "least squares on the distances afterwards"),
        ),
        example=lambda: lazy.SensorLocalization([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], solver_options={"tol": 0.1}),
        report=lazy.sensors_report,
        problem=lazy.sensor_problem,
        default_data="sensor_network",
        needs=MATRIX,
    ).with_problem(
        summary="Σ (x_tᵀ Z x_t − distance_t²)² with Z = [I, P; Pᵀ, Q], columns of P the positions",
        example=_three_sensors,
    )
    for name, summary in DRAWN.items():
        yield DatasetSpec(name, getattr(lazy, name), f"{summary} (drawn, fixed seed)")


def _cycle(n: int) -> np.ndarray:
    shift = np.roll(np.eye(n), 1, axis=1)
    return shift + shift.T


def _three_sensors() -> Any:
    nodes = np.array([[0.2, 0.3], [0.6, 0.4], [0.4, 0.8], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    i, j = np.triu_indices(6, 1)
    pairs = np.column_stack([i, j])[i < 3]
    lengths = np.linalg.norm(nodes[pairs[:, 0]] - nodes[pairs[:, 1]], axis=1)
    return lazy.sensor_problem(3, pairs, lengths, nodes[3:])
