"""Report of a regression: error on test samples, compared with linear least squares."""

from __future__ import annotations

import warnings
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, RowBlocks, WithConstant, as_dense
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, fitted, run_report, seeded
from psdopt_plugins.limits import FOLDS, TEST_ROWS, TEST_SHARE
from psdopt_plugins.passes import standardised
from psdopt_plugins.pictures import plot_prediction


def regression_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit a regressor on 70 % of `dataset` and give R² and root mean square error on the rest.

    estimator : has ``fit(X, y)``, ``predict(X)``, ``components_``, a parameter ``solver_options`` and, after the fit,
        ``result_``.
    dataset : with numbers y. Features are standardised by the training part, and a constant feature is added: with it
        a quadratic form has linear terms and an offset. Parameters in ``options.grid`` are chosen by fivefold
        cross-validation of R² on the training part, unless a rank or a geometry is named; that and the fit share
        ``options.max_time``.

    If rows are read in blocks, TEST_ROWS of them are kept back, and parameters are not tuned. Passes: one for the
    scale, one for linear least squares, and those of the fit (two per step).

    Raises InvalidInputError for data without numbers y or with fewer than 5 samples.
    """
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import r2_score, root_mean_squared_error
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    if dataset.y is None or dataset.y.dtype.kind not in "iuf":
        raise InvalidInputError(f"{dataset.name} has no numbers y to predict, which this application needs")
    if len(dataset.y) < FOLDS:
        raise InvalidInputError(f"{dataset.name}: needs at least {FOLDS} samples; found {len(dataset.y)}")
    trace = CertificateTrace()
    tuned: list[tuple[str, str]] = []
    m, d = dataset.X.shape
    if dataset.in_blocks:
        test = np.random.default_rng(options.seed).choice(m, size=min(TEST_ROWS, m // 4), replace=False)
        with standardised(dataset, test, options.progress) as (training, y_train, scaled):
            blocks, y_train = RowBlocks(WithConstant(training), "X"), y_train.astype(float)
            coefficients = least_squares(blocks, y_train)
            estimator = fitted(estimator, options, d + 1, trace, blocks, y_train)
        X_test, y_test = _with_constant(scaled(test)), dataset.y[test].astype(float)
        linear = X_test @ coefficients
    else:
        samples = as_dense(dataset.X)
        parts = train_test_split(samples, dataset.y.astype(float), test_size=TEST_SHARE, random_state=options.seed)
        y_train, y_test = parts[2], parts[3]
        scaler = StandardScaler().fit(parts[0])
        X_train, X_test = (_with_constant(scaler.transform(part)) for part in parts[:2])
        begun = perf_counter()
        estimator, tuned = _tuned(estimator, X_train, y_train, options)
        estimator = fitted(estimator, options.after(perf_counter() - begun), d + 1, trace, X_train, y_train)
        linear = LinearRegression().fit(X_train, y_train).predict(X_test)
    sizes = f"{m - len(y_test)} samples to train, {len(y_test)} to test"
    rows = [("data", f"{dataset.name}: {sizes}, {d} features, standardised, and a constant")]
    predicted = estimator.predict(X_test)
    for name, prediction in (("linear", linear), ("learned", predicted)):
        error = root_mean_squared_error(y_test, prediction)
        rows.append((f"test R² (error), {name}", f"{r2_score(y_test, prediction):.4f} ({error:.4g})"))
    draw = partial(plot_prediction, measured=y_test, predicted=predicted)
    arrays = {"components": np.asarray(estimator.components_)}
    return run_report(estimator, dataset, options, trace, [*rows, *tuned], draw, arrays)


def least_squares(rows: RowBlocks, y: Array) -> Array:
    """argmin |X b − y| (d,), of standardised columns and a constant one: the normal equations, in one pass."""
    gram, cross = rows.moments(y[:, None])
    return np.asarray(np.linalg.lstsq(gram, cross[:, 0], rcond=None)[0])


def _with_constant(X: Array) -> Array:
    return np.column_stack([X, np.ones(len(X))])


def _tuned(estimator: Any, X: Array, y: Array, options: RunOptions) -> tuple[Any, list[tuple[str, str]]]:
    """`estimator` with the grid's best values, and rows that name them."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV, ParameterGrid

    known = set(estimator.get_params())
    grid = {name: values for name, values in options.grid.items() if name in known}
    if not grid or options.rank is not None or options.geometry is not None or len(y) < 2 * FOLDS:
        return estimator, []
    brief = options.in_search(FOLDS * len(ParameterGrid(grid))).solver_options(X.shape[1])
    candidate = seeded(estimator, options).set_params(solver_options=brief)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(candidate, grid, cv=FOLDS, refit=False).fit(X, y)
    rows = [
        (f"{name}, by {FOLDS}-fold cross-validation", f"{value} of {', '.join(map(str, grid[name]))}")
        for name, value in search.best_params_.items()
    ]
    return estimator.set_params(**search.best_params_), rows
