"""CommunityDetection: the bound holds for every partition, modularity is as defined, planted groups are found."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info

from psdopt_plugins.relaxations.communities import KMEANS_STARTS, MOST_STEPS, TRIED, CommunityDetection
from psdopt_plugins.relaxations.communities_problem import modularity, moved
from psdopt_plugins.relaxations.graphs import planted_graph
from tests.psdopt_plugins.relaxations.graphs import graph


def by_definition(W: np.ndarray, labels: np.ndarray, resolution: float) -> float:
    d, total = W.sum(axis=1), W.sum()
    same = labels[:, None] == labels[None, :]
    return float(np.sum((W - resolution * np.outer(d, d) / total)[same])) / total


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Every partition of n nodes once, as labels: a new group has the next number."""
    if n == 0:
        yield ()
        return
    for labels in partitions(n - 1):
        for group in range(max(labels, default=-1) + 2):
            yield (*labels, group)


@pytest.mark.parametrize("resolution", [1.0, 1.7])
@pytest.mark.parametrize("k", [2, 3])
def test_the_bound_holds_for_every_partition(k, resolution):
    W = graph(8, k)
    best = max(by_definition(W, np.array(labels), resolution) for labels in itertools.product(range(k), repeat=8))
    model = CommunityDetection(k, affinity="precomputed", resolution=resolution, random_state=0).fit(W)
    assert best <= model.modularity_bound_ + 1e-9
    assert model.modularity_ <= best + 1e-12
    assert model.modularity_ == pytest.approx(by_definition(W, model.labels_, resolution))


def test_planted_groups_are_found():
    data = planted_graph()
    model = CommunityDetection(3, affinity="precomputed", random_state=0).fit(data.X)
    assert adjusted_rand_score(data.y, model.labels_) > 0.9
    assert 0.5 * model.modularity_bound_ <= model.modularity_ <= model.modularity_bound_


def test_the_number_of_communities_is_chosen_by_modularity():
    data = planted_graph()
    model = CommunityDetection(affinity="precomputed", random_state=0).fit(data.X)
    assert model.labels_.max() == 2
    assert adjusted_rand_score(data.y, model.labels_) > 0.9
    given = [CommunityDetection(k, affinity="precomputed", random_state=0).fit(data.X).modularity_ for k in (2, 3, 4)]
    assert model.modularity_ == pytest.approx(max(given))


@pytest.mark.parametrize("resolution", [0.5, 1.0, 1.7])
def test_without_a_number_the_bound_holds_for_every_partition(resolution):
    W = graph(7, 5)
    assert len(set(partitions(7))) == 877  # Bell's number
    best = max(by_definition(W, np.array(labels), resolution) for labels in partitions(7))
    model = CommunityDetection(affinity="precomputed", resolution=resolution, random_state=0).fit(W)
    assert model.modularity_ - 1e-12 <= best <= model.modularity_bound_ + 1e-9


def test_a_complete_graph_has_no_communities():
    model = CommunityDetection(2, affinity="precomputed", random_state=0).fit(np.ones((6, 6)))
    assert model.modularity_ == pytest.approx(0.0, abs=1e-12)
    assert model.modularity_bound_ >= -1e-12
    assert np.all(model.labels_ == 0)


def test_one_community_is_all_vertices_and_its_bound_is_exact():
    model = CommunityDetection(1, affinity="precomputed", resolution=1.3).fit(graph(6, 1))
    assert model.modularity_ == pytest.approx(-0.3)
    assert model.modularity_bound_ == pytest.approx(-0.3)


def test_no_single_move_improves_moved_labels():
    A, rng = sp.csr_array(graph(20, 3)), np.random.default_rng(0)
    labels = moved(A, rng.integers(0, 3, 20), 3)
    value = modularity(A, labels)
    for i, c in itertools.product(range(20), range(3)):
        other = labels.copy()
        other[i] = c
        assert modularity(A, other) <= value + 1e-12


def test_the_work_of_k_means_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for each other took a minute at n = 1500."""
    made = []

    class Watched(KMeans):
        def fit_predict(self, X: np.ndarray) -> np.ndarray:
            made.append((self.n_init, self.max_iter))
            assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"} <= {1}
            return np.asarray(super().fit_predict(X))

    monkeypatch.setattr("psdopt_plugins.relaxations.communities.KMeans", Watched)
    CommunityDetection(affinity="precomputed", random_state=0).fit(graph(12, 0))
    assert len(made) == TRIED
    assert set(made) == {(KMEANS_STARTS, MOST_STEPS)}
