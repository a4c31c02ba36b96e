"""Report of leading eigenvectors: residuals of its own, and which matrix it takes."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from psdopt import QuadraticSDP, solve
from psdopt.data.datasets import Dataset, bundled
from psdopt.linalg.tolerances import EPS
from psdopt.plugins import RunOptions
from psdopt_plugins.spectral.report import spectral_report, symmetric_matrix
from tests.cli.fakes import blobs


class TopK(BaseEstimator):  # type: ignore[misc]
    """Exact eigenpairs, spoilt by `error`, with a real Result."""

    def __init__(self, error: float = 0.0, solver_options: dict[str, Any] | None = None) -> None:
        self.error, self.solver_options = error, solver_options

    def fit(self, K: Any) -> Any:
        self.result_ = solve(QuadraticSDP(B=1.0, C=-K), **(self.solver_options or {}))
        values, vectors = np.linalg.eigh(K)
        self.eigenvalues_, self.eigenvectors_ = values[::-1][:2] + self.error, vectors[:, ::-1][:, :2]
        return self


def test_spectral_report_computes_residuals_itself() -> None:
    data = blobs()
    for error in (0.0, 0.25):
        report = spectral_report(TopK(error), data, RunOptions())
        table = report.tables[0]
        assert table.columns[-1] == "difference from LAPACK"
        for row in table.rows:
            assert float(row[1]) == pytest.approx(error, abs=64 * EPS)
            assert float(row[3]) == pytest.approx(error, abs=64 * EPS)
    assert dict(report.rows)["proof"].endswith("LAPACK's largest eigenvalues stand beside them")
    assert dict(report.rows)["K"] == "correlation matrix of the 4 features of blobs"


def test_the_matrix_of_the_spectral_report() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    K, what = symmetric_matrix(Dataset("d", A + A.T))
    assert np.array_equal(K, A + A.T)
    assert what == "d, a symmetric matrix of order 5"
    X = np.column_stack([rng.standard_normal((9, 3)) * [1.0, 100.0, 1e-3] + 5.0, np.full(9, 2.0)])
    K, _ = symmetric_matrix(Dataset("d", X))
    assert np.allclose(K[:3, :3], np.corrcoef(X[:, :3].T), rtol=0.0, atol=1e3 * EPS)
    assert np.all(K[3] == 0.0)


def test_the_status_of_a_rank_that_is_meant_to_bind_names_the_columns_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    from psdopt_plugins.spectral import TopKEigen

    monkeypatch.setattr("psdopt_plugins.spectral.report.SPECTRUM_ORDER", 3)
    report = spectral_report(TopKEigen(algorithm="factor"), bundled("wine"), RunOptions())
    assert dict(report.rows)["status"] == "converged: |S Y| is within the tolerance at 5 columns, 4 of them to spare"
    assert dict(report.rows)["proof"].endswith("that none larger is missing is not proven")
