"""Metric learners at their defaults, beside scikit-learn's and metric-learn's."""

from __future__ import annotations

from benchmarks.reproduction.experiments import Experiment, ExperimentSpec


def _learners() -> Experiment:
    from benchmarks.papers.learner_race import learners

    return learners()


LEARNERS = (
    ExperimentSpec(
        "learners-errors",
        _learners,
        "3-NN error and seconds of every metric learner at its defaults, on twelve sets",
        "Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood components analysis (2004)",
        paper="learners",
        title="Errors at the defaults",
    ),
)
