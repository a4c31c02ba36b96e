"""The label and the columns that are left out, by name, by number, and by what was asked for."""

import numpy as np
import pytest

from psdopt.data.columns import Choice, columns_of
from psdopt.data.data_files import read_data_file
from psdopt.errors import InvalidInputError, PsdoptError, UnknownNameError
from psdopt.plugins.datasets import load_dataset
from tests.refusals import refused

TEXT = "id,u,kind,v,region\n7,1,a,2,n\n8,3,b,4,s\n9,5,a,6,w\n"


def written(path, suffix):
    """TEXT as a file of this kind."""
    found = path / f"d{suffix}"
    if suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        header, *rows = [line.split(",") for line in TEXT.split()]
        columns = [[int(cell) if cell.isdigit() else cell for cell in column] for column in zip(*rows, strict=True)]
        parquet.write_table(pa.table(dict(zip(header, columns, strict=True))), found)
    else:
        found.write_text(TEXT if suffix == ".csv" else TEXT.replace(",", "\t"))
    return found


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_label_and_dropped_columns_are_those_asked_for(tmp_path, suffix):
    data = load_dataset(str(written(tmp_path, suffix)), choice=Choice("kind", ("id", "region")))
    assert data.X.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert data.y.tolist() == ["a", "b", "a"]
    assert data.feature_names == ["u", "v"]
    assert data.notes == (
        "label: column 'kind'",
        "left out: column 'id', as asked",
        "left out: column 'region', as asked",
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_column_of_text_tells_which_one_was_the_label_and_what_to_do(tmp_path, suffix):
    path = written(tmp_path, suffix)
    told = "Column 'region', the last one, was taken as the label; --label NAME names another, --drop NAME leaves"
    with pytest.raises(PsdoptError, match=f"column 'kind'.*{told}"):
        read_data_file(path)
    with pytest.raises(PsdoptError, match=r"column 'region'.*Column 'kind' was taken as the label; --label"):
        read_data_file(path, Choice("kind"))


def test_the_last_column_that_is_left_is_the_label_and_an_index_may_be_one():
    found = columns_of("d", ["u", "v", "w"], 3, Choice(drop=("w",)), [])
    assert (found.label, found.features, found.notes()[0]) == (1, [0], "label: column 'v', the last one")
    found = columns_of("d", ["", "u", "v"], 3, Choice(""), [0])
    assert (found.label, found.index, found.features) == (0, [], [1, 2])
    found = columns_of("d", ["u", "v", "w", "x"], 4, Choice(drop=("u,w",)), [])
    assert (list(found.features), found.label, list(found.dropped)) == ([1], 3, [0, 2])
    found = columns_of("d", ["u", "u,w", "w", "x"], 4, Choice(drop=("u,w",)), [])  # a name with a comma comes first
    assert list(found.dropped) == [1]
    found = columns_of("d", ["Y", "u", "v"], 3, Choice(drop=("Y",)), [])
    assert (found.label, found.features) == (2, [1])


def test_columns_without_names_go_by_their_numbers():
    found = columns_of("d", None, 4, Choice("2", ("4",)), [])
    assert (found.label, found.features) == (1, [0, 2])
    assert found.notes() == ("label: column 2", "left out: column 4, as asked")
    with pytest.raises(UnknownNameError, match="unknown --drop column '5'"):
        columns_of("d", None, 4, Choice(drop=("5",)), [])


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (Choice("knd"), "unknown --label column 'knd'; did you mean 'kind'?"),
        (Choice(drop=("kin",)), "unknown --drop column 'kin'; did you mean 'kind'?"),
        (Choice(drop=("id,kin",)), "unknown --drop column 'kin'; did you mean 'kind'?"),
        (Choice("id", ("id",)), "--label and --drop both name 'id'"),
        (Choice("id", ("kind", "u")), "d: expected features and a label; found 3 columns, 2 of them dropped"),
        (Choice(drop=("id", "kind", "u")), "d: expected features and a label; found 3 columns, 3 of them dropped"),
    ],
)
def test_choices_that_cannot_be_met(choice, text):
    with pytest.raises(InvalidInputError) as caught:
        columns_of("d", ["id", "u", "kind"], 3, choice, [])
    assert str(caught.value) == text


def test_where_there_are_no_columns_a_choice_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    told = f"--label and --drop name columns of a table (.csv, .tsv, .parquet); {tmp_path / 'x.npy'} is none"
    refused(told, InvalidInputError, read_data_file, tmp_path / "x.npy", Choice("y"))
    with pytest.raises(InvalidInputError, match="columns of a file; iris is a data set by name"):
        load_dataset("iris", choice=Choice(drop=("y",)))
