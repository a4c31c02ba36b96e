"""Every example in the pages runs and prints what it shows."""

import doctest
from pathlib import Path

import pytest

import psdopt
from psdopt.cli.main import main

ROOT = Path(psdopt.__file__).resolve().parents[1]
PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if ">>> " in page.read_text("utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_examples_run_as_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, examples = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert examples > 0
    assert failures == 0


def test_the_first_command_of_the_readme_prints_what_it_shows(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    block = (ROOT / "README.md").read_text("utf-8").partition("and prints\n\n")[2].partition("\n\n")[0]
    *shown, dots, bound = [line.split() for line in block.splitlines()]
    assert (len(shown), dots) == (4, ["..."])
    assert main(["run", "metric-kta", "--data", "wine"]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown if line not in printed] == []
    (found,) = [line for line in printed if line[:-2] == bound[:-2]]
    assert float(found[-2]) <= 1e-6  # the bound that the text below states; its digits are rounding
