"""Reports: what every run tells, its options, and records."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import psdopt
from psdopt import ConjugateGradient, PSDCone
from psdopt.data.datasets import Dataset
from psdopt.errors import InvalidInputError
from psdopt.reports.general import fit_report
from psdopt.reports.options import RunOptions
from psdopt.reports.record import Report, Table
from psdopt_plugins.kernel_learning.distance_kernel import DistanceKernel
from psdopt_plugins.kernel_learning.pairwise_estimator import PairwiseKernel
from psdopt_plugins.kernel_learning.report import kernel_report
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression
from psdopt_plugins.metric_learning.report import metric_report
from tests.cli.fakes import blobs


class Nearest(BaseEstimator):
    """The PSD matrix nearest to Xᵀ diag(y) X."""

    def __init__(self, solver_options=None):
        self.solver_options = solver_options

    def fit(self, X, y):
        self.result_ = psdopt.solve(psdopt.QuadraticSDP(B=1.0, C=-X.T @ (y[:, None] * X)), **self.solver_options or {})
        return self


class Plain(Nearest):
    def __init__(self):
        super().__init__()


def dataset():
    rng = np.random.default_rng(0)
    return Dataset("drawn", rng.standard_normal((6, 4)), rng.standard_normal(6))


def test_the_report_tells_data_run_and_certificate():
    report = fit_report(Nearest(), dataset(), RunOptions(rank=2))
    rows = dict(report.rows)
    assert report.title == "Nearest on drawn"
    assert rows["data"] == "drawn: 6 samples, 4 features"
    assert report.success is report.result.converged is True
    assert report.result.matrix.factor.shape[1] <= 2
    assert [table.title for table in report.tables] == ["Optimality certificate, with S = ∇F(M)"]
    assert len(report.figure().axes) == 2


def test_a_picture_gets_the_fitted_estimator_the_data_and_the_run():
    seen = {}

    def draw(estimator, data, **run):
        seen.update(run, estimator=estimator, data=data)
        return "figure"

    data = dataset()
    report = fit_report(Nearest(), data, RunOptions(), draw)
    assert report.figure() == "figure"
    assert seen["data"] is data
    assert seen["estimator"].result_ is report.result is seen["result"]
    assert set(seen) == {"estimator", "data", "result", "certificates", "best", "tol", "title"}


def test_options_that_cannot_reach_the_solver_are_refused():
    assert fit_report(Plain(), dataset(), RunOptions()).success
    with pytest.raises(InvalidInputError, match="Plain takes no solver_options, through which a run sets tol"):
        fit_report(Plain(), dataset(), RunOptions(tol=1e-3))


def test_options_for_the_solver() -> None:
    settings = {"tol": 1e-4, "max_iterations": 7, "max_time": 2.0, "seed": 5, "progress": False}
    options = RunOptions(**settings).solver_options(6)
    chosen = RunOptions(**settings, default_method=ConjugateGradient()).solver_options(6)
    assert chosen == {**options, "method": ConjugateGradient()}
    assert options == {
        "tol": 1e-4, "max_iterations": 7, "max_time": 2.0, "callback": None, "progress": False, "rng": 5,
    }  # fmt: skip
    assert repr(RunOptions(rank=2).solver_options(6)["geometry"]) == "FlatQuotient(n=6, r=2)"
    cone = RunOptions(geometry=PSDCone).solver_options(6)
    assert repr(cone["geometry"]) == "PSDCone(n=6)"
    assert "method" not in cone  # left to solve(), which knows what fits
    with pytest.raises(InvalidInputError) as caught:
        RunOptions(rank=7).solver_options(6)
    assert str(caught.value) == "rank must lie between 1 and the order n = 6; found 7"


@pytest.mark.parametrize(
    ("report", "make"),
    [
        (kernel_report, PairwiseKernel),
        (kernel_report, lambda **given: DistanceKernel(rank=2, alpha=0.99, **given)),
        (metric_report, DistanceRegression),
    ],
)
def test_pairs_that_an_estimator_samples_are_drawn_by_the_seed(report, make) -> None:
    def value(options: RunOptions, **given: Any) -> float:
        return float(report(make(**given), blobs(), options).result.value)

    first = value(RunOptions(seed=1))
    assert value(RunOptions(seed=1)) == first
    assert value(RunOptions(seed=2)) != first
    assert value(RunOptions(seed=1), random_state=7) != first  # a seed of its own is not overruled


def test_no_tolerance_leaves_the_estimators_own():
    assert "tol" not in RunOptions().solver_options(6)
    assert RunOptions(tol=1e-3).solver_options(6)["tol"] == 1e-3


def test_a_report_has_no_tables_figures_or_arrays_unless_given():
    result = psdopt.solve(psdopt.QuadraticSDP(B=1.0, C=-np.eye(2)))
    first, second = (Report("title", [("a", "b")], result, True) for _ in range(2))
    assert (first.tables, first.figure, dict(first.arrays)) == ((), None, {})
    assert first.arrays is not second.arrays


def test_records_are_frozen():
    table = Table("title", ["column"], [["cell"]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.title = "another"
