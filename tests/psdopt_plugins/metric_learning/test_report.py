"""Report of a metric learner: errors, split and scaling, what it refuses."""

import numpy as np
import pytest
import scipy.sparse

from psdopt import ConjugateGradient
from psdopt.data.datasets import Dataset
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.plugins import RunOptions
from psdopt_plugins.metric_learning.report import metric_report, neighbour_error, split_and_standardise
from tests.cli.fakes import Scatter, blobs


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
    found = dict(report.rows)
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


def test_neighbour_error_of_perfect_and_hopeless_data() -> None:
    X, y = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]), np.array([0, 0, 0, 1, 1, 1])
    assert neighbour_error(X, y, X + 0.01, y) == 0.0
    assert neighbour_error(X, y, X + 0.01, 1 - y) == 1.0
