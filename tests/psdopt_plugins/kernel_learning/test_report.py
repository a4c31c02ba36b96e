"""Report of a kernel learner: alignment, purity, both pictures."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from psdopt import ConjugateGradient, QuadraticSDP, solve
from psdopt.errors import InvalidInputError
from psdopt.plugins import RunOptions
from psdopt_plugins.kernel_learning.report import alignment, cluster_purity, kernel_report
from tests.cli.fakes import blobs


class Kernel(BaseEstimator):  # type: ignore[misc]
    """K close to the class indicator, by the closed form or by descent."""

    def __init__(self, order: int | None = None, solver_options: dict[str, Any] | None = None) -> None:
        self.order, self.solver_options = order, solver_options

    def fit(self, X: Any, y: Any) -> Any:
        T = (y[:, None] == y[None, :]).astype(float)[: self.order, : self.order]
        self.result_ = solve(QuadraticSDP(B=1.0, C=-T), method=self.solver_options.get("method"))
        return self


def test_kernel_report_compares_with_the_linear_kernel() -> None:
    report = kernel_report(Kernel(), blobs(), RunOptions(default_method=ConjugateGradient()))
    found = dict(report.rows)
    assert report.success
    assert found["alignment with the training labels, learned kernel"] == "1.000"
    assert float(found["alignment with the training labels, linear kernel"]) < 1.0
    assert found["purity of 3 clusters on the training labels, learned kernel"] == "100.0 %"
    with pytest.raises(InvalidInputError) as caught:
        kernel_report(Kernel(order=9), blobs(), RunOptions())
    assert str(caught.value) == "Kernel: kernel_report needs a kernel of order 45, the number of samples; found 9"


def test_kernel_report_draws_the_samples_under_both_kernels() -> None:
    report = kernel_report(Kernel(), blobs(), RunOptions())
    linear, learned, *_ = report.figure().axes
    assert "purity" in linear.get_title()
    assert learned.get_title() == "Learned kernel\nalignment 1.000, purity 100.0 %"
    assert sum(len(marks.get_offsets()) for marks in learned.collections) == 45
    assert report.arrays["embedding"].shape[0] == 45


def test_alignment_and_purity_against_their_definitions() -> None:
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((12, 3)), np.repeat([0, 1, 2], 4)
    H = np.eye(12) - 1.0 / 12
    K, T = H @ Z @ Z.T @ H, H @ (y[:, None] == y[None, :]) @ H
    expected = np.sum(K * T) / (np.linalg.norm(K) * np.linalg.norm(T))
    assert alignment(Z, y) == pytest.approx(expected, rel=1e-12)
    assert alignment(np.ones((12, 2)), y) == 0.0
    assert cluster_purity(np.eye(3)[y] + 0.01 * Z, y, 3, seed=0) == 1.0
    assert cluster_purity(np.zeros((12, 2)), y, 3, seed=0) == pytest.approx(1 / 3)
