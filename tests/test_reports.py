"""Reports: the numbers they print are the numbers that are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator

from psdopt import ConjugateGradient, FlatQuotient, PSDCone, QuadraticSDP, certify, solve
from psdopt.datasets import Dataset
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.reports import (
    CertificateTrace,
    RunOptions,
    embedding_report,
    kernel_report,
    metric_report,
    regression_report,
    spectral_report,
)
from psdopt.reports.kernel import alignment, cluster_purity
from psdopt.reports.metric import neighbour_error, split_and_standardise
from psdopt.reports.spectral import symmetric_matrix
from psdopt_plugins.kernel_learning.distance_kernel import DistanceKernel
from psdopt_plugins.kernel_learning.pairwise_estimator import PairwiseKernel
from psdopt_plugins.metric_learning import LMNN
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression
from psdopt_plugins.regression import psd_regression_problem
from tests.cli.fakes import Scatter, blobs


def rows(report: Any) -> dict[str, str]:
    return dict(report.rows)


def random_problem(n: int = 12) -> QuadraticSDP:
    rng = np.random.default_rng(1)
    A, C = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    return QuadraticSDP(A=A @ A.T / n, C=C + C.T)


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
    ("m", "text"),
    [(4, "d is too small to split into training and test part: "), (5, "d: each class needs at least 2 samples; ")],
)
def test_data_too_small_to_split(m: int, text: str) -> None:
    y = np.array([0, 0, 1, 1, 2])[:m] if m == 5 else np.repeat([0, 1], 2)
    data = Dataset("d", np.eye(m), y)
    if m == 4:
        data = Dataset("d", np.eye(6), np.repeat([0, 1, 2], 2))
    with pytest.raises(InvalidInputError) as caught:
        split_and_standardise(data, 0)
    assert str(caught.value).startswith(text)


def test_metric_report_measures_what_it_says() -> None:
    data, estimator = blobs(), Scatter()
    report = metric_report(estimator, data, RunOptions(seed=2, default_method=ConjugateGradient()))
    split = split_and_standardise(data, 2)
    found = rows(report)
    M = estimator.components_.T @ estimator.components_
    wrong = 0
    for x, label in zip(split.X_test, split.y_test, strict=True):  # the slow way: distances from M, votes by hand
        difference = split.X_train - x
        near = np.argsort(np.einsum("ij,jk,ik->i", difference, M, difference))[:3]
        wrong += int(np.argmax(np.bincount(split.y_train[near])) != label)
    assert found["3-NN test error, learned metric"] == f"{100 * wrong / 14:.2f} % ({wrong} of 14)"
    assert report.success
    assert report.result is estimator.result_
    assert float(found["closed form F(M*)"]) == pytest.approx(float(found["objective F(M)"]), rel=1e-9)
    table = report.tables[0]
    assert [row[0] for row in table.rows] == [label for label, _, _ in report.result.certificate.rows()]
    assert np.array_equal(report.arrays["components"], estimator.components_)


def test_closed_form_rows_of_a_rank_limited_run_show_what_the_rank_costs() -> None:
    estimator = Scatter()
    report = metric_report(estimator, blobs(), RunOptions(rank=1))
    found = rows(report)
    free = float(found["closed form F(M*)"])
    assert free < float(found["objective F(M)"])
    assert float(found["F(M) − F(M*)"].split()[0]) == pytest.approx(estimator.result_.value - free, rel=1e-2)
    assert report.result.rank == 1


def test_operator_applications_do_not_count_the_certificates_of_the_curve() -> None:
    problem, plain = random_problem(), random_problem()
    trace = CertificateTrace()
    traced = solve(problem, method=ConjugateGradient(), callback=trace)
    untraced = solve(plain, method=ConjugateGradient())
    assert trace.applications > 0
    assert traced.counts["operator_applications"] - trace.applications == untraced.counts["operator_applications"]
    assert traced.value == untraced.value
    assert trace.problem is problem


def test_the_trace_is_spaced_geometrically_and_holds_true_certificates() -> None:
    problem, factors = random_problem(), {}

    trace = CertificateTrace()

    def callback(snapshot: Any) -> bool:
        factors[snapshot.iteration] = snapshot.state.evaluation.factor
        return trace(snapshot)

    result = solve(problem, FlatQuotient(12, 12), ConjugateGradient(), tol=1e-8, callback=callback)
    iterations = [iteration for iteration, _ in trace.points]
    assert iterations[:4] == [1, 2, 3, 5]
    assert len(iterations) <= 2 + np.log(result.iterations) / np.log(1.45)
    for iteration, relative in trace.points:
        exact = certify(problem, factors[iteration], tol=1e-10)
        assert 0.9 * exact.relative <= relative <= 1.2 * exact.relative + 1e-8
    at, curve = trace.curve(result)
    assert at[-1] == result.iterations
    assert curve[-1] == result.certificate.relative


class TopK(BaseEstimator):  # type: ignore[misc]
    """Exact eigenpairs, spoilt by `error`, with a real Result."""

    def __init__(self, error: float = 0.0, solver_options: dict[str, Any] | None = None) -> None:
        self.error, self.solver_options = error, solver_options

    def fit(self, K: Any) -> TopK:
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
    assert rows(report)["K"] == "correlation matrix of the 4 features of blobs"


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


class Kernel(BaseEstimator):  # type: ignore[misc]
    """K close to the class indicator, by the closed form or by descent."""

    def __init__(self, order: int | None = None, solver_options: dict[str, Any] | None = None) -> None:
        self.order, self.solver_options = order, solver_options

    def fit(self, X: Any, y: Any) -> Kernel:
        T = (y[:, None] == y[None, :]).astype(float)[: self.order, : self.order]
        self.result_ = solve(QuadraticSDP(B=1.0, C=-T), method=self.solver_options.get("method"))
        return self


def test_kernel_report_compares_with_the_linear_kernel() -> None:
    report = kernel_report(Kernel(), blobs(), RunOptions(default_method=ConjugateGradient()))
    found = rows(report)
    assert report.success
    assert found["alignment, learned kernel"] == "1.000"
    assert float(found["alignment, linear kernel"]) < 1.0
    assert found["purity of 3 clusters, learned kernel"] == "100.0 %"
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


class Embedding(BaseEstimator):  # type: ignore[misc]
    """The first two coordinates of the samples, or noise, with a real Result."""

    def __init__(self, noise: bool = False, solver_options: dict[str, Any] | None = None) -> None:
        self.noise, self.solver_options = noise, solver_options

    def fit(self, X: Any, y: Any = None) -> Embedding:
        self.result_ = solve(QuadraticSDP(B=1.0, C=-(X @ X.T)), method=self.solver_options.get("method"))
        self.embedding_ = np.random.default_rng(1).standard_normal((len(X), 2)) if self.noise else X[:, :2]
        return self


def test_embedding_report_tells_a_true_embedding_from_noise() -> None:
    X = np.random.default_rng(0).standard_normal((40, 2))
    plane = Dataset("plane", np.column_stack([X, np.zeros(40)]), np.arange(40.0), common_unit=True)
    describe = lambda model: [("noise", str(model.noise))]  # noqa: E731
    true = embedding_report(Embedding(), plane, RunOptions(), describe)
    false = embedding_report(Embedding(noise=True), plane, RunOptions(), describe)
    assert rows(true)["trustworthiness, embedding"] == "1.0000"
    assert rows(true)["trustworthiness, 2 principal components"] == "1.0000"  # the plane itself
    assert float(rows(false)["trustworthiness, embedding"]) < 0.8
    assert (rows(true)["noise"], rows(false)["noise"]) == ("False", "True")
    figure = true.figure()
    assert figure.axes[1].get_title() == "Embedding\ntrustworthiness 1.000"
    assert np.array_equal(figure.axes[1].collections[0].get_array(), np.arange(40.0))  # coloured along the numbers


class Quadratic(BaseEstimator):  # type: ignore[misc]
    """y = |components x|², by least squares over M ⪰ 0."""

    def __init__(self, offset: float = 0.0, solver_options: dict[str, Any] | None = None) -> None:
        self.offset, self.solver_options = offset, solver_options

    def fit(self, X: Any, y: Any) -> Quadratic:
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
    found = rows(report)
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


def test_the_trace_of_several_runs_is_that_of_the_last() -> None:
    trace = CertificateTrace()
    for steps in (9, 4):
        result = solve(random_problem(), method=ConjugateGradient(), max_iterations=steps, callback=trace)
    assert [iteration for iteration, _ in trace.points] == [1, 2, 3]
    assert trace.curve(result)[0][-1] == result.iterations


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


def test_neighbour_error_of_perfect_and_hopeless_data() -> None:
    X, y = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), np.array([0, 0, 0, 1, 1, 1])
    assert neighbour_error(X, y, X + 0.01, y) == 0.0
    assert neighbour_error(X, y, X + 0.01, 1 - y) == 1.0


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


def test_report_tells_the_last_round_from_all_of_them():
    """LMNN's result is that of its last round, which may have had nothing left to do."""
    report = metric_report(LMNN(), blobs(), RunOptions())
    (text,) = [value for label, value in report.rows if label == "iterations"]
    last = report.result.iterations
    assert text.startswith(f"{last} in the last round, ")
    assert int(text.split()[-3]) > last
