"""The report of an application without a report of its own: how the run ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from psdopt.data.datasets import Dataset
from psdopt.reports.options import RunOptions, fitted
from psdopt.reports.record import Report
from psdopt.reports.summary import closed_form_rows, residual_table, result_rows
from psdopt.reports.trace import CertificateTrace


def fit_report(
    estimator: Any, dataset: Dataset, options: RunOptions, picture: Callable[..., Any] | None = None
) -> Report:
    """Fit `estimator` on the whole of `dataset` as it is and report status, objective and certificate.

    The order of M is taken to be the number of features. picture : callable (estimator, dataset, **run) -> figure, in
        which `run` are the arguments that :func:`run_report` passes to `draw`; None draws the run alone.
    """
    trace = CertificateTrace()
    estimator = fitted(estimator, options, dataset.X.shape[1], trace, dataset.X, dataset.y)
    data = f"{dataset.name}: {dataset.X.shape[0]} samples, {dataset.X.shape[1]} features"
    draw = None if picture is None else partial(picture, estimator, dataset)
    return run_report(estimator, dataset, options, trace, [("data", data)], draw)


def run_report(
    estimator: Any,
    dataset: Dataset,
    options: RunOptions,
    trace: CertificateTrace,
    rows: Sequence[tuple[str, str]],
    draw: Callable[..., Any] | None = None,
    arrays: Mapping[str, Any] | None = None,
    earlier: Sequence[float] | None = None,
) -> Report:
    """The report of a fitted `estimator` (``result_``): `rows`, then how the run ended and its certificate.

    draw : callable with the keyword arguments result, certificates, best, tol and title, returning the figure;
        None draws the run (:func:`psdopt.plugins.plot_run`), of which each report has a picture. arrays : as in
        :class:`Report`.
    earlier : for an estimator that solves one problem in several runs, of which ``result_`` is the last: the values
        of F along steps before the first run. The picture then shows all runs in sequence.
    """
    from psdopt.running.plotting import plot_run

    result = estimator.result_
    closed, best = closed_form_rows(result, trace.problem)
    residuals = residual_table(result)
    title = f"{type(estimator).__name__} on {dataset.name}"
    shown, curve = (result, trace.curve(result)) if earlier is None else trace.whole(result, earlier)
    run = {"result": shown, "certificates": curve, "best": best, "tol": result.tol, "title": title}
    return Report(
        title=title,
        rows=[*rows, *result_rows(result, trace, in_all=getattr(estimator, "n_iter_", None)), *closed],
        result=result,
        success=result.converged,
        tables=() if residuals is None else (residuals,),
        figure=partial(plot_run if draw is None else draw, **run),
        run_figure=partial(plot_run, **run),
        arrays={} if arrays is None else arrays,
    )
