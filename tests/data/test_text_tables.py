"""Tables as text: which column is what, and how numbers are written."""

from pathlib import Path

import numpy as np
import pytest

from psdopt.data import text_tables
from psdopt.data.text_tables import read_table
from psdopt.errors import InvalidInputError
from psdopt.linalg.limits import BLOCK


def table(text: str):  # type: ignore[no-untyped-def]
    return read_table(Path("d.csv"), text.encode())


@pytest.mark.parametrize("corner", ["", '""', "Unnamed: 0"])
def test_a_first_column_without_a_name_is_an_index_and_no_feature(corner: str) -> None:
    found = table(f"{corner},u,v,kind\n0,1,2,a\n1,3,4,b\n")
    assert found.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert found.feature_names == ["u", "v"]
    assert found.notes == (
        "label: column 'kind', the last one", "left out: the first column, which has no name, as names of rows"
    )  # fmt: skip
    assert table(f"{corner},u,kind\nbeta,1,a\ngamma,2,b\n").X.tolist() == [[1.0], [2.0]]


def test_a_frame_written_by_pandas_is_read_as_it_was() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"u": [1.5, 2.5], "v": [3.0, 4.0], "target": [1, 0]})
    for text in (frame.to_csv(), frame.to_csv(index=False), frame.to_csv(sep=";", decimal=","), frame.to_csv(sep="\t")):
        found = table(text)
        assert found.X.tolist() == [[1.5, 3.0], [2.5, 4.0]]
        assert found.y.tolist() == [1, 0]
        assert found.notes[0] == "label: column 'target'"


def test_a_named_column_of_numbers_stays_a_feature_and_so_does_one_without_header() -> None:
    assert table("id,u,y\n0,5,a\n1,6,b\n").X.tolist() == [[0.0, 5.0], [1.0, 6.0]]
    assert table("0,5,a\n1,6,b\n").X.tolist() == [[0.0, 5.0], [1.0, 6.0]]
    assert table("0,5,a\n1,6,b\n").notes == ("label: column 3, the last one",)


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


def test_labels_beyond_integers_stay_numbers() -> None:
    assert table("1,1e300\n2,1\n").y.dtype == np.float64
    assert table("1,4\n2,1\n").y.dtype == np.int64


@pytest.mark.parametrize("text", ["1{mark}", "1,2\n3{mark}4\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_line_of_too_many_columns_is_refused_before_it_is_split(monkeypatch, text: str, mark: str) -> None:
    monkeypatch.setattr(text_tables.csv, "reader", None)
    long = text.replace("{mark}", mark * BLOCK)
    with pytest.raises(InvalidInputError, match=f"at most {BLOCK} columns; found {BLOCK + 1}"):
        table(long)


def test_underscores_make_no_number() -> None:
    with pytest.raises(InvalidInputError, match="expected a finite number; found '1_0'"):
        table("u,v,label\n1_0,2,0\n3,4,1\n")
