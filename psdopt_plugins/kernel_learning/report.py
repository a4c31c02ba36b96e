"""Report of a kernel learner: alignment with the classes and purity of clusters, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, as_dense, norm
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, fitted, run_report
from psdopt_plugins.limits import KMEANS_STARTS
from psdopt_plugins.pictures import embedding_picture


def kernel_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit a kernel learner on the standardised samples and compare the learned kernel with the linear one.

    estimator : has ``fit(X, y)``, a parameter ``solver_options`` and, after the fit, ``result_`` whose matrix K (m, m)
        is the kernel of the m samples.
    dataset : with class labels.

    Alignment is ⟨HKH, T⟩ / (|HKH| |HTH|), H the centring matrix and T the indicator of pairs of one class (1 is
    perfect). Purity is the share of samples whose k-means cluster has their class as its majority.
    """
    from sklearn.preprocessing import StandardScaler

    labels = dataset.classes()
    X: Any = StandardScaler(with_mean=not dataset.sparse).fit_transform(dataset.X)
    m = X.shape[0]
    trace = CertificateTrace()
    estimator = fitted(estimator, options, m, trace, X, dataset.y)
    result = estimator.result_
    if result.matrix.n != m:
        raise InvalidInputError(
            f"{type(estimator).__name__}: kernel_report needs a kernel of order {m}, the number of samples; "
            f"found {result.matrix.n}"
        )
    features = as_dense(X)
    learned = result.matrix.compress().factor
    rows = [("data", f"{dataset.name}: {m} samples, {len(labels)} classes")]
    titles = []
    for name, Z in (("linear kernel", features), ("learned kernel", learned)):
        near, purity = alignment(Z, dataset.y), cluster_purity(Z, dataset.y, len(labels), options.seed)
        rows.append((f"alignment with the training labels, {name}", f"{near:.3f}"))
        rows.append((f"purity of {len(labels)} clusters on the training labels, {name}", f"{100 * purity:.1f} %"))
        titles.append(f"{name.capitalize()}\nalignment {near:.3f}, purity {100 * purity:.1f} %")
    draw = embedding_picture(dataset, features, learned, titles)
    return run_report(estimator, dataset, options, trace, rows, draw, {"embedding": learned})


def alignment(Z: Array, y: Array) -> float:
    """Centred alignment of K = Z Zᵀ with the classes in y. Z (m, r); O(m r (r + c)). 0 for a constant Z."""
    classes = np.unique(y)
    T = (y[:, None] == classes[None, :]).astype(float)
    Z, T = Z - Z.mean(axis=0), T - T.mean(axis=0)
    size = norm(Z.T @ Z) * norm(T.T @ T)
    return norm(Z.T @ T) ** 2 / size if size > 0.0 else 0.0


def cluster_purity(Z: Array, y: Array, clusters: int, seed: int) -> float:
    """Share of samples in the majority class of their k-means cluster, rows of Z (m, r) being the samples."""
    from sklearn.cluster import KMeans

    if Z.shape[1] == 0 or len(np.unique(Z, axis=0)) < clusters:  # fewer points than clusters: one cluster
        _, counts = np.unique(y, return_counts=True)
        return float(counts.max() / len(y))
    found = KMeans(clusters, n_init=KMEANS_STARTS, random_state=seed).fit(Z).labels_
    pure = sum(np.unique(y[found == k], return_counts=True)[1].max() for k in np.unique(found))
    return float(pure / len(y))
