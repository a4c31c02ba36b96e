"""Report of a regression: measured on samples that were kept back."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from psdopt import solve
from psdopt.data.datasets import Dataset
from psdopt.errors import InvalidInputError
from psdopt.plugins import RunOptions
from psdopt_plugins.regression import psd_regression_problem
from psdopt_plugins.regression.report import regression_report


class Quadratic(BaseEstimator):  # type: ignore[misc]
    """y = |components x|², by least squares over M ⪰ 0."""

    def __init__(self, offset: float = 0.0, solver_options: dict[str, Any] | None = None) -> None:
        self.offset, self.solver_options = offset, solver_options

    def fit(self, X: Any, y: Any) -> Any:
        self.result_ = solve(psd_regression_problem(X, y))
        self.components_ = self.result_.matrix.factor.T
        return self

    def predict(self, X: Any) -> Any:
        return self.result_.matrix.quadratic_form(X) + self.offset

    def score(self, X: Any, y: Any) -> float:
        return -float(np.sum((self.predict(X) - y) ** 2))


def test_regression_report_measures_what_it_says() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] + 0.5) ** 2 + X[:, 1] ** 2
    data = Dataset("bowl", X, y)
    report = regression_report(Quadratic(), data, RunOptions(grid={"offset": (5.0, 0.0), "other": (1, 2)}))
    found = dict(report.rows)
    r2, error = found["test R² (error), learned"].rstrip(")").split(" (")
    assert r2 == "1.0000"
    assert float(error) <= 1e-2 * float(np.std(y))
    assert float(found["test R² (error), linear"].split()[0]) < 0.9
    assert found["offset, by 5-fold cross-validation"] == "0.0 of 5.0, 0.0"
    panel = report.figure().axes[0]
    measured, predicted = np.asarray(panel.collections[0].get_offsets()).T
    assert np.abs(measured - predicted).max() <= 1e-2 * np.ptp(y)
    assert len(measured) == 18


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (Dataset("d", np.eye(6)), "d has no numbers y to predict, which this application needs"),
        (Dataset("d", np.eye(2), ["a", "b"]), "d has no numbers y to predict, which this application needs"),
        (Dataset("d", np.eye(4), np.arange(4.0)), "d: needs at least 5 samples; found 4"),
    ],
)
def test_regression_report_refuses_data_without_numbers(data: Dataset, text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        regression_report(Quadratic(), data, RunOptions())
    assert str(caught.value) == text
