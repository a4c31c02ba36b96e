"""``python -m benchmarks reproduce``: a report from end to end, an interrupted run that goes on, clear errors."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMELESS
from benchmarks.papers import EXPERIMENTS
from benchmarks.reproduce import main
from benchmarks.tests.reproduction.toy import ToyPaper
from psdopt.cli.main import answered

KILLED = """
import os, sys
from benchmarks.reproduce import main
from benchmarks.tests.reproduction.toy import ToyPaper

seen = []
def dies(name):
    seen.append(name)
    if len(seen) == 4:
        os._exit(9)

main(["--out", sys.argv[1]], ToyPaper(dies).specs())
"""


def reproduce(paper: ToyPaper, out: Path, *arguments: str) -> int:
    return answered(lambda: main(["--out", str(out), *arguments], paper.specs()), NAMELESS)


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSDOPT_DATA", raising=False)


def test_report_pages_pictures_and_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "toy.md").write_text("<!-- table toy-table-2 --><!-- end -->\n")
    assert reproduce(ToyPaper(), tmp_path / "out", "--pages", str(pages)) == 0
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert written == {
        "out/report.html", "out/pages/toy.md", "out/results/toy-table-1.json", "out/results/toy-table-2.json",
        "out/pages/figures/toy-table-1-course.png", "out/pages/figures/toy-table-2-course.png",
        "pages/toy.md", "pages/figures/toy-table-2-course.png", "pages/results/toy-table-2.json",
    }  # fmt: skip
    assert "| first | 6.0 |" in (pages / "toy.md").read_text()
    out = capsys.readouterr().out
    assert "1 of 1 data sets are missing (PSDOPT_DATA names no folder): no_such_set" in out
    assert "toy-table-1: Of 2 figures 2 are worse than the paper's." in out


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=root, capture_output=True, timeout=120)
    assert done.returncode == 9
    assert not (tmp_path / "report.html").exists()
    paper = ToyPaper()
    assert reproduce(paper, tmp_path) == 0
    assert paper.measured == ["second"]  # of the second table: all else was kept
    assert (tmp_path / "report.html").exists()


def test_an_interrupt_ends_the_run_and_keeps_what_there_is(tmp_path: Path) -> None:
    def interrupted(name: str) -> None:
        if name == "second":
            raise KeyboardInterrupt

    assert reproduce(ToyPaper(interrupted), tmp_path) == 130
    kept = json.loads((tmp_path / "results" / "toy-table-1.json").read_text())
    assert list(kept["cases"]) == ["first"]
    paper = ToyPaper()
    assert reproduce(paper, tmp_path) == 0
    assert paper.measured == ["second", "first", "second"]


def test_a_failed_case_is_in_the_report_and_in_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(name: str) -> None:
        if name == "first":
            raise ValueError("no <good>")

    assert reproduce(ToyPaper(fails), tmp_path) == 1
    assert "Failed: first: ValueError: no &lt;good&gt;" in (tmp_path / "report.html").read_text()
    assert "toy-table-1, first: failed, ValueError: no <good>" in capsys.readouterr().out


def test_quick_again_and_stored(tmp_path: Path) -> None:
    paper = ToyPaper()
    assert reproduce(paper, tmp_path, "--quick") == 0
    assert reproduce(paper, tmp_path, "--quick", "--only", "toy-table-2", "--again") == 0
    assert len(paper.measured) == 6
    assert {path.name for path in (tmp_path / "quick").iterdir()} == {"toy-table-1.json", "toy-table-2.json"}
    assert reproduce(paper, tmp_path, "--stored") == 0  # nothing of full size was measured
    assert len(paper.measured) == 6
    assert "Nothing was measured." in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--paper", "tiy"], "unknown paper 'tiy'; did you mean 'toy'?"),
        (["--only", "toy-table-7"], "unknown experiment 'toy-table-7'; did you mean 'toy-table-2', 'toy-table-1'?"),
        (["--again", "--stored"], "--again measures everything and --stored nothing: give one of them"),
        (["--pages", "nowhere"], "--pages: nowhere is no folder; name the folder of the pages"),
    ],
)
def test_wrong_use_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    paper = ToyPaper()
    assert reproduce(paper, tmp_path / "out", *arguments) == 2
    assert capsys.readouterr().err == f"psdopt: error: {message}\n"
    assert paper.measured == []
    assert not (tmp_path / "out").exists()


def test_experiments_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(ToyPaper(), tmp_path, "--list") == 0
    assert "toy-table-1" in capsys.readouterr().out


def test_every_paper_at_small_sizes_without_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every experiment that has a small case without data measures it, and the report shows them all."""
    monkeypatch.setattr("psdopt.running.plotting.style.RESOLUTION_DPI", 30)
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text()
    assert all(f'<h3 id="{spec.name}">' in text for spec in EXPERIMENTS)
    without = WITHOUT_SMALL_CASE | {name for name, peer in PEERS.items() if find_spec(peer) is None}
    assert text.count("Nothing was measured.") <= len(without)
    measured = {path.stem for path in (tmp_path / "quick").iterdir()}
    assert {spec.name for spec in EXPERIMENTS} - measured == without


#: Experiments that are races with an optional solver.
PEERS = {"bilgo-conic": "cvxpy", "kl-admm-conic": "cvxpy", "psdboost-seconds": "clarabel"}
#: Experiments whose every case needs a stored data set.
WITHOUT_SMALL_CASE = {
    "kl-admm-conic-sets",
    "kl-admm-table-2-adult",
    "psdboost-pendigits",
    "psdboost-pixels",
    "regression-figure-7",
    "sdp-sdplib",
}
