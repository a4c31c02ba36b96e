"""Every example in the pages runs and prints what it shows."""

import doctest
from pathlib import Path

import pytest

import psdopt

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
