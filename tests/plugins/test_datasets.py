"""Data sets by name: those of plugins come before files."""

from pathlib import Path

import pytest

from psdopt.errors import UnknownNameError
from psdopt.plugins import PluginManager
from psdopt.plugins.datasets import load_dataset
from tests.data.test_data_files import csv_file


def test_names_come_before_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager([])
    assert load_dataset("iris", manager).name == "iris"
    csv_file(tmp_path, "1,2,a\n3,4,b\n")
    assert load_dataset(str(tmp_path / "d.csv"), manager).X.shape == (2, 2)
    monkeypatch.chdir(tmp_path)
    assert load_dataset("d.csv", manager).X.shape == (2, 2)
    with pytest.raises(UnknownNameError) as caught:
        load_dataset("wines", manager)
    hint = "a file must end in .npz, .npy, .csv, .tsv, .parquet, .zarr, .h5"
    assert str(caught.value) == f"unknown data set 'wines'; did you mean 'wine'?; {hint}"
