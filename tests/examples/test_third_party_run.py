"""``psdopt run`` on the example plugin: a new kind of application has a table and a picture of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from psdopt.cli.main import main
from psdopt.plugins import PluginManager

FOLDER = Path(__file__).parents[2] / "examples" / "third_party_plugin"


@pytest.fixture
def manager(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import nearest_correlation

    made = PluginManager([])
    made.names("application")  # the core comes first
    made.register(nearest_correlation, "nearest_correlation")
    return made


def test_it_runs_without_solver_options_and_draws_its_own_picture(manager, capsys, monkeypatch, tmp_path):
    import nearest_correlation.picture as picture

    drawn = []
    monkeypatch.setattr(picture, "new_figure", lambda *size: drawn.append(size) or _figure(*size))
    code = main(["run", "low-rank-correlation", "--data", "wine", "--plot", str(tmp_path / "c.png")], manager)
    out, err = capsys.readouterr()
    assert code in (0, 1), err
    assert "LowRankCorrelation on wine" in out
    assert "UnitDiagonal(n=13, r=2)" in out
    assert not re.search(r"\binf\b", out)  # F(M) is above F(0): residuals have no relative size
    assert drawn == [(5.6, 4.6)]
    assert (tmp_path / "c.png").stat().st_size > 0


def _figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=30, layout="constrained")
