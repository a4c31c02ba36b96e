"""Files of samples: what is read, tables as text among them, and the one clear error for whatever is wrong."""

import bz2
import gzip
import lzma
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.data import text_tables
from psdopt.data.archives import Archive
from psdopt.data.data_files import read_data_file
from psdopt.data.text_tables import read_table
from psdopt.errors import DataFileError, InvalidInputError, PsdoptError
from psdopt.linalg.limits import BLOCK
from psdopt.plugins.datasets import load_dataset
from tests.data.test_archives import packed
from tests.fuzz import examples, mutants
from tests.refusals import refused

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]


#: (suffix, content) of files that can be read.
SOUND = [
    (".npz", packed(X=np.arange(12.0).reshape(4, 3), y=np.array(["a", "b", "a", "b"]))),
    (".npz", packed(data=[1.0, 2.0], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], y=[0, 1])),
    (".npz", packed(K=np.eye(3))),
    (".csv", b",u,v,label\n0,1,2,a\n1,3,4,b\n"),
    (".tsv", b"1,5\t2,5\tx\n3\t4\ty\n"),
]


def csv_file(folder: Path, text: str | bytes) -> Path:
    path = folder / "d.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("1,2,a\n3,4,b\n5,6.5,a\n", ["a", "b", "a"]),
        ("\ufeff1,2,0\r\n3,4,1\r\n\r\n5,6.5,0\r\n", [0, 1, 0]),
        ("u,v,kind\n1,2,0\n3,4,1\n5,6.5,0", [0, 1, 0]),
        ("Label,u,v\n7,1,2\n8,3,4\n7,5,6.5\n", [7, 8, 7]),
        ("u;target;v\n1;x;2\n3;y;4\n5;x;6.5\n", ["x", "y", "x"]),
        ("1\t2\t.5\n3\t4\t1\n5\t6.5\t.5\n", [0.5, 1.0, 0.5]),
        (' 1 , 2 ,"a, b"\n3,4,c\n5,6.5,c\n', ["a, b", "c", "c"]),
    ],
)
def test_csv_with_and_without_header(tmp_path: Path, text: str, labels: list[Any]) -> None:
    data = read_data_file(csv_file(tmp_path, text))
    assert np.array_equal(data.X, ROWS)
    assert data.y.tolist() == labels
    assert data.name == "d"
    assert data.feature_names is None or list(data.feature_names) == ["u", "v"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{} is empty; expected one sample per line or the arrays X and y"),
        (" \n \n", "{} is empty; expected one sample per line or the arrays X and y"),
        (",,\n, ,\n", "{} is empty; expected one sample per line or the arrays X and y"),
        ("\ufeff", "{} is empty; expected one sample per line or the arrays X and y"),
        ("u,v,label\n", "{} holds a header but no samples"),
        ("1\n2\n", "{}, line 1: expected features and a label; found 1 column"),
        ("1,2,a\n3,b\n", "{}, line 2: expected 3 values, as above it; found 2"),
        ("u,v,y\n\n1,2,a\n3,4,5,b\n", "{}, line 4: expected 3 values, as above it; found 4"),
        ("1,2,a\n3,nan,b\n", "{}, line 2, column 2: expected a finite number; found 'nan'"),
        ("1,2,a\n3,,b\n", "{}, line 2, column 2: expected a finite number; found ''"),
        ("u,v,y\n1,2,a\n3,x,b\n", "{}, line 3, column 'v': expected a finite number; found 'x'. Column 'y' was "
         "taken as the label; --label NAME names another, --drop NAME leaves a column out"),
        ("1,0,2,a\n3,y,4,b\n", "{}, line 2, column 2: expected a finite number; found 'y'. Column 4, the last one, was "
         "taken as the label; --label NAME names another, --drop NAME leaves a column out"),
        ("1,2,a\n3,1e999,b\n", "{}, line 2, column 2: expected a finite number; found '1e999'"),
        ("1,2,a\n3,4,\n", "{}, line 2: the label is missing"),
        ("1,2,0\n3,4,inf\n", "{}, line 2: the label must be finite; found 'inf'"),
        ("1,2,0\n3,4,b\n", "{}: the labels must be all numbers or all text; found '0' in line 1 and 'b' in line 2"),
        ("u,y\n1,NA\n3,4\n", "{}: the labels must be all numbers or all text; found '4' in line 3 and 'NA' in line 2"),
        ("1,true,a\n3,0,b\n", "{}, line 1, column 2: expected a finite number; found 'true'. Column 3, the last one, "
         "was taken as the label; --label NAME names another, --drop NAME leaves a column out"),
        (b"1,2,a\n3,4,\xff\n", "{}, line 2: not UTF-8 text; save the file as UTF-8"),
    ],
)  # fmt: skip
def test_bad_csv_is_one_error_with_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = csv_file(tmp_path, text)
    refused(message.format(path), InvalidInputError, read_data_file, path)


def test_dense_and_sparse_npz(tmp_path: Path) -> None:
    y = np.array([0, 1, 0])
    np.savez(tmp_path / "dense.npz", X=ROWS, y=y, class_names=np.array(["no", "yes"]))
    dense = read_data_file(tmp_path / "dense.npz")
    assert np.array_equal(dense.X, ROWS)
    assert dense.label_text(dense.y[1]) == "yes"
    S = scipy.sparse.csr_array(np.array([[0, 200], [3, 0], [0, 0]], dtype=np.uint8))
    np.savez(tmp_path / "sparse.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    sparse = read_data_file(tmp_path / "sparse.npz")
    assert sparse.sparse
    assert np.array_equal(sparse.X.toarray(), S.toarray())
    np.savez(tmp_path / "bare.npz", X=ROWS)
    assert read_data_file(tmp_path / "bare.npz").y is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": ROWS}, "{} must hold X, or data, indices, indptr, shape of a CSR matrix, or K; found Z"),
        ({"X": np.array([object()])},
         "{} is no usable .npz archive: X: it holds Python objects, which are not loaded from a file"),
        ({"X": ROWS, "y": np.array([1j, 2, 3])}, "{}: y must hold numbers or text; found dtype complex128"),
        ({"X": ROWS, "y": [1]}, "{}: y must hold one label per sample, shape (3,); found (1,)"),
        ({"X": [[np.nan]]}, "{}: X must be finite; found 1 NaN or infinite entries; the first at (0, 0)"),
    ],
)  # fmt: skip
def test_bad_npz(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, **arrays)
    refused(message.format(path), InvalidInputError, read_data_file, path)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("shape", np.array([3, 2**62]), "must have at most .* columns"),
        ("shape", np.array([3.5, 3.0]), "shape of a CSR matrix must hold integers; found dtype float64"),
        ("indices", np.array([0.0, 1.5]), "indices of a CSR matrix must hold integers"),
        ("indices", np.array([0, 5]), r"d\.npz: data, indices, indptr and shape make no CSR matrix: "),
    ],
)
def test_sizes_and_places_of_a_csr_matrix_are_checked(tmp_path: Path, name: str, array: Any, words: str) -> None:
    arrays = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2, 2]), "shape": [3, 2]}
    np.savez(tmp_path / "d.npz", **{**arrays, name: array}, format=np.array("csr"))
    with pytest.raises(InvalidInputError, match=words):
        read_data_file(tmp_path / "d.npz")


def test_files_that_are_not_there_of_another_kind_or_broken(tmp_path: Path) -> None:
    for content in (b"PK\x03\x04 cut short", b"no archive at all"):
        (tmp_path / "d.npz").write_bytes(content)
        with pytest.raises(InvalidInputError, match=r"d\.npz is no usable \.npz archive: "):
            read_data_file(tmp_path / "d.npz")
    absent, other = tmp_path / "no.csv", tmp_path / "d.xlsx"
    refused(f"cannot read {absent}: No such file or directory", DataFileError, read_data_file, absent)
    known = ".npz, .npy, .csv, .tsv, .parquet, .zarr, .h5"
    refused(f"{other}: a data file must end in {known}; found '.xlsx'", InvalidInputError, read_data_file, other)


def test_a_symmetric_matrix(tmp_path: Path) -> None:
    K = np.array([[2.0, 1.0], [1.0, 0.0]])
    np.savez(tmp_path / "K.npz", K=K)
    data = read_data_file(tmp_path / "K.npz")
    assert data.symmetric
    assert np.array_equal(data.X, K)
    for arrays, message in (
        ({"K": [[0.0, 1.0], [2.0, 0.0]]}, "K must be symmetric"),
        ({"K": [[0.0, 1.0]]}, "K must be square"),
        ({"K": K, "y": [0, 1]}, "K is a symmetric matrix, which has no labels y"),
    ):
        np.savez(tmp_path / "K.npz", **arrays)
        with pytest.raises(InvalidInputError, match=message):
            read_data_file(tmp_path / "K.npz")


def test_labels_are_held_against_the_header_of_X_before_X_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "d.npz", X=np.zeros((1000, 30)), y=np.zeros(3))
    read: list[str] = []
    whole = Archive.read
    monkeypatch.setattr(Archive, "read", lambda self, name: read.append(name) or whole(self, name))
    with pytest.raises(InvalidInputError, match=r"shape \(1000,\); found \(3,\)"):
        read_data_file(tmp_path / "d.npz")
    assert read == []


@settings(max_examples=examples(60, 20_000), deadline=None)
@given(data=st.data())
def test_damaged_files_end_in_one_error_of_ours(data: st.DataObject) -> None:
    """Bytes changed, cut, repeated or inserted anywhere."""
    suffix, content = data.draw(st.sampled_from(SOUND))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"d{suffix}"
        path.write_bytes(data.draw(mutants(content)))
        try:
            read_data_file(path)
        except PsdoptError as error:
            assert str(path) in str(error)  # noqa: PT017


def table(text: str):  # type: ignore[no-untyped-def]
    X, y, fields = read_table(Path("d.csv"), text.encode())
    return SimpleNamespace(X=X, y=y, **fields)


@pytest.mark.parametrize("corner", ["", '""', "Unnamed: 0"])
def test_a_first_column_without_a_name_is_an_index_and_no_feature(corner: str) -> None:
    found = table(f"{corner},u,v,kind\n0,1,2,a\n1,3,4,b\n")
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.feature_names == ["u", "v"]
    assert found.notes == (
        "label: column 'kind', the last one", "left out: the first column, which has no name, as names of rows"
    )  # fmt: skip
    assert table(f"{corner},u,kind\nbeta,1,a\ngamma,2,b\n").X.tolist() == [[1.0], [2.0]]


def test_which_columns_are_features_and_which_numbers_labels_are() -> None:
    assert table("id,u,y\n0,5,a\n1,6,b\n").X.tolist() == [[0.0, 5.0], [1.0, 6.0]]  # a name of its own
    assert table("0,5,a\n1,6,b\n").X.tolist() == [[0.0, 5.0], [1.0, 6.0]]
    assert table("0,5,a\n1,6,b\n").notes == ("label: column 3, the last one",)
    assert table("1,1e300\n2,1\n").y.dtype == np.float64
    assert table("1,4\n2,1\n").y.dtype == np.int64
    with pytest.raises(InvalidInputError, match="expected a finite number; found '1_0'"):
        table("u,v,label\n1_0,2,0\n3,4,1\n")


def test_true_and_false_are_features_and_names_of_classes() -> None:
    found = table("True,2,FALSE\nfalse,3,TRUE\n")
    assert found.X.tolist() == [[1.0, 2.0], [0.0, 3.0]]
    assert found.y.tolist() == ["FALSE", "TRUE"]
    assert found.notes[-1] == "true is 1, false 0"


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".XZ", lzma.compress)]
)
def test_compressed_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, compress: Any) -> None:
    path = tmp_path / f"d.csv{suffix}"
    path.write_bytes(compress(b"1,2,a\n3,4,b\n"))
    found = load_dataset(str(path))
    assert (found.name, found.X.tolist(), found.y.tolist()) == ("d", [[1.0, 2.0], [3.0, 4.0]], ["a", "b"])
    path.write_bytes(compress(bytes(10**6))[:-9])
    with pytest.raises(InvalidInputError, match=rf"d\.csv{suffix} is a damaged {suffix} file: "):
        read_data_file(path)
    monkeypatch.setattr("psdopt.data.data_files.memory", lambda: 10**5)
    with pytest.raises(InvalidInputError, match=rf"d\.csv{suffix} must unpack to at most "):
        read_data_file(path)
    absent = tmp_path / "no.csv.gz"
    refused(f"cannot read {absent}: No such file or directory", DataFileError, load_dataset, str(absent))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas_beside_other_separators(mark: str) -> None:
    found = table("1,5;2;a\n3;-4,25e1;b\n".replace(";", mark))
    assert found.X.tolist() == [[1.5, 2.0], [3.0, -42.5]]
    assert found.notes[-1] == "decimal commas"
    with pytest.raises(InvalidInputError, match=r"line 2, column 1: expected a finite number; found '1.000,5'"):
        table("1,5;2;b\n1.000,5;2;a\n".replace(";", mark))


def test_the_separator_is_what_divides_lines_alike() -> None:
    assert table('"a;b",u,y\n1,2,0\n').feature_names == ["a;b", "u"]
    assert table("u;v;y\n1,5;2,5;0\n").X.tolist() == [[1.5, 2.5]]
    with pytest.raises(InvalidInputError, match="expected features and a label; found 1 column"):
        table("1 2 a\n3 4 b\n")
    with pytest.raises(InvalidInputError, match="expected features and a label; found 2 columns, one of them an index"):
        table(",y\n0,a\n1,b\n")


@pytest.mark.parametrize("text", ["1{mark}", "1,2\n3{mark}4\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_line_of_too_many_columns_is_refused_before_it_is_split(monkeypatch, text: str, mark: str) -> None:
    monkeypatch.setattr(text_tables.csv, "reader", None)
    long = text.replace("{mark}", mark * BLOCK)
    with pytest.raises(InvalidInputError, match=f"at most {BLOCK} columns; found {BLOCK + 1}"):
        table(long)
