"""Files that ``psdopt run`` writes hold the numbers of the result, and wrong names are refused before the run."""

import json
from pathlib import Path

import numpy as np
import pytest

import psdopt
from psdopt.cli.outputs import PLOT_SUFFIXES, check_output, write_output
from psdopt.errors import DataFileError, InvalidInputError
from psdopt.reports.record import Report


@pytest.fixture(scope="module")
def report() -> Report:
    result = psdopt.solve(psdopt.QuadraticSDP(B=1.0, C=-np.diag([2.0, 1.0, -1.0])))
    return Report("a run", [("label", "text")], result, True, arrays={"angles": [1.0, 2.0]})


def test_npz_holds_factor_history_arrays_and_numbers(report: Report, tmp_path: Path) -> None:
    write_output(report, str(tmp_path / "a.npz"))
    with np.load(tmp_path / "a.npz") as saved:
        assert np.allclose(saved["factor"] @ saved["factor"].T, np.diag([2.0, 1.0, 0.0]))
        assert np.array_equal(saved["history_value"], report.result.history["value"])
        assert saved["angles"].tolist() == [1.0, 2.0]
        summary = json.loads(str(saved["summary"]))
    assert summary["success"] is True
    assert summary["report"] == {"label": "text"}


def test_json_holds_the_same_numbers(report: Report, tmp_path: Path) -> None:
    write_output(report, str(tmp_path / "a.JSON"))
    summary = json.loads((tmp_path / "a.JSON").read_text(encoding="utf-8"))
    assert summary["value"] == report.result.value
    assert summary["report"] == {"label": "text"}


def test_names_are_checked(tmp_path: Path) -> None:
    check_output(None)
    check_output(str(tmp_path / "a.NPZ"))
    check_output(str(tmp_path / "a.svg"), "--plot", PLOT_SUFFIXES)
    with pytest.raises(InvalidInputError, match=r"--output must end in .npz, .json; found 'a.csv'"):
        check_output("a.csv")
    with pytest.raises(InvalidInputError, match=r"--plot must end in .png, .pdf, .svg; found 'a.jpg'"):
        check_output("a.jpg", "--plot", PLOT_SUFFIXES)
    with pytest.raises(DataFileError, match=r"--output: the folder .*absent does not exist; make it first"):
        check_output(str(tmp_path / "absent" / "a.npz"))
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(DataFileError, match=r"is a folder; name a file"):
        check_output(str(tmp_path / "folder.npz"))
