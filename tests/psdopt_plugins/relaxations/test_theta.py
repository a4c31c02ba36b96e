"""Theta: closed forms of cycles, Kneser graphs and perfect graphs lie within the interval; sets are independent."""

import itertools
import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from psdopt import LowRankPSD
from psdopt.methods import InteriorPoint
from psdopt_plugins.relaxations.graphs import Graph
from psdopt_plugins.relaxations.theta import LovaszTheta, lovasz_theta, slack_problem, theta_lower_bound


def cycle(n: int) -> np.ndarray:
    shift = np.roll(np.eye(n), 1, axis=1)
    return shift + shift.T


def kneser(n: int, k: int) -> np.ndarray:
    sets = [set(each) for each in itertools.combinations(range(n), k)]
    return np.array([[float(not a & b) for b in sets] for a in sets])


def path(n: int) -> np.ndarray:
    return np.eye(n, k=1) + np.eye(n, k=-1)


KNOWN = [
    *((f"cycle {n}", cycle(n), n * math.cos(math.pi / n) / (1 + math.cos(math.pi / n))) for n in (5, 7, 9)),
    ("Petersen", kneser(5, 2), 4.0),
    ("complement of Petersen", 1.0 - kneser(5, 2) - np.eye(10), 2.5),  # n / theta, as all vertices are alike
    ("path", path(7), 4.0),
    ("wheel", np.block([[cycle(5), np.ones((5, 1))], [np.ones((1, 5)), np.zeros((1, 1))]]), math.sqrt(5.0)),
    ("complete", np.ones((6, 6)), 1.0),
    ("empty", np.zeros((5, 5)), 5.0),
]


@pytest.mark.parametrize(("graph", "theta"), [case[1:] for case in KNOWN], ids=[case[0] for case in KNOWN])
def test_closed_forms_lie_within_the_interval(graph, theta):
    interval = lovasz_theta(graph)
    rounding = 1e-12 * theta
    assert interval.lower - rounding <= theta <= interval.upper + rounding
    assert interval.upper - interval.lower <= 1e-5 * theta


@pytest.mark.parametrize("n", [25, 60])
def test_graphs_that_lack_few_edges_are_solved_by_the_slack(n):
    graph = 1.0 - cycle(n) - np.eye(n)
    theta = n / (n * math.cos(math.pi / n) / (1 + math.cos(math.pi / n))) if n % 2 else 2.0
    problem = slack_problem(Graph.of(graph))
    assert problem.m == 2 * n - 1
    interval = lovasz_theta(graph)
    assert interval.result.iterations == 0  # the other problem's answer and its proof
    assert interval.lower - 1e-12 <= theta <= interval.upper + 1e-12
    assert interval.upper - interval.lower <= 1e-5 * theta
    assert not np.any(np.abs(interval.result.matrix.to_dense()[graph != 0.0]) > 1e-9)
    if n == 25:
        other = lovasz_theta(graph, method=InteriorPoint())
        assert other.result.iterations > 0
        assert other.upper == pytest.approx(interval.upper, rel=1e-5)


def test_degenerate_graphs_of_sparse_complement_end():
    """A random graph of 100 vertices and four edges at each: splitting of its complement takes 1,700 steps."""
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(100, 1)
    few = rng.choice(len(i), 200, replace=False)
    graph = np.ones((100, 100)) - np.eye(100)
    graph[i[few], j[few]] = graph[j[few], i[few]] = 0.0
    interval = lovasz_theta(graph)
    assert interval.result.optimal
    assert interval.result.iterations == 0
    assert interval.lower <= 3.0 <= interval.upper <= 3.0 + 1e-5  # triangles are its largest independent sets


def test_the_lower_bound_holds_for_any_matrix():
    rng = np.random.default_rng(0)
    for _ in range(20):
        M = LowRankPSD(rng.standard_normal((5, rng.integers(1, 5))))
        assert 1.0 <= theta_lower_bound(cycle(5), M) <= math.sqrt(5.0)
    assert theta_lower_bound(cycle(5), LowRankPSD(np.zeros((5, 1)))) == 1.0


def test_the_interval_of_a_run_cut_short_holds():
    with pytest.warns(ConvergenceWarning):
        interval = lovasz_theta(cycle(7), max_iterations=2)
    assert interval.lower <= KNOWN[1][2] <= interval.upper
    assert interval.upper > interval.lower * 1.001


def test_the_estimator_finds_an_independent_set():
    model = LovaszTheta().fit(kneser(5, 2))
    chosen = model.independent_set_
    assert not kneser(5, 2)[np.ix_(chosen, chosen)].any()
    assert 1 <= len(chosen) <= model.upper_
    assert model.lower_ <= model.theta_ <= model.upper_


def test_weights_of_edges_do_not_matter():
    one, other = LovaszTheta().fit(cycle(7)), LovaszTheta().fit(-3.0 * cycle(7) + np.eye(7))
    assert one.upper_ == other.upper_
