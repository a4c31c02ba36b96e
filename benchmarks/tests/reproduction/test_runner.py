"""Cases are measured once; what fails or is not there does not end the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reproduction.experiments import ExperimentCase
from benchmarks.reproduction.runner import Outcome, data_folder, lacks, run_experiment
from benchmarks.reproduction.store import Store
from benchmarks.tests.reproduction.toy import ToyPaper
from psdopt.errors import DataFileError

CODE = {"version": "1", "commit": "abc"}


def run(paper: ToyPaper, path: Path, **options: bool) -> Outcome:
    spec = paper.specs()[0]
    return run_experiment(spec, Store(path / "a.json"), CODE, **options)  # type: ignore[arg-type]


def test_a_second_run_measures_nothing(tmp_path: Path) -> None:
    paper = ToyPaper()
    first, second = run(paper, tmp_path), run(paper, tmp_path)
    assert paper.measured == ["first", "second"]
    assert (first.measured, first.kept, second.measured, second.kept) == (2, 0, 0, 2)
    assert first.findings.tables == second.findings.tables


def test_other_settings_are_measured_again_and_again_means_everything(tmp_path: Path) -> None:
    paper = ToyPaper()
    run(paper, tmp_path)
    paper.size = 4
    assert run(paper, tmp_path).findings.tables[0].rows[0][1] == "8.0"
    assert run(paper, tmp_path, again=True).measured == 2
    assert len(paper.measured) == 6


def test_results_of_other_settings_are_not_shown(tmp_path: Path) -> None:
    def fails(name: str) -> None:
        if name == "second" and paper.size == 4:
            raise ZeroDivisionError("by zero")

    paper = ToyPaper(fails)
    run(paper, tmp_path)
    paper.size = 4
    outcome = run(paper, tmp_path)
    assert [row[0] for row in outcome.findings.tables[0].rows] == ["first"]
    assert outcome.failed == {"second": "ZeroDivisionError: by zero"}


def test_showing_what_is_kept_measures_nothing(tmp_path: Path) -> None:
    paper = ToyPaper()
    assert run(paper, tmp_path, measure=False).missing["first"] == "not measured"
    assert paper.measured == []


def test_what_a_case_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.npz").write_bytes(b"")
    monkeypatch.setenv("PSDOPT_DATA", str(tmp_path))
    assert lacks(ExperimentCase("a", {}, ("here",), ("json",))) == ""
    assert lacks(ExperimentCase("a", {}, ("here", "gone"), ("nopack",))) == "data gone; packages nopack"
    monkeypatch.delenv("PSDOPT_DATA")
    assert lacks(ExperimentCase("a", {}, ("here",))) == "data here"
    programs = ExperimentCase("a", files=("TOY_PROGRAMS/plain.dat-s", "TOY_PROGRAMS/packed.dat-s"))
    assert lacks(programs) == "data plain.dat-s, packed.dat-s"
    monkeypatch.setenv("TOY_PROGRAMS", str(tmp_path))
    (tmp_path / "packed.dat-s.gz").write_bytes(b"")
    assert lacks(programs) == "data plain.dat-s"
    monkeypatch.setenv("PSDOPT_DATA", str(tmp_path / "none"))
    with pytest.raises(DataFileError, match="no folder"):
        data_folder()
    monkeypatch.delenv("PSDOPT_DATA")
    assert data_folder() is None
