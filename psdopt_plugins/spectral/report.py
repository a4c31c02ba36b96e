"""Report of an application that computes leading eigenvectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from psdopt import Status
from psdopt.linalg import EPS, Array, as_dense, norm
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, Table, fitted, result_rows
from psdopt_plugins.limits import SPECTRUM_ORDER

#: The statement that the residuals prove.
PROVEN = "K has an eigenvalue within |K u − λ u| of each λ"
COMPARED = "LAPACK's largest eigenvalues stand beside them"
UNPROVEN = "that none larger is missing is not proven"
#: With a binding rank limit there is no certificate of global optimality to draw.
_NO_CURVE = (np.empty(0), np.empty(0))


def spectral_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit an eigenvector estimator and show eigenvalues with the residuals |K u − λ u|.

    K is the samples X themselves if they form a symmetric matrix, else the correlation matrix of the features, whose
    leading eigenvectors are the principal components.

    estimator : has ``fit(K)``, a parameter ``solver_options`` and, after the fit, ``result_``, ``eigenvalues_`` (k,)
        and ``eigenvectors_`` (n, k).
    """
    from psdopt.plugins import plot_run

    K, what = symmetric_matrix(dataset)
    trace = CertificateTrace()
    estimator = fitted(estimator, options, K.shape[0], trace, K)
    result, values, vectors = estimator.result_, np.asarray(estimator.eigenvalues_), np.asarray(estimator.eigenvectors_)
    status = None
    if result.status is Status.STATIONARY:  # the rank limit is meant to bind; the residuals are the proof
        spare = result.rank - len(values)
        guard = f", {spare} of them to spare" if spare > 0 else ""
        status = f"converged: |S Y| is within the tolerance at {result.rank} columns{guard}"
    exact = _leading_eigenvalues(K, len(values))
    size = max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    residuals = np.linalg.norm(np.asarray(K @ vectors) - vectors * values, axis=0)
    proof = f"{PROVEN}; {UNPROVEN if exact is None else COMPARED}"
    columns = ["eigenvalue", "residual |K u − λ u|", "relative to λ1"]
    rows = [[f"{v:.10g}", f"{r:.2e}", f"{r / size:.2e}"] for v, r in zip(values, residuals, strict=True)]
    if exact is not None:
        columns.append("difference from LAPACK")
        rows = [[*row, f"{value - e:.2e}"] for row, value, e in zip(rows, values, exact, strict=True)]
    title = f"{type(estimator).__name__} on {dataset.name}"
    return Report(
        title=title,
        rows=[
            ("K", what),
            ("eigenpairs found", f"{len(values)}"),
            ("proof", proof),
            *result_rows(result, trace, status),
        ],
        result=result,
        success=result.converged,
        tables=(Table("Leading eigenvalues of K", columns, rows),),
        figure=partial(plot_run, result, trace.curve(result) if result.optimal else _NO_CURVE, None, result.tol, title),
        arrays={"eigenvalues": values, "eigenvectors": vectors},
    )


def symmetric_matrix(dataset: Dataset) -> tuple[Any, str]:
    """(K, what it is): X if it is symmetric to rounding, else the correlation matrix of its features (d, d)."""
    X = dataset.X
    if X.shape[0] == X.shape[1]:
        skew = X - X.T
        size, off = (norm(part.data if dataset.sparse else part) for part in (X, skew))
        if off <= X.shape[0] * EPS * size:
            return X, f"{dataset.name}, a symmetric matrix of order {X.shape[0]}"
    dense = as_dense(X)
    centred = dense - dense.mean(axis=0)
    deviation = centred.std(axis=0)
    scaled = centred / np.where(deviation > len(dense) * EPS * np.abs(dense).max(axis=0), deviation, 1.0)
    return scaled.T @ scaled / len(scaled), f"correlation matrix of the {X.shape[1]} features of {dataset.name}"


def _leading_eigenvalues(K: Any, k: int) -> Array | None:
    if K.shape[0] > SPECTRUM_ORDER:
        return None
    leading: Array = np.asarray(np.linalg.eigvalsh(as_dense(K))[::-1][:k], dtype=np.float64)
    return leading
