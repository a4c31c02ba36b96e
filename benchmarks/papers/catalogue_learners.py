"""Metric learners at their defaults, beside scikit-learn's and metric-learn's."""

from __future__ import annotations

from benchmarks.reproduction.experiments import Experiment, ExperimentSpec


def _learners() -> Experiment:
    from benchmarks.papers.learner_race import learners

    return learners()


def _links() -> Experiment:
    from benchmarks.papers.link_race import links

    return links()


LEARNERS = (
    ExperimentSpec(
        "learners-errors",
        _learners,
        "3-NN error and seconds of every metric learner at its defaults, on twelve sets",
        "Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood components analysis (2004)",
        paper="learners",
        title="Errors at the defaults",
    ),
    ExperimentSpec(
        "learners-links",
        _links,
        "adjusted Rand index of clusters from links at the defaults, on eight sets",
        "Wagstaff, Cardie, Rogers, Schroedl: Constrained k-means clustering with background knowledge (2001)",
        paper="learners",
        title="Clusters from links",
    ),
)
