"""What is measured of Meyer et al.: names, headings, and why our figures are not theirs."""

from __future__ import annotations

from benchmarks.reproduction.experiments import Experiment, ExperimentSpec

REFERENCE = "Meyer, Bonnabel, Sepulchre: Regression on fixed-rank positive semidefinite matrices"
NO_NUMBERS = "The paper's figure has curves and no numbers: what agrees is their order."


def _figure_3() -> Experiment:
    from benchmarks.papers.regression_figures import subspace_learned

    return subspace_learned()


def _figure_4() -> Experiment:
    from benchmarks.papers.regression_figures import influence_of_weight

    return influence_of_weight()


def _figure_5() -> Experiment:
    from benchmarks.papers.regression_figures import online_against_batch

    return online_against_batch()


def _figure_6() -> Experiment:
    from benchmarks.papers.regression_kernels import digits

    return digits()


def _figure_7() -> Experiment:
    from benchmarks.papers.regression_kernels import usps

    return usps()


def _figure_8() -> Experiment:
    from benchmarks.papers.regression_metrics import full_rank

    return full_rank()


def _figure_9() -> Experiment:
    from benchmarks.papers.regression_metrics import low_rank

    return low_rank()


def _starts() -> Experiment:
    from benchmarks.papers.regression_starts import from_any_start

    return from_any_start()


def _race() -> Experiment:
    from benchmarks.papers.regression_race import against_pymanopt

    return against_pymanopt()


def _per_pass() -> Experiment:
    from benchmarks.papers.regression_race import polar_against_flat

    return polar_against_flat()


REGRESSION = (
    ExperimentSpec(
        "regression-figure-3",
        _figure_3,
        "the subspace learned, against the two leading principal directions",
        REFERENCE,
        paper="regression",
        title="Figure 3: subspace learned against fixed",
        differences=NO_NUMBERS,
    ),
    ExperimentSpec(
        "regression-figure-4",
        _figure_4,
        "test cost and steps of the printed gradient method against λ",
        REFERENCE,
        paper="regression",
        title="Figure 4: influence of λ",
        differences=NO_NUMBERS,
    ),
    ExperimentSpec(
        "regression-figure-5",
        _figure_5,
        "test cost against seconds, 80,000 samples, S₊(10, 50)",
        REFERENCE,
        paper="regression",
        title="Figure 5: online against batch",
        differences="Conjugate gradient with an exact search, which the paper does not have, is the fastest batch "
        "method here, and faster than online learning.",
    ),
    ExperimentSpec(
        "regression-figure-6",
        _figure_6,
        "kernels of 300 pen digits 3, 8, 9 against constraints and rank",
        REFERENCE,
        paper="regression",
        title="Figure 6, right: digits",
        differences=f"{NO_NUMBERS} λ = 0 keeps the range of the start, as LogDet-KL does in the paper.",
    ),
    ExperimentSpec(
        "regression-figure-7",
        _figure_7,
        "kernels of 2007 digits of USPS against constraints and rank",
        REFERENCE,
        paper="regression",
        title="Figure 7: USPS",
        differences=NO_NUMBERS,
    ),
    ExperimentSpec(
        "regression-figure-8",
        _figure_8,
        "5-NN errors of full-rank metrics on five sets",
        REFERENCE,
        paper="regression",
        title="Figure 8: full-rank metrics",
        differences=f"{NO_NUMBERS} ITML, which needs an environment of its own, is not among the learners.",
    ),
    ExperimentSpec(
        "regression-figure-9",
        _figure_9,
        "5-NN errors on isolet at rank 5, 10 and 20",
        REFERENCE,
        paper="regression",
        title="Figure 9: low-rank metrics",
        differences=NO_NUMBERS,
    ),
    ExperimentSpec(
        "regression-per-pass",
        _per_pass,
        "seconds of a step on the polar geometry and on the flat one",
        REFERENCE,
        paper="regression",
        title="Section 10.2: polar against flat per step",
        differences="The paper's are of a whole run at rank 6 with 100,000 constraints: 3.25 s flat, 47.30 s polar.",
    ),
    ExperimentSpec(
        "regression-pymanopt",
        _race,
        "seconds to the same cost, same start and rank",
        REFERENCE,
        paper="regression",
        title="Against pymanopt",
    ),
    ExperimentSpec(
        "regression-starts",
        _starts,
        "steps of the default method to a certificate from seven starts",
        REFERENCE,
        paper="regression",
        title="From any start",
    ),
)
