"""Data sets: what is accepted, what is refused, and with which words."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from psdopt.data.datasets import BUNDLED, Dataset, bundled
from psdopt.errors import InvalidInputError, UnknownNameError
from tests.refusals import refused

X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_are_what_their_summary_says(name: str) -> None:
    data = bundled(name)
    m, d = data.X.shape
    labelled = data.class_names is not None
    target = f"{len(data.classes())} classes" if labelled else ("a number", "the position")[name == "swiss_roll"]
    assert BUNDLED[name].startswith(f"{m} samples, {d} features, {target}")
    assert data.X.dtype == np.float64
    assert data.feature_names is not None
    assert len(data.feature_names) == d
    refused("unknown data set 'irys'; did you mean 'iris'?", UnknownNameError, bundled, "irys")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((np.zeros(3),), "d: X must be an array (samples, features), not empty; found (3,)"),
        ((np.zeros((0, 2)),), "d: X must be an array (samples, features), not empty; found (0, 2)"),
        ((np.array([["a", "b"]]),), "d: X must hold numbers; found dtype <U1"),
        (([[1.0, np.nan], [np.inf, 0.0]],),
         "d: X must be finite; found 2 NaN or infinite entries; the first at (0, 1)"),
        ((scipy.sparse.csr_array([[1.0, np.nan]]),), "d: X must be finite; found 1 NaN or infinite entries"),
        (([[1e160, 0.0]],),
         "d: X must have entries of at most 2.4e+153, or squared distances overflow; found 1e+160. Scale the data"),
        ((X, [0, 1]), "d: y must hold one label per sample, shape (4,); found (2,)"),
        ((X, [0, 1, np.nan, 1]), "d: y must be finite; found 1 NaN or infinite entries"),
    ],
)  # fmt: skip
def test_bad_arrays_are_refused(arguments: tuple[Any, ...], text: str) -> None:
    refused(text, InvalidInputError, Dataset, "d", *arguments)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (None, "d has no labels y, which this application needs"),
        ([0.5, 1.0, 0.5, 1.0], "d: y must hold class labels; found numbers such as 0.5"),
        (["a", "a", "a", "a"], "d: y must hold at least 2 classes; found only 'a'"),
        (["a", "a", "a", "b"], "d: each class needs at least 2 samples; class 'b' has 1"),
    ],
)
def test_labels_that_are_no_classes_are_refused(y: Any, text: str) -> None:
    refused(text, InvalidInputError, Dataset("d", X, y).classes, at_least=2)


def test_numbers_to_predict_are_told_from_rare_classes() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 1000, 100)
    data = Dataset("d", rng.random((100, 2)), y, notes=("decimal commas", "label: column 'age', the last one"))
    told = (
        f"d: y must hold class labels; found {len(np.unique(y))} different numbers in 100 samples, which look like a "
        "quantity to predict (label: column 'age', the last one)"
    )
    refused(told, InvalidInputError, data.classes, at_least=2)
    with pytest.raises(InvalidInputError, match=r"numbers such as 0.5 \(label: column 'age'"):
        Dataset("d", X, [0.5, 1.0, 0.5, 1.0], notes=("label: column 'age'",)).classes()
    few = Dataset("d", rng.random((100, 2)), np.append(np.arange(11).repeat(9), 11))
    with pytest.raises(InvalidInputError, match="class '11' has 1"):
        few.classes(at_least=2)


def test_small_integers_become_floats_so_that_products_do_not_overflow() -> None:
    for data in (np.full((3, 2), 200, dtype=np.uint8), scipy.sparse.csr_array(np.full((3, 2), 200, dtype=np.uint8))):
        found = Dataset("d", data).X
        assert (found.T @ found)[0, 0] == 3 * 200**2


def test_label_texts() -> None:
    data = Dataset("d", X, [0, 1, 0, 1], class_names=["no", "yes"])
    assert [data.label_text(label) for label in data.classes()] == ["no", "yes"]
    assert data.label_text(np.int64(7)) == "7"
    assert Dataset("d", X, ["u", "v", "u", "v"]).label_text("u") == "u"


def test_the_concealed_classes_are_seen_in_two_directions_and_not_in_all() -> None:
    data = bundled("concealed")
    means = np.array([data.X[data.y == label].mean(axis=0) for label in data.classes()])
    plane = np.linalg.svd(means - means.mean(axis=0))[2][:2].T
    spread = np.linalg.norm(data.X[:, None] @ plane - means @ plane, axis=2)
    assert np.mean(spread.argmin(axis=1) == data.y) > 0.97
    nearest = np.linalg.norm(data.X[:, None] - data.X, axis=2) + np.diag(np.full(600, np.inf))
    assert np.mean(data.y[nearest.argmin(axis=1)] == data.y) < 0.8
