"""Report and picture of a nearest correlation matrix."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from psdopt.linalg import Array, as_dense
from psdopt.plugins import (
    BLUE,
    GREY,
    CertificateTrace,
    Dataset,
    Report,
    RunOptions,
    fitted,
    run_report,
)
from psdopt_plugins.pictures import two_panels

VARIABLES, ROWS = 40, 60


def gappy_correlations() -> Dataset:
    """Correlations of VARIABLES series of ROWS rows, each pair from the rows that both have: not positive definite."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 3)) @ rng.standard_normal((3, VARIABLES)) + rng.standard_normal((ROWS, VARIABLES))
    there = rng.random(X.shape) < 0.4
    G = np.eye(VARIABLES)
    for i in range(VARIABLES):
        for j in range(i):
            both = there[:, i] & there[:, j]
            G[i, j] = G[j, i] = np.corrcoef(X[both, i], X[both, j])[0, 1]
    return Dataset("gappy_correlations", G, symmetric=True)


def correlation_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Repair the symmetric matrix of the data, X or K, and show how far the repair had to go."""
    trace = CertificateTrace()
    G = as_dense(dataset.X)
    estimator = fitted(estimator, options, len(G), trace, G)
    M = estimator.correlation_.to_dense()
    before, after = (np.asarray(np.linalg.eigvalsh(A), dtype=np.float64) for A in (G, M))
    rows = [
        ("G", f"{dataset.name}: order {len(G)}"),
        ("smallest eigenvalue of G", f"{before[0]:.4g}"),
        ("distance |W ∘ (M − G)|", f"{estimator.distance_:.10g}"),
        ("no correlation matrix is nearer than (proven)", f"{estimator.distance_bound_:.10g}"),
        ("largest change of an entry", f"{np.abs(M - G).max():.4g}"),
    ]
    draw = partial(two_panels, partial(draw_correlation, G, M, (before, after)))
    return run_report(estimator, dataset, options, trace, rows, draw, {"correlation": M})


def draw_correlation(G: Array, M: Array, spectra: tuple[Array, Array], change: Any, values: Any) -> None:
    """The change M − G, and the eigenvalues of both."""
    most = max(float(np.abs(M - G).max()), np.finfo(float).tiny)
    shown = change.imshow(M - G, cmap="RdBu_r", vmin=-most, vmax=most)
    change.figure.colorbar(shown, ax=change, shrink=0.8)
    change.set(title="Change of the entries, M − G", xlabel="variable", ylabel="variable")
    for each, colour, label in zip(spectra, (GREY, BLUE), ("G", "M"), strict=True):
        values.plot(each[::-1], color=colour, marker="o", ms=3, lw=1.0, label=label)
    values.axhline(0.0, color="0.6", lw=0.8)
    values.set(title="Eigenvalues", xlabel="position")
    values.legend(framealpha=0.9, edgecolor="none")
