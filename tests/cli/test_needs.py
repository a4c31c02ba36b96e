"""Data that an application cannot take are refused in one sentence, before any work."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from psdopt.cli.main import main
from psdopt.cli.needs import check_needs, library_errors
from psdopt.data.datasets import Dataset
from psdopt.errors import InvalidInputError
from psdopt.plugins import ApplicationSpec, DataNeeds, plugin_manager

X = np.arange(12.0).reshape(4, 3)


def spec(**needs: Any) -> ApplicationSpec:
    return ApplicationSpec("app", dict, "for tests", needs=DataNeeds(**needs))


@pytest.mark.parametrize(
    ("needs", "dataset", "text"),
    [
        ({}, Dataset("d", np.eye(2), symmetric=True), "d holds a symmetric matrix K and no samples, but app needs"),
        ({"sparse": False}, Dataset("d", scipy.sparse.csr_array(X)), "d holds a sparse X, but app needs a dense one"),
        ({"samples": 5}, Dataset("d", X), "app needs at least 5 samples; d has 4"),
        ({"labels": "classes"}, Dataset("d", X), "d has no labels y, which app needs"),
        ({"labels": "classes"}, Dataset("d", X, [1, 1, 1, 1]), "d: y must hold at least 2 classes; found only '1'"),
        ({"labels": "classes", "per_class": 2}, Dataset("d", X, [1, 1, 1, 0]), "each class needs at least 2 samples"),
        ({"labels": "numbers"}, Dataset("d", X, list("abcd")), "y must hold a number per sample for app; found 'a'"),
    ],
)
def test_each_need_is_asked_for(needs: dict[str, Any], dataset: Dataset, text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_needs(spec(**needs), dataset)
    assert text in str(caught.value)


def test_data_that_fit_pass() -> None:
    check_needs(spec(symmetric=True), Dataset("d", np.eye(2), symmetric=True))
    check_needs(spec(samples=4, labels="classes", per_class=2), Dataset("d", scipy.sparse.csr_array(X), [0, 0, 1, 1]))
    check_needs(spec(labels="numbers"), Dataset("d", X, [0.5, 1, 2, 3]))


@pytest.mark.parametrize("name", plugin_manager().names("application"))
@pytest.mark.parametrize("samples", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
def test_shipped_applications_on_hardly_any_samples(name: str, samples: int, sparse: bool, tmp_path: Path) -> None:
    """Dense and sparse, of one class and of two: a run or one sentence, never rc 3."""
    rng = np.random.default_rng(samples)
    for y in (np.zeros(samples), np.arange(samples)):
        S = scipy.sparse.csr_array(np.abs(rng.standard_normal((samples, 3))))
        parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
        np.savez(tmp_path / "d.npz", y=y, **(parts if sparse else {"X": S.toarray()}))
        assert main(["run", name, "--data", str(tmp_path / "d.npz"), "--quiet", "--max-iterations", "3"]) in (0, 1, 2)


def test_a_refusal_of_scikit_learn_is_wrong_data_and_another_value_error_is_not() -> None:
    from sklearn.utils import check_array

    with (
        pytest.raises(InvalidInputError, match="d: scikit-learn refuses the data: Input contains NaN"),
        library_errors("d"),
    ):
        check_array([[np.nan]])
    with pytest.raises(ValueError, match="ours") as caught, library_errors("d"):
        raise ValueError("ours")
    assert not isinstance(caught.value, InvalidInputError)
    with pytest.raises(InvalidInputError, match="too large for the memory"), library_errors("d"):
        raise MemoryError("9 TiB")


def test_a_symmetric_matrix_goes_to_topk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "K.npz", K=np.diag([3.0, 1.0, -2.0]))
    assert main(["run", "topk", "--data", str(tmp_path / "K.npz")]) == 0
    assert "K, a symmetric matrix" in capsys.readouterr().out


def test_the_report_names_label_and_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{k},{(k * k) % 7},{k % 5},{'ab'[k % 2]}" for k in range(12)]
    (tmp_path / "d.csv").write_text("\n".join([",u,v,kind", *rows]))
    assert main(["run", "metric-kta", "--data", str(tmp_path / "d.csv")]) in (0, 1)
    out = capsys.readouterr().out
    assert "label: column 'kind', the last one" in out
    assert "left out: the first column, which has no name" in out
    assert "2 features" in out


def test_six_samples_are_enough_for_folds_and_the_vote_of_neighbours(tmp_path: Path) -> None:
    rows = [f"{k * 1e-27},{k % 3},{'ab'[k % 2]}" for k in range(6)]
    (tmp_path / "d.csv").write_text("\n".join(["mass,count,kind", *rows]))
    assert main(["run", "metric-kta", "--data", str(tmp_path / "d.csv")]) in (0, 1)
