"""Report of an application that names none of its own: how the run ended."""

from __future__ import annotations

from functools import partial
from typing import Any

from psdopt.datasets import Dataset
from psdopt.reports.options import RunOptions, fitted
from psdopt.reports.record import Report
from psdopt.reports.summary import closed_form_rows, residual_table, result_rows
from psdopt.reports.trace import CertificateTrace


def fit_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit `estimator` on the whole of `dataset` as it is and report status, objective and certificate.

    The order of M is taken to be the number of features.
    """
    from psdopt.plotting import plot_run

    trace = CertificateTrace(options.tol)
    estimator = fitted(estimator, options, dataset.X.shape[1], trace, dataset.X, dataset.y)
    result = estimator.result_
    closed, best = closed_form_rows(result, trace.problem)
    residuals = residual_table(result)
    title = f"{type(estimator).__name__} on {dataset.name}"
    return Report(
        title=title,
        rows=[
            ("data", f"{dataset.name}: {dataset.X.shape[0]} samples, {dataset.X.shape[1]} features"),
            *result_rows(result, trace),
            *closed,
        ],
        result=result,
        success=result.converged,
        tables=() if residuals is None else (residuals,),
        figure=partial(plot_run, result, trace.curve(result), best, options.tol, title),
    )
