"""Every kind of rows on disk gives the same blocks, and nothing else is loaded."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Standardized, WithoutRows, mean_and_scale, row_sources, transformed
from psdopt.linalg.row_sources import DaskRows, RowSource, SlicedRows, row_source

ROWS, COLUMNS = 5000, 7


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_sources, "BLOCK", COLUMNS * 700)
    monkeypatch.setattr(row_sources, "SMALL_MAP", 1000)


def memory_map(X, folder):
    path = folder / "x.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def zarr_array(X, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.open(str(folder / "x.zarr"), mode="w", shape=X.shape, chunks=(300, COLUMNS), dtype="f4")
    array[:] = X
    return array


def hdf5_dataset(X, folder):
    h5py = pytest.importorskip("h5py")
    return h5py.File(folder / "x.h5", "w").create_dataset("X", data=X, chunks=(256, COLUMNS))


def dask_array(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(999, COLUMNS))


def arrow_table(X, folder):
    pa = pytest.importorskip("pyarrow")
    return pa.table({f"c{k}": X[:, k] for k in range(COLUMNS)})


def parquet_file(X, folder):
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(arrow_table(X, folder), folder / "x.parquet", row_group_size=1234)
    return pq.ParquetFile(folder / "x.parquet")


SOURCES = [memory_map, zarr_array, hdf5_dataset, dask_array, arrow_table, parquet_file]


@pytest.mark.parametrize("make", SOURCES)
def test_blocks_are_the_rows(make, X, tmp_path):
    source = row_source(make(X, tmp_path))
    assert isinstance(source, RowSource)
    assert source.shape == X.shape
    blocks = list(source.blocks())
    assert len(blocks) > 2
    assert all(block.dtype == np.float64 for _, block in blocks)
    assert np.array_equal(np.concatenate([block for _, block in blocks]), X)
    assert [rows.start for rows, _ in blocks[1:]] == [rows.stop for rows, _ in blocks[:-1]]


@pytest.mark.parametrize("make", SOURCES)
def test_rows_are_taken_in_the_order_asked_for(make, X, tmp_path):
    rows = np.random.default_rng(1).integers(ROWS, size=60)
    assert np.array_equal(row_source(make(X, tmp_path)).take(rows), X[rows])


class Watched:
    """Counts the rows that are read, and refuses to be made an array whole."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.read = array, array.shape, array.dtype, 0

    def __getitem__(self, rows):
        self.read += rows.stop - rows.start
        return self.array[rows]

    def __array__(self, *args, **kwargs):
        raise AssertionError("loaded whole")


def test_only_blocks_that_hold_a_wanted_row_are_read(X):
    data = Watched(X)
    source = row_source(data)
    source.take([0, 1, 2])
    assert data.read == source.block


def test_what_is_in_memory_is_no_source_and_a_small_memory_map_is_an_array(X, tmp_path, monkeypatch):
    for data in (X, X.tolist(), sp.csr_array(X), X.astype(np.float64)[::2], None, 3.0):
        assert row_source(data) is None
    pandas = pytest.importorskip("pandas")
    assert row_source(pandas.DataFrame(X)) is None
    monkeypatch.setattr(row_sources, "SMALL_MAP", 2**26)
    assert row_source(memory_map(X, tmp_path)) is None


def test_views_of_a_memory_map_are_read_in_blocks(X, tmp_path):
    view = memory_map(X, tmp_path)[100:4000, 2:]
    source = row_source(view)
    assert source is not None
    assert np.array_equal(source.read(5, 9), X[105:109, 2:])


def test_what_cannot_be_read_in_blocks_is_refused(X):
    dd = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    frame = dd.from_pandas(pandas.DataFrame(X), npartitions=2)
    with pytest.raises(InvalidTypeError, match=r"X is a dask DataFrame.*to_dask_array\(lengths=True\)"):
        row_source(frame)
    with pytest.raises(InvalidInputError, match="compute_chunk_sizes"):
        row_source(frame.to_dask_array())
    dataset = pytest.importorskip("pyarrow.dataset").dataset(arrow_table(X, None))
    with pytest.raises(InvalidTypeError, match="use a Table or a ParquetFile"):
        row_source(dataset)


def test_wrong_shapes_and_types_are_named(X):
    with pytest.raises(InvalidInputError, match="Z must be a 2-D array; found 1 dimension"):
        row_source(Watched(X[:, 0]), "Z")
    with pytest.raises(InvalidTypeError, match="real numbers; found dtype complex64"):
        row_source(Watched(X.astype(np.complex64)))
    with pytest.raises(InvalidInputError, match=r"must not be empty; found shape \(0, 7\)"):
        row_source(Watched(X[:0]))
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(InvalidTypeError, match="found column 'name' of type string"):
        row_source(pa.table({"a": [1.0], "name": ["x"]}))


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
