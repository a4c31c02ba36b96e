import numpy as np
import pytest

from psdopt import row_files
from psdopt.cli.main import main
from psdopt.data_files import read_data_file
from psdopt.errors import DataFileError, InvalidInputError, InvalidTypeError
from psdopt.linalg import RowSource, row_sources


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    return rng.standard_normal((900, 4)) + y[:, None], y


@pytest.fixture
def small(monkeypatch):
    """Files of a few kilobytes count as large."""
    for module, name in ((row_files, "SMALL_MAP"), (row_files, "LARGE_FILE"), (row_sources, "SMALL_MAP")):
        monkeypatch.setattr(module, name, 1000)
    monkeypatch.setattr("psdopt.data_files.LARGE_FILE", 1000)
    monkeypatch.setattr(row_sources, "BLOCK_BYTES", 8 * 4 * 100)


def parquet(path, X, y, **more):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"c{k}": X[:, k] for k in range(X.shape[1])}
    pq.write_table(pa.table({**more, **columns, "Label": y}), path, row_group_size=250)
    return path


def test_a_small_parquet_file_is_an_array(table, tmp_path):
    X, y = table
    dataset = read_data_file(parquet(tmp_path / "t.parquet", X, y, __index_level_0__=np.arange(900)))
    assert np.array_equal(dataset.X, X)
    assert np.array_equal(dataset.y, y)
    assert dataset.notes == ("label: Label", "left out: __index_level_0__, an index")


def test_a_large_parquet_file_is_read_in_blocks(table, tmp_path, small):
    X, y = table
    dataset = read_data_file(parquet(tmp_path / "t.parquet", X, y.astype(str)))
    assert isinstance(dataset.X, RowSource)
    assert np.array_equal(dataset.X.take([5, 899, 0]), X[[5, 899, 0]])
    assert dataset.y[7] == str(y[7])
    assert "900 rows, read in blocks of 100" in dataset.notes


def test_zarr_groups_and_arrays(table, tmp_path, small):
    zarr = pytest.importorskip("zarr")
    X, y = table
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    group.create_array("X", data=X, chunks=(90, 4))
    group.create_array("y", data=y)
    dataset = read_data_file(tmp_path / "g.zarr")
    assert np.array_equal(dataset.X.read(100, 103), X[100:103])
    assert np.array_equal(dataset.y, y)
    zarr.save_array(str(tmp_path / "a.zarr"), X)
    assert read_data_file(tmp_path / "a.zarr").y is None
    zarr.open_group(str(tmp_path / "e.zarr"), mode="w").create_array("Z", data=X)
    with pytest.raises(InvalidInputError, match="must hold an array X; found Z"):
        read_data_file(tmp_path / "e.zarr")


def test_a_large_npy_file_is_mapped(table, tmp_path, small):
    np.save(tmp_path / "x.npy", table[0])
    assert read_data_file(tmp_path / "x.npy").in_blocks


def test_the_command_line_learns_from_blocks(table, tmp_path, small, capsys):
    X, y = table
    path = parquet(tmp_path / "t.parquet", X, y)
    assert main(["run", "metric-kta", "--data", str(path), "--plot", str(tmp_path / "t.png")]) == 0
    out = capsys.readouterr().out
    assert "read in blocks of" in out
    assert "3-NN test error among 225, learned metric" in out
    assert (tmp_path / "t.png").stat().st_size > 1000
    assert main(["run", "metric-lmnn", "--data", str(path)]) == 2
    assert "metric-lmnn needs all of them in memory" in capsys.readouterr().err


def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InvalidInputError, match="no Parquet file, or is damaged"):
        read_data_file(tmp_path / "bad.parquet")
    with pytest.raises(DataFileError, match="No such file"):
        read_data_file(tmp_path / "none.zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises((InvalidInputError, DataFileError), match=r"empty\.zarr"):
        read_data_file(tmp_path / "empty.zarr")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"name": ["a", "b"], "y": [0, 1]}), tmp_path / "text.parquet")
    with pytest.raises(InvalidTypeError, match="column 'name' of type string"):
        read_data_file(tmp_path / "text.parquet")
