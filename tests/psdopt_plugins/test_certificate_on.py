"""certificate_on: a proven bound on how far a learner is from the best matrix for the rows given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from psdopt import Certificate, TermSum, solve
from psdopt_plugins.metric_learning import LMNN, DistanceRegression
from psdopt_plugins.metric_learning.distance_regression import pair_distance_problem
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.pair_sampling import sampled_pairs
from psdopt_plugins.regression import PSDRegressor, psd_regression_problem

RNG = np.random.default_rng(3)
D = 5
X = RNG.standard_normal((600, D)) @ np.diag([1.0, 2.0, 1.0, 0.5, 1.0])
LABELS = RNG.integers(3, size=600)
X[:, 0] += 2.0 * LABELS
TARGETS = (X @ RNG.standard_normal(D)) ** 2 + 0.3 * RNG.standard_normal(600)
SEEN, OTHER = slice(0, 400), slice(400, 600)


PAIRS = sampled_pairs(LABELS[OTHER], 1.5, RNG)
TRIPLETS = (RNG.integers(50, size=(3, 400)) + np.array([[0], [50], [100]])).T


def regression() -> tuple[Any, dict[str, Any], TermSum]:
    learner = PSDRegressor(fit_intercept=False).partial_fit(X[SEEN], TARGETS[SEEN])
    return learner, {"X": X[OTHER], "y": TARGETS[OTHER]}, psd_regression_problem(X[OTHER], TARGETS[OTHER])


def with_intercept() -> tuple[Any, dict[str, Any], TermSum]:
    learner = PSDRegressor(fit_intercept=True).partial_fit(X[SEEN], TARGETS[SEEN] - 1.0)
    y = TARGETS[OTHER] - 1.0
    return learner, {"X": X[OTHER], "y": y}, psd_regression_problem(X[OTHER], y - learner.intercept_)


def distances() -> tuple[Any, dict[str, Any], TermSum]:
    learner = DistanceRegression(batch_size=256).partial_fit(X[SEEN], LABELS[SEEN])
    upper, lower = learner.bounds_
    problem = pair_distance_problem(X[OTHER], PAIRS, upper=upper, lower=lower)
    return learner, {"X": X[OTHER], "pairs": PAIRS}, problem


def neighbours() -> tuple[Any, dict[str, Any], TermSum]:
    learner = LMNN().partial_fit(X[SEEN], LABELS[SEEN])
    problem = lmnn_problem(X[OTHER], TRIPLETS[:, :2], TRIPLETS, learner.lam)
    return learner, {"X": X[OTHER], "triplets": TRIPLETS}, problem


CASES = [regression, with_intercept, distances, neighbours]


def is_sound(certificate: Certificate, least: float) -> bool:
    """Whether F(M) less the proven gap is no larger than the least value of F known."""
    assert certificate.gap is not None
    return bool(certificate.value - certificate.gap <= least + 1e-9 * abs(least))


@pytest.mark.parametrize("case", CASES)
def test_the_bound_is_below_the_minimum_over_the_rows_given(case: Any):
    learner, rows, problem = case()
    before = learner.components_.copy()
    certificate = learner.certificate_on(**rows)
    best = solve(problem, tol=1e-8)
    assert certificate.value == pytest.approx(problem.at(learner.components_.T).value, rel=1e-9)
    assert best.value < certificate.value
    assert is_sound(certificate, best.value)
    assert np.array_equal(learner.components_, before)
    # a bound that claims half of the true distance is found out
    assert not is_sound(replace(certificate, gap=0.5 * (certificate.value - best.value)), best.value)


@pytest.mark.parametrize("case", CASES)
def test_the_bound_says_something(case: Any):
    """Where learner and rows belong together it is at most thirty times the truth, and far away it says so."""
    learner, rows, problem = case()
    best = solve(problem, tol=1e-8).value
    certificate = learner.certificate_on(**rows)
    assert certificate.gap is not None
    assert certificate.gap <= 30.0 * (certificate.value - best)
    learner.components_ = learner.components_[:, ::-1] * 3.0
    far = learner.certificate_on(**rows)
    assert far.gap is not None
    assert far.gap > 3.0 * certificate.gap
    assert is_sound(far, best)


def test_more_batches_bring_a_smaller_bound_on_all_rows_seen():
    learner = PSDRegressor(fit_intercept=False)
    gaps = []
    for _ in range(3):
        learner.partial_fit(X, TARGETS)
        gaps.append(learner.certificate_on(X, TARGETS).gap_relative)
    assert gaps[2] < gaps[0]


def test_it_is_the_proof_of_the_fit_after_a_fit():
    learner = PSDRegressor(fit_intercept=False, solver_options={"tol": 1e-8}).fit(X, TARGETS)
    assert learner.certificate_on(X, TARGETS).gap_relative <= 1e-7


@pytest.mark.parametrize("learner", [PSDRegressor(), DistanceRegression(), LMNN()])
def test_a_learner_that_has_learned_nothing_refuses(learner: Any):
    with pytest.raises(NotFittedError):
        learner.certificate_on(X, LABELS)
