"""What `psdopt run` prints, writes and draws for graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.cli.main import main
from psdopt.plugins import RunOptions, plugin_manager
from psdopt_plugins.relaxations.communities import CommunityDetection
from psdopt_plugins.relaxations.graph_reports import communities_report, maxcut_report, theta_report
from psdopt_plugins.relaxations.maxcut import MaxCut
from psdopt_plugins.relaxations.theta import LovaszTheta


def test_the_report_says_what_the_estimator_found():
    data = plugin_manager().get("dataset", "torus_graph").factory()
    report = maxcut_report(MaxCut(), data, RunOptions())
    rows = dict(report.rows)
    assert rows["graph"] == "torus_graph: 256 vertices, 512 edges"
    assert float(rows["cut"]) <= float(rows["no cut exceeds (proven)"])
    assert report.success
    assert len(report.figure().axes) == 4


def test_a_graph_file_is_cut(tmp_path, capsys):
    rng = np.random.default_rng(0)
    half = sp.random_array((30, 30), density=0.1, random_state=rng)
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(half + half.T))
    out = tmp_path / "out.npz"
    code = main(["run", "maxcut", "--data", str(tmp_path / "graph.npz"), "--set", "trials=10", "--output", str(out)])
    assert code == 0
    assert "proven share" in capsys.readouterr().out
    with np.load(out, allow_pickle=False) as saved:
        assert saved["labels"].shape == (30,)


def test_the_report_of_theta_draws_the_graph():
    data = plugin_manager().get("dataset", "random_graph").factory()
    report = theta_report(LovaszTheta(), data, RunOptions())
    assert report.success
    lower, upper = map(float, dict(report.rows)["theta (proven interval)"].split(" to "))
    assert lower <= upper <= lower * (1 + 1e-5)
    assert len(report.figure().axes) == 4


def test_communities_of_a_graph_and_of_samples():
    data = plugin_manager().get("dataset", "planted_graph").factory()
    report = communities_report(CommunityDetection(3), data, RunOptions())
    rows = dict(report.rows)
    assert report.success
    assert float(rows["adjusted Rand index with the labels"]) > 0.9
    assert float(rows["modularity"]) <= float(rows["no partition exceeds (proven)"])
    assert len(report.figure().axes) == 4
    iris = plugin_manager().get("dataset", "iris").factory()
    assert "affinity neighbors" in dict(communities_report(CommunityDetection(3), iris, RunOptions()).rows)["data"]


def test_samples_are_no_graph(capsys):
    assert main(["run", "maxcut", "--data", "iris"]) == 2
    assert "square" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["torus_graph", "random_graph", "planted_graph"])
def test_data_sets_are_the_same_every_time(name):
    make = plugin_manager().get("dataset", name).factory
    assert (make().X != make().X).nnz == 0
