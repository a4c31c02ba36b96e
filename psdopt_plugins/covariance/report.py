"""Report and picture of a sparse inverse covariance: which variables are linked once all others are known."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from psdopt import Certificate, History, LowRankPSD, Result, Status, certify
from psdopt.errors import InvalidInputError
from psdopt.linalg import EPS, Array, as_dense, symmetric_map
from psdopt.plugins import Dataset, Report, RunOptions, draw_certificate, fitted, new_figure, residual_table
from psdopt_plugins.covariance.problem import covariance_problem
from psdopt_plugins.limits import FOLDS, ROUNDINGS
from psdopt_plugins.pictures import two_panels

VARIABLES, ROWS, LINK = 25, 200, 0.45


def linked_variables() -> Dataset:
    """ROWS samples of VARIABLES variables, each linked to the next: M is tridiagonal."""
    M = np.eye(VARIABLES) + LINK * (np.eye(VARIABLES, k=1) + np.eye(VARIABLES, k=-1))
    X = np.random.default_rng(0).standard_normal((ROWS, VARIABLES)) @ np.linalg.inv(np.linalg.cholesky(M))
    return Dataset("linked_variables", X)


def precision_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit the samples X, or the symmetric K as the covariance S, and name the links that are left.

    Samples are standardised, so that S holds their correlations. Constant features are left out. Parameters in
    ``options.grid`` are chosen by fivefold cross-validation of the likelihood. tol and max_iterations of `options` are
    those of the estimator; a method, geometry, rank or max_time is refused.

    The result is that of :func:`~psdopt_plugins.covariance.problem.covariance_problem`: its matrix is the covariance W,
    and its certificate is computed anew from W and M, without the estimator. It is `optimal` if the certificate proves
    a gap of at most tol n; its `tol` is that number in the unit of the certificate.

    Raises InvalidInputError for options that are refused and for data with fewer than two features that vary.
    """
    settings = {"tol": options.tol, "max_iter": options.max_iterations}
    estimator.set_params(**{name: value for name, value in settings.items() if value is not None})
    options = replace(options, tol=None, max_iterations=None)
    if dataset.symmetric:
        data = symmetric_map(as_dense(dataset.X), dataset.name).to_dense()
        estimator.set_params(covariance="precomputed")
        kept, tuned = list(range(len(data))), []
        rows = [("S", f"{dataset.name}: order {len(data)}")]
    else:
        data, kept = _standardised(dataset)
        rows = [("data", f"{dataset.name}: {len(data)} samples, {len(kept)} variables, standardised")]
        if left_out := dataset.X.shape[1] - len(kept):
            rows.append(("left out", f"{left_out} of {dataset.X.shape[1]} features, which do not vary"))
        tuned = _tuned(estimator, data, options)
    begun = perf_counter()
    estimator = fitted(estimator, options, len(kept), None, data)
    seconds = perf_counter() - begun
    S = data if dataset.symmetric else data.T @ data / len(data)
    result = _result(estimator, S, seconds)
    names = [str(k) for k in kept] if dataset.feature_names is None else [dataset.feature_names[k] for k in kept]
    n, M = len(kept), estimator.precision_
    rows += [
        *tuned,
        ("alpha", f"{estimator.alpha:g}"),
        *_links(M, names),
        ("status", result.message),
        ("tolerance", f"{estimator.tol:g} n = {estimator.tol * n:.4g}"),
        ("objective F(M)", f"{estimator.objective_:.10g}"),
        ("no M has a lower F than (proven)", f"{estimator.bound_:.10g}"),
        ("steps", f"{estimator.n_iter_}"),
        ("time", f"{seconds:.3g} s"),
    ]
    title = f"{type(estimator).__name__} on {dataset.name}"
    residuals = residual_table(result)
    return Report(
        title=title,
        rows=rows,
        result=result,
        success=result.optimal,
        tables=() if residuals is None else (residuals,),
        figure=partial(two_panels, partial(draw_links, S, M), title=title),
        run_figure=partial(_draw_run, result, title),
        arrays={"precision": M, "covariance": estimator.covariance_, "variables": np.array(kept)},
    )


def _standardised(dataset: Dataset) -> tuple[Array, list[int]]:
    """The features that vary in every part of a cross-validation, of mean 0 and variance 1, and their numbers."""
    X = as_dense(dataset.X)
    X = X - X.mean(axis=0)
    parts = [np.delete(X, np.arange(k, len(X), FOLDS), axis=0) for k in range(FOLDS)] if len(X) >= 2 * FOLDS else [X]
    least = np.min([part.std(axis=0) for part in parts], axis=0)
    kept = [int(k) for k in np.flatnonzero(least > len(X) * EPS * np.abs(as_dense(dataset.X)).max(axis=0))]
    if len(kept) < 2:
        raise InvalidInputError(f"{dataset.name}: needs at least 2 features that vary; found {len(kept)}")
    X = X[:, kept]
    return X / X.std(axis=0), kept


def _tuned(estimator: Any, X: Array, options: RunOptions) -> list[tuple[str, str]]:
    """Sets the grid's best values, by the likelihood of the samples that are kept back; rows that name them."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV

    grid = {name: values for name, values in options.grid.items() if name in estimator.get_params()}
    if not grid or len(X) < 2 * FOLDS:
        return []
    every = np.arange(len(X))
    parts = [(every[every % FOLDS != k], every[every % FOLDS == k]) for k in range(FOLDS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(estimator, grid, cv=parts, refit=False, error_score="raise").fit(X)
    estimator.set_params(**search.best_params_)
    return [
        (f"{name}, by {FOLDS}-fold cross-validation", f"{value} of {', '.join(map(str, grid[name]))}")
        for name, value in search.best_params_.items()
    ]


def _result(estimator: Any, S: Array, seconds: float) -> Result:
    """The run as a result of the dual problem: the estimator's W, certified with M as the multipliers."""
    n, M = len(S), estimator.precision_
    i, j = np.tril_indices(n)
    problem = covariance_problem(S, estimator.alpha)
    try:
        L = np.linalg.cholesky(estimator.dual_)
    except np.linalg.LinAlgError:  # a run that was cut before it had a bound
        L = np.linalg.cholesky(estimator.covariance_)
    certificate = certify(problem, L, dual=np.where(i == j, 1.0, 2.0) * M[i, j])
    proven = _proven(certificate, n, estimator.tol)
    cut = Status.ITERATION_LIMIT if estimator.n_iter_ >= estimator.max_iter else Status.NO_PROGRESS
    status = Status.OPTIMAL if proven else cut
    return Result(
        matrix=LowRankPSD(L),
        point=None,
        value=certificate.value,
        status=status,
        message="optimal: the certificate proves a gap of at most tol n" if proven else status.value,
        certificate=certificate,
        iterations=estimator.n_iter_,
        seconds=seconds,
        history=History([{"iteration": float(estimator.n_iter_), "value": certificate.value, "seconds": seconds}]),
        counts=dict(problem.counts()),
        problem="covariance_problem",
        geometry=f"PSDCone({n})",
        method="sparse_inverse",
        tol=estimator.tol * n / certificate.unit if certificate.unit > 0.0 else math.nan,
    )


def _proven(certificate: Certificate, n: int, tol: float) -> bool:
    """Whether W is feasible to rounding and the gap is at most tol n, up to the rounding of F."""
    gap = certificate.gap
    met = gap is not None and gap <= tol * n + certificate.rounding
    return certificate.convex and met and not certificate.misses(ROUNDINGS * n * EPS)


def _draw_run(result: Result, title: str) -> Any:
    """The certificate of the end of the run, beside tol n in its unit."""
    known = result.certificate
    figure = new_figure(6.4, 4.4)
    if known is not None:
        at = np.array([float(result.iterations)]), np.array([known.relative])
        draw_certificate(figure.subplots(), result, at, None if math.isnan(result.tol) else result.tol)
    figure.suptitle(title, fontweight="bold")
    return figure


def _links(M: Array, names: list[str]) -> list[tuple[str, str]]:
    """How many pairs are linked, and the strongest link."""
    P = partial_correlations(M)
    i, j = np.nonzero(np.triu(P, 1))
    pairs = len(M) * (len(M) - 1) // 2
    rows = [("linked pairs", f"{len(i)} of {pairs} ({100.0 * len(i) / pairs:.1f} %)")]
    if len(i):
        k = int(np.argmax(np.abs(P[i, j])))
        rows.append(("strongest link", f"{names[i[k]]} and {names[j[k]]}, partial correlation {P[i[k], j[k]]:.3f}"))
    return rows


def partial_correlations(M: Array) -> Array:
    """−M_ij / √(M_ii M_jj), the correlation of two variables given all others (n, n); zeros on the diagonal."""
    scale = 1.0 / np.sqrt(np.diagonal(M))
    P = -M * scale * scale[:, None]
    np.fill_diagonal(P, 0.0)
    return P


def draw_links(S: Array, M: Array, before: Any, after: Any) -> None:
    """The correlations in S, and the partial correlations in M: white where there is no link."""
    scale = 1.0 / np.sqrt(np.diagonal(S))
    R = S * scale * scale[:, None]
    np.fill_diagonal(R, 0.0)
    for axes, matrix, title in (
        (before, R, "Correlations"),
        (after, partial_correlations(M), "Links, given all others"),
    ):
        shown = axes.imshow(matrix, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
        axes.set(title=title, xlabel="variable", ylabel="variable")
    after.figure.colorbar(shown, ax=[before, after], shrink=0.8)
