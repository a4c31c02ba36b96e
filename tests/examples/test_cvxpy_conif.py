"""The interface in CVXPY's own form passes the tests that go with it."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("cvxpy")
FOLDER = Path(__file__).parents[2] / "examples" / "cvxpy_conif"
sys.path.insert(0, str(FOLDER))
try:
    from test_psdopt_conif import *  # noqa: F403
finally:
    sys.path.remove(str(FOLDER))


def test_the_page_names_the_files():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(path.name in text for path in FOLDER.glob("*.py"))
