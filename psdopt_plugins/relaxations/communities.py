"""CommunityDetection: clusters of a graph of high modularity, with a proven bound."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from psdopt.checks import integer, integer_or_none, is_name, one_of, positive
from psdopt_plugins.estimators import (
    Estimator,
    column_signs,
    generator,
    parameters,
    proven_bound,
    random_source,
    relaxed,
    unit_rows,
)
from psdopt_plugins.limits import KMEANS_STARTS, MOST_STEPS
from psdopt_plugins.long_fits import entries, say_if_long, search
from psdopt_plugins.relaxations.communities_problem import community_graph, modularity, modularity_problem, moved
from psdopt_plugins.relaxations.graphs import Graph
from psdopt_plugins.relaxations.rounding import TRIED
from psdopt_plugins.rows import validated

AFFINITIES = ("neighbors", "precomputed")
#: Operations per vertex of a run, of k-means and of moves, typically.
WORK = 5e6


@parameters
class CommunityDetection(ClusterMixin, Estimator):
    """Communities of a graph with high modularity: their number maximises modularity, or is at most `n_clusters`.

    max ⟨B, M⟩/(2w) over M ⪰ 0 with M_ii = 1 gives unit vectors of the vertices; k-means on their k leading coordinates
    gives k communities, and moves of single vertices improve them. Of k = 1, ..., 10 the one of highest modularity is
    returned, unless `n_clusters` sets k.

    Parameters
    ----------
    n_clusters : most communities, 1 to n, or None.
    affinity : "neighbors" for the graph of the `n_neighbors` nearest samples, in
        either direction, weighted by exp(−d²/(2 s²)), s their mean distance; or "precomputed" for weights (n, n) >= 0.
    resolution : above 1 favours small communities, and thereby more of them.
    solver_options : keyword arguments for :func:`psdopt.solve`. random_state : seed of the start and of k-means.

    Attributes
    ----------
    labels_ : (n,) communities 0, 1, ... modularity_ : of `labels_`. modularity_bound_ : proven; no partition into
        at most `n_clusters` parts has more; without `n_clusters` no partition at all.
    embedding_ : (n, r) unit vectors of the vertices.
    graph_ : the weights, CSR without loops.
    result_ : the :class:`psdopt.Result`, F = −⟨B, M⟩/(2w).

    Cost: O(n² d) for the neighbours, O((n + edges) r) a step, a k-means for every k; memory O(edges + n r). 2,000
    samples took 5 s of processor time, 6,000 7 s.
    """

    n_clusters: int | None = None
    _: KW_ONLY
    affinity: str = "neighbors"
    n_neighbors: int = 10
    resolution: float = 1.0
    solver_options: Mapping[str, Any] | None = None
    random_state: Any = None

    takes_sparse, pairwise = True, "affinity"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find communities of samples X (n, d), or of the graph X (n, n) with affinity="precomputed".

        Raises InvalidInputError for parameters out of range and what :func:`modularity_problem` refuses.
        """
        X = validated(self, X, accept_sparse=["csr"], dtype=np.float64, ensure_min_samples=2)
        n, most = X.shape[0], integer_or_none(self.n_clusters, "n_clusters", 1, X.shape[0], "n")
        resolution = positive(self.resolution, "resolution")
        once = 0.0 if is_name(self.affinity, "precomputed") else search(n, X)
        say_if_long(self, X.shape, once, WORK * n, numbers=3 * entries(X) + 100 * n, shorter="fewer samples")
        graph = self._graph(X)
        A = self.graph_ = graph.weights
        random = random_source(self.random_state)
        problem = modularity_problem(graph, resolution)
        self.result_ = relaxed(problem, self.solver_options, rng=generator(random))
        V = unit_rows(self.result_.matrix.compress().factor)
        self.embedding_ = V * column_signs(V)
        seed = random.randint(np.iinfo(np.int32).max)
        counts = range(1, min(TRIED, n) + 1) if most is None else (most,)
        found = [self._divided(A, k, resolution, seed) for k in counts]
        self.modularity_, self.labels_ = max(found, key=lambda division: division[0])
        bound = proven_bound(self.result_)
        # bound for k parts: ((1 − k) bound + 1 − resolution) / k, largest at one end of the range of k
        ends = (1, n) if most is None else (most,)
        self.modularity_bound_ = max(((1 - k) * bound + 1.0 - resolution) / k for k in ends)
        return self

    def _divided(self, A: sp.csr_array, k: int, resolution: float, seed: int) -> tuple[float, NDArray[np.intp]]:
        """(modularity, labels) of at most k communities."""
        # moves of single vertices do the rest
        means = KMeans(k, n_init=KMEANS_STARTS, max_iter=MOST_STEPS, random_state=seed)
        # steps are so short that threads would mostly wait for each other
        with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
            # having fewer distinct vectors than clusters is a property of the data
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = means.fit_predict(self.embedding_[:, :k]).astype(np.intp)
        labels = np.unique(moved(A, labels, k, resolution), return_inverse=True)[1].astype(np.intp)
        return modularity(A, labels, resolution), labels

    def _graph(self, X: Any) -> Graph:
        if one_of(self.affinity, "affinity", AFFINITIES) == "precomputed":
            return community_graph(X, checked=True)
        count = min(integer(self.n_neighbors, "n_neighbors"), X.shape[0] - 1)
        near = sp.csr_array(kneighbors_graph(X, count, mode="distance", include_self=False))
        width = float(near.data.mean()) or 1.0
        near.data = np.exp(-0.5 * (near.data / width) ** 2)
        return community_graph(near.maximum(near.T), checked=True)
