"""The version is written once: package, metadata, citation and changelog agree with it."""

import re
from importlib import metadata
from pathlib import Path

import psdopt
from psdopt.version import __version__

ROOT = Path(psdopt.__file__).resolve().parents[1]


def test_everything_that_names_the_version_agrees():
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert psdopt.__version__ == __version__ == metadata.version("psdopt")
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[1] == __version__
