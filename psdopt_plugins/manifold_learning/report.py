"""Report of an embedding: how well neighbourhoods are preserved, the estimator's own figures, pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psdopt.linalg import as_dense
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, fitted, run_report
from psdopt_plugins.pictures import embedding_picture

#: Number of neighbours of each sample for this measure.
NEIGHBOURS = 5


def embedding_report(
    estimator: Any,
    dataset: Dataset,
    options: RunOptions,
    describe: Callable[[Any], Sequence[tuple[str, str]]] | None = None,
) -> Report:
    """Embed the samples and compare with their two principal components.

    estimator : has ``fit(X, y)``, a parameter ``solver_options`` and, after the fit, ``result_`` with M (m, m) and
        ``embedding_`` (m, k).
    dataset : features are standardised unless they have one common unit. y, if there is one, colours the picture.
    describe : callable fitted estimator -> further rows of the table.

    Trustworthiness (Venna and Kaski, 2001) is 1 if the nearest neighbours in the embedding are nearest neighbours
    of the samples. O(m² d).
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import trustworthiness
    from sklearn.preprocessing import StandardScaler

    X: Any = dataset.X
    if not dataset.common_unit:
        X = StandardScaler(with_mean=not dataset.sparse).fit_transform(X)
    m = X.shape[0]
    trace = CertificateTrace()
    estimator = fitted(estimator, options, m, trace, X, dataset.y)
    features = as_dense(X)
    learned = np.asarray(estimator.embedding_)
    width = min(learned.shape[1], *features.shape)
    near = min(NEIGHBOURS, (m - 1) // 2)
    rows = [("data", f"{dataset.name}: {m} samples, {X.shape[1]} features")]
    titles = []
    for name, Z in ((f"{width} principal components", PCA(width).fit_transform(features)), ("embedding", learned)):
        trust = trustworthiness(features, Z, n_neighbors=near) if near > 0 else 1.0
        rows.append((f"trustworthiness, {name}", f"{trust:.4f}"))
        titles.append(f"{name[0].upper()}{name[1:]}\ntrustworthiness {trust:.3f}")
    rows.extend(() if describe is None else describe(estimator))
    draw = embedding_picture(dataset, features, learned, titles)
    return run_report(estimator, dataset, options, trace, rows, draw, {"embedding": learned})
