"""Pages of the gallery as tests run them: without a screen, and with their variables at hand."""

import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


@pytest.fixture(scope="module")
def run():
    """Runs a page, "folder/name.py", and gives its variables."""
    pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "Agg")
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        yield lambda page: runpy.run_path(str(GALLERY / page))
        plt.close("all")
