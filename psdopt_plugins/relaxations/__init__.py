"""Semidefinite relaxations with certified bounds, on constrained problems."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, DatasetSpec, Parameter, ProblemSpec, Spec, hookimpl
from psdopt_plugins.relaxations.graph_data import torus_graph
from psdopt_plugins.relaxations.graph_reports import maxcut_report
from psdopt_plugins.relaxations.maxcut import MaxCut
from psdopt_plugins.relaxations.maxcut_problem import maxcut_problem
from psdopt_plugins.relaxations.rounding import hyperplane_cut

__all__ = ["MaxCut", "hyperplane_cut", "maxcut_problem", "psdopt_components"]

CUT_REFERENCE = "Goemans, Williamson: Improved approximation algorithms for maximum cut"
GRAPH = DataNeeds(samples=2, symmetric=True)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Largest cut."""
    yield ApplicationSpec(
        name="maxcut",
        factory=MaxCut,
        summary="a heavy cut of a weighted graph, with a proven share of the heaviest",
        reference=CUT_REFERENCE,
        parameters=(
            Parameter("trials", int, 100, "random hyperplanes"),
            Parameter("improve", bool, True, "move single vertices afterwards"),
        ),
        example=MaxCut,
        report=maxcut_report,
        problem=maxcut_problem,
        default_data="torus_graph",
        needs=GRAPH,
    )
    yield ProblemSpec(
        name="maxcut",
        factory=maxcut_problem,
        summary="¼ ⟨W, M⟩ − ¼ eᵀW e with M_ii = 1, W the weights of a graph",
        reference=CUT_REFERENCE,
        example=lambda: maxcut_problem(_cycle(7)),
    )
    yield DatasetSpec(
        "torus_graph", torus_graph, "256 vertices of a 16 × 16 torus, 512 edges of weight 1 or -1 (drawn, fixed seed)"
    )


def _cycle(n: int) -> np.ndarray:
    shift = np.roll(np.eye(n), 1, axis=1)
    return shift + shift.T
