"""What `psdopt run sensor-localization` prints, writes and draws."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.cli.main import main
from psdopt.errors import InvalidInputError
from psdopt.plugins import Dataset, RunOptions
from psdopt_plugins.relaxations.sensors import SensorLocalization
from psdopt_plugins.relaxations.sensors_report import SensorNetwork, anchors_in, sensor_network, sensors_report

ANCHORS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
PLACES = np.array([[0.3, 0.4], [0.6, 0.2], [0.7, 0.6]])


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
    assert len(report.figure().axes) == 4


def test_the_data_set_is_a_network_with_the_last_nodes_known():
    data = sensor_network()
    assert data.X.shape[0] == len(data.positions) + len(data.anchors)
    assert (data.X != sensor_network().X).nnz == 0
    assert data.X[: -len(data.anchors)].nnz > 0
    assert data.X[-len(data.anchors) :, -len(data.anchors) :].nnz == 0


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".txt"])
def test_distances_and_anchors_come_from_files(tmp_path, capsys, suffix):
    sp.save_npz(tmp_path / "net.npz", sp.csr_array(network().X))
    anchors = str(tmp_path / f"anchors{suffix}")
    if suffix == ".npy":
        np.save(anchors, ANCHORS)
    else:
        np.savetxt(anchors, ANCHORS, delimiter="," if suffix == ".csv" else " ")
    out = tmp_path / "out.npz"
    words = ["run", "sensor-localization", "--data", str(tmp_path / "net.npz"), "--set", f"anchors={anchors}"]
    assert main([*words, "--output", str(out)]) == 0
    assert "12 distances" in capsys.readouterr().out
    with np.load(out, allow_pickle=False) as saved:
        np.testing.assert_allclose(saved["positions"], PLACES, atol=1e-6)


def test_a_network_without_anchors_is_refused():
    with pytest.raises(InvalidInputError, match="anchors=FILE"):
        sensors_report(SensorLocalization(), Dataset("bare", network().X, symmetric=True), RunOptions())


@pytest.mark.parametrize("content", ["a,b\n", "1,2\n3\n"])
def test_files_without_anchors_are_one_error(tmp_path, content):
    path = tmp_path / "anchors.csv"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match="anchors"):
        anchors_in(str(path))
    with pytest.raises(InvalidInputError, match="cannot read"):
        anchors_in(str(tmp_path / "none.npy"))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("deep.npy", b"\x93NUMPY\x01\x00\x0a\x00" + b"(" * 9 + b"\n", "cannot read"),
        ("packed.csv", b"\x1f\x8b\x08\x00", "cannot read"),
        ("long.csv", b"1," * 2**23 + b"1", "at most 16777216 bytes"),
    ],
)
def test_a_file_of_anchors_that_is_none_is_one_error(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=words):
        anchors_in(str(tmp_path / name))


@pytest.mark.parametrize("array", [np.ones((3, 2)) + 1j, np.zeros((3, 2), dtype="M8[s]"), np.array([["a", "b"]])])
def test_anchors_are_real_numbers(tmp_path, array):
    np.save(tmp_path / "anchors.npy", array)
    with pytest.raises(InvalidInputError, match="must hold an array of real numbers; found dtype"):
        anchors_in(str(tmp_path / "anchors.npy"))
