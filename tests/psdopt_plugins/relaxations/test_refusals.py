"""What relaxations refuse: graphs, networks, bounds and options that are none."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.relaxations.communities import CommunityDetection
from psdopt_plugins.relaxations.correlation import NearestCorrelation
from psdopt_plugins.relaxations.graphs import Graph
from psdopt_plugins.relaxations.maxcut import MaxCut, maxcut_problem
from psdopt_plugins.relaxations.rounding import hyperplane_cut
from psdopt_plugins.relaxations.sensors import SensorLocalization
from psdopt_plugins.relaxations.sensors_problem import sensor_problem
from psdopt_plugins.relaxations.theta import lovasz_theta
from tests.psdopt_plugins.relaxations.graphs import CORNERS, distances, graph, network

UPPER, WIDE = np.triu(np.ones((4, 4))), np.array([[1.0, 1.5], [1.5, 1.0]])
NETWORK, SENSORS = distances(*network()).toarray(), np.where(np.arange(16) < 12, 1.0, 0.0)
WEIGHED, LOCATED = CommunityDetection(affinity="precomputed"), SensorLocalization(CORNERS)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "arguments", "text"),
    [
        (WEIGHED.fit, (-graph(6, 0),), "at least 0"), (WEIGHED.fit, (np.zeros((4, 4)),), "edge"),
        (MaxCut().fit, (np.zeros((4, 4)),), "edge"), (MaxCut().fit, (np.ones((3, 2)),), "square"),
        (MaxCut().fit, (UPPER,), "symmetric"), (lovasz_theta, (UPPER,), "symmetric"),
        (maxcut_problem, (1.5e308 * (1.0 - np.eye(2)),),
         r"W must be finite, in sum too; found weights up to 1\.5e\+308"),
        (hyperplane_cut, (sp.csr_array(graph(30, 4)), np.ones((30, 2)), RNG, 0), "trials"),
        (hyperplane_cut, (sp.csr_array(graph(30, 4)), np.ones((4, 2)), RNG), "30 vertices"),
        (NearestCorrelation(weights=np.eye(5)).fit, (np.eye(5),), "weights"),
        (NearestCorrelation(weights=np.triu(np.ones((5, 5)))).fit, (np.eye(5),), "symmetric"),
        (NearestCorrelation(fixed=[(0, 0)]).fit, (np.eye(5),), "different"),
        (NearestCorrelation(fixed=[(0, 7)]).fit, (np.eye(5),), "fixed"),
        (NearestCorrelation(fixed=[(0, 1, 2)]).fit, (np.eye(5),), "fixed"),
        (NearestCorrelation(fixed=[(0, 1)]).fit, (WIDE,), "between -1 and 1"),
        (SensorLocalization(np.zeros((4, 0))).fit, (NETWORK,), "anchors"),
        (SensorLocalization().fit, (0.0 * NETWORK,), "no distance"),
        (SensorLocalization(np.zeros((16, 2))).fit, (NETWORK,), "anchors"),
        (SensorLocalization(CORNERS, error=1.0).fit, (NETWORK,), "error"),
        (LOCATED.fit, (NETWORK - 1.0,), "at least 0"), (LOCATED.fit, (np.triu(NETWORK),), "symmetric"),
        (LOCATED.fit, (NETWORK[:, :5],), "square"), (LOCATED.fit, (0.0 * NETWORK,), "no distance"),
        (LOCATED.fit, (NETWORK * np.outer(SENSORS, SENSORS),), "joined to an anchor"),
    ],
)  # fmt: skip
def test_what_is_no_graph_or_network_is_refused(call, arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        call(*arguments)


def test_other_types_are_refused():
    with pytest.raises(InvalidTypeError, match="fixed"):
        NearestCorrelation(fixed=[(0.5, 1.0)]).fit(np.eye(5))
    with pytest.raises(InvalidTypeError, match="array"):
        Graph.of(sp.linalg.aslinearoperator(np.eye(3)))


@pytest.mark.parametrize("name", ["lower", "upper"])
@pytest.mark.parametrize(
    ("bound", "text"),
    [(np.ones((3, 3)), "shape"), (np.full((16, 16), "a"), "numbers"), (-np.ones((16, 16)), "at least")],
)
def test_bad_bounds_are_refused(name, bound, text):
    with pytest.raises(InvalidInputError, match=rf"{name}.*{text}"):
        LOCATED.fit(NETWORK, **{name: bound})


@pytest.mark.parametrize(
    ("pairs", "lengths", "options", "text"),
    [
        ([(0, 0)], [1.0], {}, "different"), ([(2, 3)], [1.0], {}, "sensor"), ([(0, 9)], [1.0], {}, "pairs"),
        ([(0, 1)], [0.0], {}, "above 0"), ([(0, 1)], [np.inf], {}, "finite"), ([(0, 1)], [np.nan], {}, "distances"),
        ([(0, 1)], [1.0, 2.0], {}, "distances"), ([], [], {}, "pairs"),
        ([(0, 1)], [1.0], {"lower": [2.0], "upper": [1.0]}, "lower"), ([(0, 1)], [1.0], {"upper": [1.0, 2.0]}, "upper"),
    ],
)  # fmt: skip
def test_bad_pairs_are_refused(pairs, lengths, options, text):
    with pytest.raises(InvalidInputError, match=text):
        sensor_problem(2, pairs, lengths, CORNERS, **options)
