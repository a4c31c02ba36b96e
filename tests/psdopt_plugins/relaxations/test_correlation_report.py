"""What `psdopt run nearest-correlation` prints, writes and draws."""

import numpy as np

from psdopt.cli.main import main
from psdopt.plugins import RunOptions
from psdopt_plugins.relaxations.correlation import NearestCorrelation
from psdopt_plugins.relaxations.correlation_report import correlation_report, gappy_correlations


def test_the_report_repairs_an_indefinite_matrix():
    data = gappy_correlations()
    assert np.linalg.eigvalsh(data.X)[0] < -0.1
    report = correlation_report(NearestCorrelation(), data, RunOptions())
    rows = dict(report.rows)
    assert report.success
    bound = float(rows["no correlation matrix is nearer than (proven)"])
    assert bound <= float(rows["distance |W ∘ (M − G)|"]) <= bound * (1 + 1e-5)
    assert len(report.figure().axes) == 5  # four panels and a scale of colours


def test_a_symmetric_matrix_from_a_file(tmp_path, capsys):
    np.savez(tmp_path / "g.npz", K=gappy_correlations().X)
    out = tmp_path / "out.npz"
    assert (
        main(["run", "nearest-correlation", "--data", str(tmp_path / "g.npz"), "--rank", "3", "--output", str(out)])
        == 0
    )
    assert "smallest eigenvalue of G" in capsys.readouterr().out
    with np.load(out, allow_pickle=False) as saved:
        assert np.linalg.matrix_rank(saved["correlation"], tol=1e-8) == 3
