"""What `psdopt run` prints, writes and draws for graphs, correlations and sensors, and the files that it reads."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.cli.main import main
from psdopt.errors import InvalidInputError
from psdopt.plugins import Dataset, RunOptions, plugin_manager
from psdopt_plugins.relaxations.communities import CommunityDetection
from psdopt_plugins.relaxations.correlation import NearestCorrelation
from psdopt_plugins.relaxations.correlation_report import correlation_report, gappy_correlations
from psdopt_plugins.relaxations.graph_reports import communities_report, maxcut_report, theta_report
from psdopt_plugins.relaxations.maxcut import MaxCut
from psdopt_plugins.relaxations.sensors import SensorLocalization
from psdopt_plugins.relaxations.sensors_report import SensorNetwork, anchors_in, sensor_network, sensors_report
from psdopt_plugins.relaxations.theta import LovaszTheta

ANCHORS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
PLACES = np.array([[0.3, 0.4], [0.6, 0.2], [0.7, 0.6]])


def dataset(name):
    return plugin_manager().get("dataset", name).factory()


def test_a_cut_is_within_its_bound():
    report = maxcut_report(MaxCut(), dataset("torus_graph"), RunOptions())
    rows = dict(report.rows)
    assert rows["graph"] == "torus_graph: 256 vertices, 512 edges"
    assert float(rows["cut"]) <= float(rows["no cut exceeds (proven)"])
    assert report.success
    assert len(report.figure().axes) == 2


def test_theta_is_an_interval():
    report = theta_report(LovaszTheta(), dataset("random_graph"), RunOptions())
    assert report.success
    lower, upper = map(float, dict(report.rows)["theta (proven interval)"].split(" to "))
    assert lower <= upper <= lower * (1 + 1e-5)
    assert len(report.figure().axes) == 2


def test_communities_of_a_graph_and_of_samples():
    report = communities_report(CommunityDetection(3), dataset("planted_graph"), RunOptions())
    rows = dict(report.rows)
    assert report.success
    assert float(rows["adjusted Rand index with the labels"]) > 0.9
    assert float(rows["modularity"]) <= float(rows["no partition exceeds (proven)"])
    assert len(report.figure().axes) == 2
    iris = dataset("iris")
    assert "affinity neighbors" in dict(communities_report(CommunityDetection(3), iris, RunOptions()).rows)["data"]


def test_the_report_repairs_an_indefinite_matrix():
    data = gappy_correlations()
    assert np.linalg.eigvalsh(data.X)[0] < -0.1
    report = correlation_report(NearestCorrelation(), data, RunOptions())
    rows = dict(report.rows)
    assert report.success
    bound = float(rows["no correlation matrix is nearer than (proven)"])
    assert bound <= float(rows["distance |W ∘ (M − G)|"]) <= bound * (1 + 1e-5)
    assert len(report.figure().axes) == 3  # two panels and a scale of colours


def network() -> SensorNetwork:
    nodes = np.concatenate([PLACES, ANCHORS])
    D = np.linalg.norm(nodes[:, None] - nodes, axis=2)
    return SensorNetwork("six", D, symmetric=True, anchors=ANCHORS, positions=PLACES)


def test_the_report_says_how_far_off_the_sensors_are():
    report = sensors_report(SensorLocalization(), network(), RunOptions())
    rows = dict(report.rows)
    assert rows["network"] == "six: 3 sensors, 3 anchors, 12 distances"
    assert float(rows["position error"].split()[0]) < 1e-6
    assert report.success
    np.testing.assert_allclose(report.arrays["positions"], PLACES, atol=1e-6)
    assert len(report.figure().axes) == 2


@pytest.mark.parametrize("name", ["torus_graph", "random_graph", "planted_graph"])
def test_data_sets_are_the_same_every_time(name):
    assert (dataset(name).X != dataset(name).X).nnz == 0


def test_the_data_set_is_a_network_with_the_last_nodes_known():
    data = sensor_network()
    assert data.X.shape[0] == len(data.positions) + len(data.anchors)
    assert (data.X != sensor_network().X).nnz == 0
    assert data.X[: -len(data.anchors)].nnz > 0
    assert data.X[-len(data.anchors) :, -len(data.anchors) :].nnz == 0


def written(tmp_path, *words):
    """What a run writes to a file."""
    out = tmp_path / "out.npz"
    assert main(["run", *map(str, words), "--output", str(out)]) == 0
    with np.load(out, allow_pickle=False) as saved:
        return dict(saved)


def test_a_graph_file_is_cut(tmp_path, capsys):
    half = sp.random_array((30, 30), density=0.1, random_state=np.random.default_rng(0))
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(half + half.T))
    saved = written(tmp_path, "maxcut", "--data", tmp_path / "graph.npz", "--set", "trials=10")
    assert "proven share" in capsys.readouterr().out
    assert saved["labels"].shape == (30,)


def test_a_symmetric_matrix_from_a_file(tmp_path, capsys):
    np.savez(tmp_path / "g.npz", K=gappy_correlations().X)
    saved = written(tmp_path, "nearest-correlation", "--data", tmp_path / "g.npz", "--rank", 3)
    assert "smallest eigenvalue of G" in capsys.readouterr().out
    assert np.linalg.matrix_rank(saved["correlation"], tol=1e-8) == 3


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".txt"])
def test_distances_and_anchors_come_from_files(tmp_path, capsys, suffix):
    sp.save_npz(tmp_path / "net.npz", sp.csr_array(network().X))
    anchors = str(tmp_path / f"anchors{suffix}")
    if suffix == ".npy":
        np.save(anchors, ANCHORS)
    else:
        np.savetxt(anchors, ANCHORS, delimiter="," if suffix == ".csv" else " ")
    saved = written(tmp_path, "sensor-localization", "--data", tmp_path / "net.npz", "--set", f"anchors={anchors}")
    assert "12 distances" in capsys.readouterr().out
    np.testing.assert_allclose(saved["positions"], PLACES, atol=1e-6)


def test_samples_are_no_graph_and_a_network_has_anchors(capsys):
    assert main(["run", "maxcut", "--data", "iris"]) == 2
    assert "square" in capsys.readouterr().err
    with pytest.raises(InvalidInputError, match="anchors=FILE"):
        sensors_report(SensorLocalization(), Dataset("bare", network().X, symmetric=True), RunOptions())


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("words.csv", b"a,b\n", "anchors"), ("ragged.csv", b"1,2\n3\n", "anchors"), ("none.npy", None, "cannot read"),
        ("deep.npy", b"\x93NUMPY\x01\x00\x0a\x00" + b"(" * 9 + b"\n", "cannot read"),
        ("packed.csv", b"\x1f\x8b\x08\x00", "cannot read"),
        ("long.csv", b"1," * 2**23 + b"1", "at most 16777216 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_file_of_anchors_that_is_none_is_one_error(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=words):
        anchors_in(str(tmp_path / name))


@pytest.mark.parametrize("array", [np.ones((3, 2)) + 1j, np.zeros((3, 2), dtype="M8[s]"), np.array([["a", "b"]])])
def test_anchors_are_real_numbers(tmp_path, array):
    np.save(tmp_path / "anchors.npy", array)
    with pytest.raises(InvalidInputError, match="must hold an array of real numbers; found dtype"):
        anchors_in(str(tmp_path / "anchors.npy"))
