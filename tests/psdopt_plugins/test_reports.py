"""What the reports of applications measure, say and draw."""

from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator

from psdopt import ConjugateGradient, QuadraticSDP, solve
from psdopt.data.datasets import Dataset, bundled
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.plugins import RunOptions
from psdopt_plugins.kernel_learning.report import alignment, cluster_purity, kernel_report
from psdopt_plugins.manifold_learning.report import embedding_report
from psdopt_plugins.metric_learning import NCA
from psdopt_plugins.metric_learning.report import metric_report, split_and_standardise
from psdopt_plugins.regression import psd_regression_problem
from psdopt_plugins.regression.report import regression_report
from psdopt_plugins.spectral.report import spectral_report, symmetric_matrix
from tests.cli.fakes import Scatter, blobs
from tests.refusals import refused


class Fake(BaseEstimator):  # type: ignore[misc]
    """An estimator with a real Result, spoilt by `fault`."""

    def __init__(self, fault: Any = 0.0, solver_options: dict[str, Any] | None = None) -> None:
        self.fault, self.solver_options = fault, solver_options


class Kernel(Fake):
    """K close to the class indicator, by the closed form or by descent; of order `fault`."""

    def fit(self, X: Any, y: Any) -> Any:
        T = (y[:, None] == y[None, :]).astype(float)[: self.fault or None, : self.fault or None]
        self.result_ = solve(QuadraticSDP(B=1.0, C=-T), method=self.solver_options.get("method"))
        return self


def test_kernel_report_compares_with_the_linear_kernel_and_draws_the_samples_under_both() -> None:
    report = kernel_report(Kernel(), blobs(), RunOptions(default_method=ConjugateGradient()))
    found = dict(report.rows)
    assert report.success
    assert found["alignment with the training labels, learned kernel"] == "1.000"
    assert float(found["alignment with the training labels, linear kernel"]) < 1.0
    assert found["purity of 3 clusters on the training labels, learned kernel"] == "100.0 %"
    with pytest.raises(InvalidInputError) as caught:
        kernel_report(Kernel(9), blobs(), RunOptions())
    assert str(caught.value) == "Kernel: kernel_report needs a kernel of order 45, the number of samples; found 9"
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


class Embedding(Fake):
    """The first two coordinates of the samples, or noise."""

    def fit(self, X: Any, y: Any = None) -> Any:
        self.result_ = solve(QuadraticSDP(B=1.0, C=-(X @ X.T)), method=self.solver_options.get("method"))
        self.embedding_ = np.random.default_rng(1).standard_normal((len(X), 2)) if self.fault else X[:, :2]
        return self


def test_embedding_report_tells_a_true_embedding_from_noise() -> None:
    X = np.random.default_rng(0).standard_normal((40, 2))
    plane = Dataset("plane", np.column_stack([X, np.zeros(40)]), np.arange(40.0), common_unit=True)
    describe = lambda model: [("noise", str(model.fault))]  # noqa: E731
    true = embedding_report(Embedding(False), plane, RunOptions(), describe)
    false = embedding_report(Embedding(True), plane, RunOptions(), describe)
    assert dict(true.rows)["trustworthiness, embedding"] == "1.0000"
    assert dict(true.rows)["trustworthiness, 2 principal components"] == "1.0000"  # the plane itself
    assert float(dict(false.rows)["trustworthiness, embedding"]) < 0.8
    assert (dict(true.rows)["noise"], dict(false.rows)["noise"]) == ("False", "True")
    figure = true.figure()
    assert figure.axes[1].get_title() == "Embedding\ntrustworthiness 1.000"
    assert np.array_equal(figure.axes[1].collections[0].get_array(), np.arange(40.0))  # coloured along the numbers


class TopK(Fake):
    """Eigenpairs, all values off by `fault`."""

    def fit(self, K: Any) -> Any:
        self.result_ = solve(QuadraticSDP(B=1.0, C=-K), **(self.solver_options or {}))
        values, vectors = np.linalg.eigh(K)
        self.eigenvalues_, self.eigenvectors_ = values[::-1][:2] + self.fault, vectors[:, ::-1][:, :2]
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


class Quadratic(Fake):
    """y = |components x|² + fault, by least squares over M ⪰ 0."""

    def fit(self, X: Any, y: Any) -> Any:
        self.result_ = solve(psd_regression_problem(X, y))
        self.components_ = self.result_.matrix.factor.T
        return self

    def predict(self, X: Any) -> Any:
        return self.result_.matrix.quadratic_form(X) + self.fault

    def score(self, X: Any, y: Any) -> float:
        return -float(np.sum((self.predict(X) - y) ** 2))


def test_regression_report_measures_what_it_says() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] + 0.5) ** 2 + X[:, 1] ** 2
    data = Dataset("bowl", X, y)
    report = regression_report(Quadratic(), data, RunOptions(grid={"fault": (5.0, 0.0), "other": (1, 2)}))
    found = dict(report.rows)
    r2, error = found["test R² (error), learned"].rstrip(")").split(" (")
    assert r2 == "1.0000"
    assert float(error) <= 1e-2 * float(np.std(y))
    assert float(found["test R² (error), linear"].split()[0]) < 0.9
    assert found["fault, by 5-fold cross-validation"] == "0.0 of 5.0, 0.0"
    panel = report.figure().axes[0]
    measured, predicted = np.asarray(panel.collections[0].get_offsets()).T
    assert np.abs(measured - predicted).max() <= 1e-2 * np.ptp(y)
    assert len(measured) == 18


class Line(Quadratic):
    """Keeps the options of every fit."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def fit(self, X: Any, y: Any) -> Any:
        self.seen.append(self.solver_options)
        return super().fit(X, y)


class Slope(Scatter):
    """The same of a metric."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def fit(self, X: Any, y: Any) -> Any:
        self.seen.append(dict(self.solver_options or {}))
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("report", "estimator", "data", "grid", "fits"),
    [
        (regression_report, Line(), Dataset("bowl", blobs().X, blobs().X[:, 0] ** 2), {"fault": (1.0, 0.0)}, 10),
        (metric_report, Slope(), blobs(), {"lam": (1.0, 2.0, 3.0), "centre": (True, False)}, 25),
    ],
)
def test_the_search_of_parameters_keeps_the_limits_of_the_run(
    report: Any, estimator: Any, data: Dataset, grid: Any, fits: int
) -> None:
    estimator.seen.clear()
    method = ConjugateGradient()
    report(estimator, data, RunOptions(tol=1e-3, max_iterations=77, max_time=90.0, grid=grid, method=method))
    *search, last = estimator.seen
    assert last["method"] is method
    assert not any("method" in seen for seen in search)  # it may need the geometry of the run
    assert len(search) == fits
    assert all(seen.get("tol") == 1e-3 and seen.get("max_iterations") == 77 for seen in estimator.seen)
    assert sum(seen["max_time"] for seen in search) == pytest.approx(45.0)
    assert 45.0 <= last["max_time"] < 90.0
    assert RunOptions(max_time=4.0).after(1.0).max_time == 3.0
    assert RunOptions(max_time=4.0).after(100.0).max_time == 2.0
    assert RunOptions().in_search(5).max_time is RunOptions().after(1.0).max_time is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (Dataset("d", np.eye(6)), "d has no numbers y to predict, which this application needs"),
        (Dataset("d", np.eye(2), ["a", "b"]), "d has no numbers y to predict, which this application needs"),
        (Dataset("d", np.eye(4), np.arange(4.0)), "d: needs at least 5 samples; found 4"),
    ],
)
def test_regression_report_refuses_data_without_numbers(data: Dataset, text: str) -> None:
    refused(text, InvalidInputError, regression_report, Quadratic(), data, RunOptions())


def test_the_split_is_stratified_and_standardised_by_the_training_part_alone() -> None:
    data = blobs()
    X = np.column_stack([data.X, np.full(45, 7.0)])
    split = split_and_standardise(Dataset("d", X, data.y), seed=3)
    assert sorted(np.bincount(split.y_test).tolist()) == [4, 5, 5]
    bound = 64 * EPS * len(split.X_train)
    assert np.abs(split.X_train.mean(axis=0)).max() <= bound
    assert np.abs(split.X_train.std(axis=0)[:4] - 1.0).max() <= bound
    assert np.abs(split.X_test.mean(axis=0)[:4]).max() > 1e-3  # not centred by its own mean
    assert np.all(split.X_train[:, 4] == 0.0)
    again, other = split_and_standardise(data, 3), split_and_standardise(data, 4)
    assert np.array_equal(again.y_train, split.y_train)
    assert not np.array_equal(other.X_train, again.X_train)


def test_sparse_features_are_scaled_but_not_centred() -> None:
    data = blobs()
    sparse = scipy.sparse.csr_array(np.where(data.X > 0.5, data.X, 0.0))
    split = split_and_standardise(Dataset("d", sparse, data.y), 0)
    assert scipy.sparse.issparse(split.X_train)
    assert split.X_train.nnz + split.X_test.nnz == sparse.nnz


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([0, 0, 1, 1, 2, 2], "d is too small to split into training and test part: "),
        ([0, 0, 1, 1, 2], "d: each class needs at least 2 samples; "),
    ],
)
def test_data_too_small_to_split(y: list[int], text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{text}"):
        split_and_standardise(Dataset("d", np.eye(len(y)), np.array(y)), 0)


class Same(Scatter):
    """Leaves distances as they are."""

    def transform(self, X: Any) -> Any:
        return X


class Worst(Scatter):
    """Keeps a feature that says nothing of the class."""

    def transform(self, X: Any) -> Any:
        return np.sin(1e6 * X[:, 3:])


def test_a_report_says_where_nothing_was_gained() -> None:
    for learner in (Same, Worst):
        report = metric_report(learner(), blobs(), RunOptions(seed=2, default_method=ConjugateGradient()))
        assert dict(report.rows)["gained"] == (
            "nothing: keep the Euclidean distance, or try another learner (metric-nca, metric-lmnn, metric-kta)"
        )
    report = metric_report(NCA(lam=1e6), blobs(), RunOptions(seed=2))
    wanted = "nothing: keep the Euclidean distance, or try another learner (metric-lmnn, metric-kta)"
    assert dict(report.rows)["gained"] == wanted


def test_metric_report_measures_what_it_says() -> None:
    data, estimator = blobs(), Scatter()
    report = metric_report(estimator, data, RunOptions(seed=2, tol=1e-9, default_method=ConjugateGradient()))
    split = split_and_standardise(data, 2)
    found = dict(report.rows)
    M = estimator.components_.T @ estimator.components_
    wrong = 0
    for x, label in zip(split.X_test, split.y_test, strict=True):  # the slow way: distances from M, votes by hand
        difference = split.X_train - x
        near = np.argsort(np.einsum("ij,jk,ik->i", difference, M, difference))[:3]
        wrong += int(np.argmax(np.bincount(split.y_train[near])) != label)
    assert found["3-NN test error, learned metric"] == f"{100 * wrong / 14:.2f} % ({wrong} of 14)"
    before = float(found["3-NN test error, Euclidean"].split()[0])
    assert ("gained" in found) == (100 * wrong / 14 >= before - 0.005)
    assert report.success
    assert report.result is estimator.result_
    assert float(found["closed form F(M*)"]) == pytest.approx(float(found["objective F(M)"]), rel=1e-9)
    table = report.tables[0]
    assert [row[0] for row in table.rows] == [label for label, _, _ in report.result.certificate.rows()]
    assert np.array_equal(report.arrays["components"], estimator.components_)
