"""PairwiseKernel: clustering with a kernel learned from must-link and cannot-link pairs, a scikit-learn estimator."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from psdopt import ADMM, FlatQuotient, Method, Problem, Result, solve
from psdopt.checks import CheckedIndices, boolean, integer, is_name, one_of
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array
from psdopt_plugins.estimators import Estimator, finished, generator, options_for_solve, parameters, random_source
from psdopt_plugins.kernel_learning.graphs import heat_kernel_width, knn_laplacian
from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem
from psdopt_plugins.long_fits import say_if_long, search
from psdopt_plugins.pair_sampling import check_consistent, checked_labels, drawn_samples, sampled_pairs
from psdopt_plugins.pairs import Pairs, checked_pairs
from psdopt_plugins.rows import validated

#: First rank of an adaptive run beyond the number of clusters; it grows while the certificate fails.
EXTRA_RANK = 4
#: Iterations, typically.
STEPS = 100


def constraint_rank(constraints: int, n: int) -> int:
    """The largest r <= n with r(r + 1)/2 <= `constraints` (Hu & Kwok, table 1): an optimum of that rank exists."""
    return max(1, min(n, (math.isqrt(8 * constraints + 1) - 1) // 2))


@parameters
class PairwiseKernel(ClusterMixin, Estimator):
    """Kernel learning from pairs by ADMM, and kernel k-means on the learned kernel (Hu & Kwok).

    min tr(K L) + γ/2 Σ (K_ij − T_ij)² over K ⪰ 0, kept as K = E Eᵀ with E = ``embedding_`` (n, r): k-means on
    the rows of E is kernel k-means on K.

    Parameters
    ----------
    n_clusters : clusters of ``labels_``, at least 2; None is the number of classes in y, or 2 without y.
    gamma : weight of the pairs, above 0.
    rank : "auto" for the largest r with r(r + 1)/2 <= 2 p + n, the number of constraints with pairs counted in both
        orders (the paper's rule); "adaptive" for a rank that starts near the number of clusters and grows until the
        certificate proves a global optimum; or a number.
    n_neighbors : edges per sample of the graph, unless a Laplacian is given (50 for a1a and the like in the paper).
    sigma, normalized : see :func:`~psdopt_plugins.kernel_learning.graphs.knn_laplacian`.
    n_pairs : with y and no pairs, this many must-links and as many cannot-links are sampled per sample (0.6).
    max_samples : samples of which the kernel is learned; of more, as many are drawn (with a fixed seed), those in pairs
        first. Pairs of others are left out, the proof is that of the samples drawn, and the others are embedded as by
        :meth:`embed`.
    laplacian : "graph", or "precomputed": X is then the Laplacian (n, n) itself.
    method : a psdopt method; None is ADMM().
    solver_options : further arguments of :func:`psdopt.solve` (tol, max_iterations, max_time, ...).
    random_state : seed of the sampled pairs, the start and k-means.

    Attributes
    ----------
    samples_ : rows of X of which K was learned, ascending. kernel_ : K of these rows, a :class:`psdopt.LowRankPSD`.
    embedding_ : (n, r), coordinates of all samples. rank_ : r. labels_ : (n,), clusters of all samples.
    kmeans_ : the fitted :class:`sklearn.cluster.KMeans` of the embedding. result_ : the :class:`psdopt.Result`.
    must_link_, cannot_link_ : (p, 2), the pairs that were used.

    Cost: O((s + p) r²) an iteration of s samples drawn, with p pairs, r about √(2 s + 4 p); O(m s d) for the neighbours
    of the others. Memory: O((m + s) r). 100,000 × 50 took 9 s of processor time and 1.5 GB, most of it embedding_.

    Raises InvalidInputError for pairs that contradict each other; they are named. Without any pair it warns: the kernel
    then comes from the graph and the diagonal alone.
    """

    n_clusters: int | None = None
    _: KW_ONLY
    gamma: float = 10.0
    rank: int | str = "auto"
    n_neighbors: int = 5
    sigma: float | str = "auto"
    normalized: bool = True
    n_pairs: float = 0.6
    max_samples: int = 5000
    laplacian: str = "graph"
    method: Method | None = None
    solver_options: Mapping[str, Any] | None = None
    random_state: Any = None

    takes_sparse, pairwise = True, "laplacian"

    #: Pairs are drawn by row number, so that permuted rows give other pairs.
    permutation_invariant = False

    def fit(self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Learn K and cluster.

        X (n, d) samples, or the Laplacian (n, n) with laplacian="precomputed". must_link, cannot_link: integer
        arrays (p, 2). y (n,): labels to sample pairs from, used only if neither list is given.
        """
        X = validated(self, X, accept_sparse=["csr"], dtype=np.float64, ensure_min_samples=2)
        random = random_source(self.random_state)
        rng = generator(random)
        labels, whole = None if y is None else checked_labels(y, X.shape[0]), X
        X, must, cannot = self._drawn(X, labels, must_link, cannot_link, rng)
        clusters, pairs = self._clusters(labels, X.shape[0]), len(must) + len(cannot)
        if pairs == 0:
            warnings.warn(
                "PairwiseKernel was given no links, so that its clusters come from the graph of neighbours alone; "
                "give must_link and cannot_link, or labels y to sample them from",
                stacklevel=2,
            )
        rank, adaptive = self._first_rank(X.shape[0] + 2 * pairs, clusters, X.shape[0])
        self._say_if_long(whole, X, pairs, rank)
        self.result_ = self._solved(self._problem(X, must, cannot), rank, adaptive, rng)
        self.kernel_ = self.result_.matrix.compress()
        values, vectors = self.kernel_.eigh()
        self._rows = vectors * np.sqrt(values) if len(values) else np.zeros((X.shape[0], 1))
        self._X = None if is_name(self.laplacian, "precomputed") else X
        self.embedding_ = self._rows
        if len(self.samples_) < whole.shape[0]:
            self.embedding_ = self._means(whole)
            self.embedding_[self.samples_] = self._rows
        self.rank_ = self.embedding_.shape[1]
        self.kmeans_ = KMeans(clusters, n_init=10, random_state=random.randint(np.iinfo(np.int32).max))
        with warnings.catch_warnings():
            # having fewer distinct rows than clusters is a property of the data, not a failure of this fit
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.kmeans_.fit(self._rows)
        self.labels_: NDArray[np.intp] = self.kmeans_.predict(self.embedding_)
        return self

    def fit_predict(self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None) -> NDArray[np.intp]:
        """Cluster labels (n,) of the samples that the kernel was learned on."""
        return self.fit(X, y, must_link=must_link, cannot_link=cannot_link).labels_

    def embed(self, X: Any) -> Array:
        """Rows of an embedding (m, r) for samples outside the learned kernel.

        The paper has no such rule. A new sample gets the row e that minimises the graph term for fixed learned rows,
        e = Σ_j w_j E_j / Σ_j w_j over the `n_neighbors` nearest samples j, w the graph's similarity.
        A training sample also gets its neighbours' mean, not its own row.
        """
        check_is_fitted(self)
        if self._X is None:
            raise InvalidInputError("embed needs samples; this kernel was learned from a precomputed Laplacian")
        return self._means(validated(self, X, accept_sparse=["csr"], dtype=np.float64, reset=False))

    def _means(self, X: Any) -> Array:
        """:meth:`embed` of validated rows."""
        assert self._X is not None
        count = min(int(self.n_neighbors), self._X.shape[0])
        distances, index = NearestNeighbors(n_neighbors=count).fit(self._X).kneighbors(X)
        sigma = heat_kernel_width(self._X) if is_name(self.sigma, "auto") else float(self.sigma)
        # weights relative to that of the nearest sample, or far from all samples all weights would underflow
        weights = np.exp(-0.5 * (distances**2 - distances[:, :1] ** 2) / sigma**2)
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("mk,mkr->mr", weights, self._rows[index]))

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Clusters (m,) of new samples, by :meth:`embed` and the nearest centre."""
        check_is_fitted(self)
        labels: NDArray[np.intp] = self.kmeans_.predict(self.embed(X))
        return labels

    def _drawn(
        self, X: Any, y: Any, must_link: Any, cannot_link: Any, rng: np.random.Generator
    ) -> tuple[Any, Pairs, Pairs]:
        """(X, must-links, cannot-links) of the samples drawn, those in pairs first; pairs of rows drawn count."""
        n, sampled = X.shape[0], must_link is None and cannot_link is None and y is not None
        given = None if sampled else self._pairs(n, must_link, cannot_link)
        kept = None if given is None else np.unique(np.concatenate(given))
        drawn = None if is_name(self.laplacian, "precomputed") else drawn_samples(n, self.max_samples, kept)
        self.samples_ = np.arange(n) if drawn is None else drawn
        own = sampled_pairs(y[self.samples_], self.n_pairs, rng) if given is None else self._within(given, n)
        self.must_link_, self.cannot_link_ = (self.samples_[pairs] for pairs in own)
        return X if drawn is None else X[drawn], *own

    def _within(self, pairs: tuple[Pairs, Pairs], n: int) -> tuple[Pairs, Pairs]:
        """The pairs of two samples drawn, as positions among them."""
        place = np.full(n, -1)
        place[self.samples_] = np.arange(len(self.samples_))
        must, cannot = (place[rows][np.all(place[rows] >= 0, axis=1)] for rows in pairs)
        return must, cannot

    def _problem(self, X: Any, must: Pairs, cannot: Pairs) -> Problem:
        if one_of(self.laplacian, "laplacian", ("graph", "precomputed")) == "precomputed":
            L = X
        else:
            L = knn_laplacian(X, self.n_neighbors, sigma=self.sigma, normalized=boolean(self.normalized, "normalized"))
        pairs = CheckedIndices(np.concatenate([must, cannot]), X.shape[0], distinct=True)
        targets = np.concatenate([np.ones(len(must)), np.zeros(len(cannot))])
        return pairwise_kernel_problem(L, pairs, targets, self.gamma)

    def _pairs(self, n: int, must_link: Any, cannot_link: Any) -> tuple[Pairs, Pairs]:
        must = checked_pairs(() if must_link is None else must_link, n, "must_link").array
        cannot = checked_pairs(() if cannot_link is None else cannot_link, n, "cannot_link").array
        check_consistent(must, cannot, n)
        return must, cannot

    def _clusters(self, y: Any, n: int) -> int:
        if self.n_clusters is None:
            return 2 if y is None else max(1, len(np.unique(y)))
        return integer(self.n_clusters, "n_clusters", 1, n)

    def _say_if_long(self, whole: Any, X: Any, pairs: int, rank: int) -> None:
        (n, s), graph = (whole.shape[0], X.shape[0]), not is_name(self.laplacian, "precomputed")
        near = integer(self.n_neighbors, "n_neighbors") if graph else 0
        run, numbers = STEPS * float(s + pairs) * (rank**2 + 30), ((3 + near) * n + 10 * s) * rank
        shorter = "a smaller max_samples or rank" if graph else "a smaller rank"
        once = search(n, X) if graph else 0.0
        say_if_long(self, whole.shape, once, run, numbers=numbers, shorter=shorter, stacklevel=4)

    def _solved(self, problem: Problem, rank: int, adaptive: bool, rng: np.random.Generator) -> Result:
        defaults = {
            "geometry": FlatQuotient(problem.n, rank),
            "method": ADMM() if self.method is None else self.method,
            "rng": rng,
        }
        options = options_for_solve(self.solver_options, escape=adaptive, **defaults)
        return finished(solve(problem, **options), stacklevel=4)

    def _first_rank(self, constraints: int, clusters: int, n: int) -> tuple[int, bool]:
        if is_name(self.rank, "auto"):
            return constraint_rank(constraints, n), False
        if is_name(self.rank, "adaptive"):
            return min(clusters + EXTRA_RANK, n), True
        if not isinstance(self.rank, Integral) or isinstance(self.rank, bool):
            raise InvalidTypeError(f"rank must be 'auto', 'adaptive' or an integer; found {self.rank!r}")
        return int(self.rank), False
