"""The general report: rows of the data and the run, the certificate, and a picture of what was fitted."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import psdopt
from psdopt.data.datasets import Dataset
from psdopt.errors import InvalidInputError
from psdopt.reports.general import fit_report
from psdopt.reports.options import RunOptions


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
