"""Report of an embedding: a true one is told from noise."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from psdopt import QuadraticSDP, solve
from psdopt.data.datasets import Dataset
from psdopt.plugins import RunOptions
from psdopt_plugins.manifold_learning.report import embedding_report


class Embedding(BaseEstimator):  # type: ignore[misc]
    """The first two coordinates of the samples, or noise, with a real Result."""

    def __init__(self, noise: bool = False, solver_options: dict[str, Any] | None = None) -> None:
        self.noise, self.solver_options = noise, solver_options

    def fit(self, X: Any, y: Any = None) -> Any:
        self.result_ = solve(QuadraticSDP(B=1.0, C=-(X @ X.T)), method=self.solver_options.get("method"))
        self.embedding_ = np.random.default_rng(1).standard_normal((len(X), 2)) if self.noise else X[:, :2]
        return self


def test_embedding_report_tells_a_true_embedding_from_noise() -> None:
    X = np.random.default_rng(0).standard_normal((40, 2))
    plane = Dataset("plane", np.column_stack([X, np.zeros(40)]), np.arange(40.0), common_unit=True)
    describe = lambda model: [("noise", str(model.noise))]  # noqa: E731
    true = embedding_report(Embedding(), plane, RunOptions(), describe)
    false = embedding_report(Embedding(noise=True), plane, RunOptions(), describe)
    assert dict(true.rows)["trustworthiness, embedding"] == "1.0000"
    assert dict(true.rows)["trustworthiness, 2 principal components"] == "1.0000"  # the plane itself
    assert float(dict(false.rows)["trustworthiness, embedding"]) < 0.8
    assert (dict(true.rows)["noise"], dict(false.rows)["noise"]) == ("False", "True")
    figure = true.figure()
    assert figure.axes[1].get_title() == "Embedding\ntrustworthiness 1.000"
    assert np.array_equal(figure.axes[1].collections[0].get_array(), np.arange(40.0))  # coloured along the numbers
