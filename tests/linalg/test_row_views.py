import numpy as np
import pytest

from psdopt.errors import InvalidInputError
from psdopt.linalg import Standardized, WithoutRows, mean_and_scale, row_sources, transformed
from psdopt.linalg.row_sources import DaskRows, SlicedRows


@pytest.fixture
def source(monkeypatch):
    monkeypatch.setattr(row_sources, "BLOCK", 3 * 40)
    X = np.random.default_rng(0).standard_normal((500, 3)) * [1.0, 1e3, 0.0] + [1e6, 0.0, 5.0]
    return SlicedRows(X, "X")


def whole(source):
    return np.concatenate([block for _, block in source.blocks()])


def test_rows_are_left_out_and_the_others_kept_in_order(source):
    left_out = np.random.default_rng(1).choice(500, 120, replace=False)
    view = WithoutRows(source, left_out)
    assert np.array_equal(whole(view), np.delete(source.data, left_out, axis=0))
    assert np.array_equal(view.take([3, 379, 0]), source.data[view.kept[[3, 379, 0]]])
    with pytest.raises(InvalidInputError, match="must keep at least one row"):
        WithoutRows(source, np.arange(500))


def test_one_pass_gives_mean_and_deviation_without_cancellation(source):
    mean, scale = mean_and_scale(source)
    assert np.allclose(mean, source.data.mean(axis=0), rtol=1e-13)
    assert np.allclose(scale[:2], source.data.std(axis=0)[:2], rtol=1e-9)
    assert scale[2] == 1.0
    standard = whole(Standardized(source, mean, scale))
    assert np.allclose(standard.mean(axis=0), 0.0, atol=1e-9)
    assert np.allclose(standard.std(axis=0), [1.0, 1.0, 0.0], atol=1e-9)


def test_transformed_rows_are_centred_and_multiplied_block_by_block():
    rng = np.random.default_rng(3)
    X, mean, basis = rng.standard_normal((9, 4)), rng.standard_normal(4), rng.standard_normal((4, 2))
    source = SlicedRows(X, "X")
    for given, expected in (
        ({}, X), ({"mean": mean}, X - mean), ({"basis": basis}, X @ basis),
        ({"mean": mean, "basis": basis}, (X - mean) @ basis),
    ):  # fmt: skip
        rows = transformed(source, **given)
        assert rows.shape == expected.shape
        assert np.allclose(rows.read(2, 7), expected[2:7])
        assert np.allclose(rows.take([8, 0]), expected[[8, 0]])


def test_transformed_rows_of_a_dask_array_stay_one():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(4).standard_normal((9, 4)).astype(np.float32)
    source = DaskRows(da.from_array(X, chunks=(4, 3)), "X")
    rows = transformed(source, X.mean(axis=0), 2.0 * np.eye(4)[:, :3])
    assert isinstance(rows, DaskRows)
    assert np.allclose(rows.read(3, 9), 2.0 * (X - X.mean(axis=0))[3:, :3], atol=1e-6)
    assert transformed(source).data.dtype == np.float64
