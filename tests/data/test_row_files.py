import numpy as np
import pytest
from tqdm import tqdm

from psdopt.cli.main import main
from psdopt.data import row_files
from psdopt.data.data_files import read_data_file
from psdopt.errors import DataFileError, InvalidInputError, InvalidTypeError
from psdopt.linalg import RowBlocks, RowSource, row_sources
from psdopt_plugins.passes import pass_bar


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
    monkeypatch.setattr("psdopt.data.data_files.LARGE_FILE", 1000)
    monkeypatch.setattr(row_sources, "BLOCK", 4 * 100)


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
    assert dataset.notes == (
        "label: column 'Label'", "left out: column '__index_level_0__', as names of rows"
    )  # fmt: skip


def test_a_large_parquet_file_is_read_in_blocks(table, tmp_path, small):
    X, y = table
    dataset = read_data_file(parquet(tmp_path / "t.parquet", X, y.astype(str)))
    assert isinstance(dataset.X, RowSource)
    assert np.array_equal(dataset.X.take([5, 899, 0]), X[[5, 899, 0]])
    assert dataset.y[7] == str(y[7])
    assert "900 rows, read in blocks of 100" in dataset.notes


def test_missing_numbers_of_a_parquet_file_name_their_column(table, tmp_path, small, monkeypatch):
    X, y = table
    X[700, 2] = np.nan
    path = parquet(tmp_path / "t.parquet", X, y)
    blocks = RowBlocks(read_data_file(path).X)
    with pytest.raises(InvalidInputError, match=r"found 1 NaN .* in one block of rows, the first in column 'c2'"):
        blocks.moments()
    monkeypatch.setattr(row_files, "SMALL_MAP", 10**6)
    with pytest.raises(InvalidInputError, match=r"found 1 NaN .* the first at \(700, 2\), column 'c2'"):
        read_data_file(path)


def stored(path, **arrays):
    """A group of arrays in a Zarr store or an HDF5 file."""
    if path.suffix == ".zarr":
        group = pytest.importorskip("zarr").open_group(str(path), mode="w")
        for name, array in arrays.items():
            group.create_array(name, data=array)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            file.update(arrays)
    return path


@pytest.mark.parametrize("suffix", [".zarr", ".h5"])
def test_groups_of_arrays(suffix, table, tmp_path, small):
    X, y = table
    labels = y if suffix == ".zarr" else np.array([f"class {label}" for label in y], dtype="S")
    dataset = read_data_file(stored(tmp_path / f"g{suffix}", X=X, y=labels))
    assert isinstance(dataset.X, RowSource)
    assert np.array_equal(dataset.X.read(100, 103), X[100:103])
    assert dataset.y[5] == (y[5] if suffix == ".zarr" else f"class {y[5]}")
    with pytest.raises(InvalidInputError, match="must hold an array X; found Z"):
        read_data_file(stored(tmp_path / f"e{suffix}", Z=X))


def test_single_arrays_are_mapped(table, tmp_path, small):
    np.save(tmp_path / "x.npy", table[0])
    assert read_data_file(tmp_path / "x.npy").in_blocks
    pytest.importorskip("zarr").save_array(str(tmp_path / "a.zarr"), table[0])
    assert read_data_file(tmp_path / "a.zarr").y is None


def test_an_archive_named_npy_is_no_array(tmp_path, small, table):
    np.savez(tmp_path / "x.npz", X=table[0])
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    with pytest.raises(InvalidInputError, match=r"is no usable \.npy file"):
        read_data_file(tmp_path / "x.npy")


def test_the_command_line_learns_from_blocks(table, tmp_path, small, capsys):
    X, y = table
    path = parquet(tmp_path / "t.parquet", X, y)
    assert main(["run", "metric-kta", "--data", str(path), "--plot", str(tmp_path / "t.png")]) == 0
    out = capsys.readouterr().out
    assert "read in blocks of" in out
    assert "3-NN test error among 225, learned metric" in out
    assert (tmp_path / "t.png").stat().st_size > 1000
    assert main(["run", "kernel-pairwise", "--data", str(path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "kernel-pairwise needs all of them in memory" in told


@pytest.mark.parametrize("application", ["metric-linear", "metric-lmnn", "metric-psdboost", "metric-distances"])
def test_metrics_are_learned_from_blocks(application, table, tmp_path, small, capsys):
    path = parquet(tmp_path / "t.parquet", *table)
    assert main(["run", application, "--data", str(path), "--max-iterations", "3"]) in (0, 1)
    assert "3-NN test error among 225, learned metric" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".parquet"])
def test_a_regression_learns_from_blocks(suffix, tmp_path, small, capsys):
    X = np.random.default_rng(1).standard_normal((900, 3))
    y = (X @ [1.0, -2.0, 0.5]) ** 2 + 1.0
    path = tmp_path / f"t{suffix}"
    parquet(path, X, y) if suffix == ".parquet" else stored(path, X=X, y=y)
    assert main(["run", "psd-regression", "--data", str(path), "--set", "rank=2", "--tol", "1e-8"]) == 0
    out = capsys.readouterr().out
    assert "675 samples to train, 225 to test, 3 features, standardised, and a constant" in out
    learned = next(line for line in out.splitlines() if "test R² (error), learned" in line)
    linear = next(line for line in out.splitlines() if "test R² (error), linear" in line)
    assert float(learned.split("learned")[1].split()[0]) > 0.999
    assert float(linear.split("linear")[1].split()[0]) < 0.2


def test_nan_is_found_in_the_pass_and_named(table, tmp_path, small, capsys):
    X, y = table
    X[850, 2] = np.nan
    path = parquet(tmp_path / "t.parquet", X, y)
    for application in ("metric-kta", "psd-regression"):
        assert main(["run", application, "--data", str(path)]) == 2
        assert "must be finite; found 1 NaN or infinite entries in one block" in capsys.readouterr().err


def test_the_bar_follows_every_pass(capsys):
    with pass_bar(True) as observe:
        for done in (40, 90, 90, 30, 90):
            observe("X", done, 90)
        (bar,) = tqdm._instances
        assert (bar.n, bar.total) == (90, 90)
    capsys.readouterr()
    with pass_bar(False) as observe:
        observe("X", 40, 90)
    assert capsys.readouterr().err == ""


def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path):
    (tmp_path / "bad.h5").write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match=r"bad\.h5 cannot be read"):
        read_data_file(tmp_path / "bad.h5")
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
    pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["a", "a", "y"]), tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match="found 'a' more than once"):
        read_data_file(tmp_path / "a.parquet")


def test_labels_that_do_not_belong_to_the_rows_are_refused_before_they_are_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["X"] = np.zeros((3, 2))
        file.create_dataset("y", shape=(10**12,), dtype="f8", chunks=(1000,))
    with pytest.raises(InvalidInputError, match=r"y\.h5: y must hold one label per sample, shape \(3,\)"):
        read_data_file(tmp_path / "y.h5")
