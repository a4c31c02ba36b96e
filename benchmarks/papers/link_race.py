"""Clusters from links at the defaults: adjusted Rand index of PairwiseKernel, of k-means, and of constrained k-means.

At most 400 rows of a set, features standardised; 0.3 n must-links and 0.3 n cannot-links, drawn from the labels anew
for each of three draws. The index is taken over all samples, and over those that are in no link.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.data import Array, dense, load, needs
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt_plugins.kernel_learning import PairwiseKernel

SETS = ("iris", "wine", "sonar", "glass", "ionosphere", "pima", "segment", "balance_scale")
ROWS, DRAWS, SHARE, STARTS = 400, 3, 0.3, 10
METHODS = ("k-means", "constrained k-means", "PairwiseKernel")


def links() -> Experiment:
    """Clusters from must-links and cannot-links, by three methods."""
    return Experiment(_cases, _measure, _present)


def constrained_kmeans(
    X: Array, k: int, must: Array, cannot: Array, rng: np.random.Generator, starts: int = STARTS, rounds: int = 100
) -> Array:
    """Labels (n,) of COP-KMeans with transitive closure, the best of `starts`.

    Samples that a chain of must-links joins move as one group. In random order each group takes the nearest centre to
    which none of its cannot-links has gone, or, where all are forbidden, the one that the fewest forbid. The best start
    breaks the fewest links, then has the least sum of squared distances.
    """
    n = len(X)
    graph = sp.coo_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    groups, group = connected_components(graph, directed=False)
    sizes = np.bincount(group)
    means = np.stack([np.bincount(group, column) for column in X.T], axis=1) / sizes[:, None]
    ends = group[cannot]
    forbids = sp.csr_array((np.ones(2 * len(ends)), (ends.ravel(), ends[:, ::-1].ravel())), shape=(groups, groups))
    best: tuple[tuple[float, float], Array] | None = None
    for _ in range(starts):
        centres = kmeans_plusplus(X, k, random_state=int(rng.integers(2**31)))[0]
        before = np.full(groups, -1)
        for _ in range(rounds):
            distance = ((means[:, None] - centres) ** 2).sum(axis=2)
            taken = np.full(groups, -1)
            for g in rng.permutation(groups):
                others = taken[forbids.indices[forbids.indptr[g] : forbids.indptr[g + 1]]]
                forbidden = np.bincount(others[others >= 0], minlength=k)
                taken[g] = np.lexsort((distance[g], forbidden))[0]
            for c in range(k):
                if (taken == c).any():
                    centres[c] = np.average(means[taken == c], axis=0, weights=sizes[taken == c])
            if (taken == before).all():
                break
            before = taken
        broken = float(np.sum(taken[ends[:, 0]] == taken[ends[:, 1]]))
        cost = (broken, float(sizes @ distance[np.arange(groups), taken]))
        if best is None or cost < best[0]:
            best = cost, taken[group]
    assert best is not None
    return best[1]


def drawn_links(y: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """`count` distinct pairs of one class and as many of two, (count, 2) each."""
    i, j = np.triu_indices(len(y), 1)
    alike = y[i] == y[j]
    chosen = [rng.choice(np.nonzero(kind)[0], count, replace=False) for kind in (alike, ~alike)]
    return np.column_stack([i, j])[chosen[0]], np.column_stack([i, j])[chosen[1]]


def _cases(quick: bool) -> list[ExperimentCase]:
    settings = {"rows": 100 if quick else ROWS, "draws": 1 if quick else DRAWS}
    return [ExperimentCase(name, settings, needs(name)) for name in (SETS[:2] if quick else SETS)]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load(case.name)
    X, y = dense(X), np.unique(y, return_inverse=True)[1]
    if len(X) > case.settings["rows"]:
        kept = next(StratifiedShuffleSplit(1, train_size=case.settings["rows"], random_state=0).split(X, y))[0]
        X, y = X[kept], y[kept]
    X, k = StandardScaler().fit_transform(X), len(np.unique(y))
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in METHODS}
    for seed in range(case.settings["draws"]):
        rng = np.random.default_rng(seed)
        must, cannot = drawn_links(y, round(SHARE * len(X)), rng)
        free = np.setdiff1d(np.arange(len(X)), np.concatenate([must, cannot]))
        for name in METHODS:
            begun = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name == "k-means":
                    labels = KMeans(k, n_init=STARTS, random_state=seed).fit_predict(X)
                elif name == "constrained k-means":
                    labels = constrained_kmeans(X, k, must, cannot, rng)
                else:
                    labels = PairwiseKernel(k, random_state=seed).fit(X, must_link=must, cannot_link=cannot).labels_
            seconds = time.process_time() - begun
            scores = adjusted_rand_score(y, labels), adjusted_rand_score(y[free], labels[free])
            found[name].append((*scores, seconds))
    means = {name: np.mean(runs, axis=0) for name, runs in found.items()}
    named = {name: dict(zip(("all", "free", "seconds"), map(float, mean), strict=True)) for name, mean in means.items()}
    return {"rows": len(X), "clusters": k, "methods": named}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    columns = ("set", "rows", "clusters", *METHODS)
    tables: list[ResultTable] = []
    facts: dict[str, str] = {}
    for key, caption in (("all", "Adjusted Rand index, all samples"), ("free", "Samples that are in no link")):
        scores = [[found["methods"][name][key] for name in METHODS] for found in measured.values()]
        rows = [
            (name, f"{found['rows']}", f"{found['clusters']}", *(f"{score:.2f}" for score in line))
            for (name, found), line in zip(measured.items(), scores, strict=True)
        ]
        if rows:
            means = [f"{score:.2f}" for score in np.mean(scores, axis=0)]
            rows.append(("mean", "", "", *means))
            suffix = "" if key == "all" else f"-{key}"
            facts |= {name.lower().replace(" ", "-") + suffix: mean for name, mean in zip(METHODS, means, strict=True)}
        tables.append(ResultTable(caption, columns, tuple(rows)))
    if measured:
        facts["most-seconds"] = (
            f"{max(found['methods']['PairwiseKernel']['seconds'] for found in measured.values()):.1f}"
        )
    return Findings(tuple(tables), facts=facts)
