"""Report of a regression on rows that are read in blocks: error on a sample of them, with few passes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from psdopt.linalg import Array, RowBlocks, Standardized, WithConstant, WithoutRows, mean_and_scale, watching
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, fitted, run_report
from psdopt_plugins.passes import PassBar
from psdopt_plugins.pictures import plot_prediction

#: Rows drawn as test samples.
SAMPLE = 2000


def block_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit a regressor on all rows of `dataset` but a sample; R² and root mean square error on this sample.

    Features are standardised by the training rows, and a constant feature is added. Parameters are not tuned.
    Passes: one for the scale, one for linear least squares, and those of the fit (two per step).
    """
    from sklearn.metrics import r2_score, root_mean_squared_error

    rng = np.random.default_rng(options.seed)
    m, d = dataset.X.shape
    test = rng.choice(m, size=min(SAMPLE, m // 4), replace=False)
    training = WithoutRows(dataset.X, test)
    y_train, y_test = dataset.y[training.kept].astype(float), dataset.y[test].astype(float)
    trace = CertificateTrace()
    with PassBar(options.progress) as observe, watching(observe):
        mean, scale = mean_and_scale(training)
        rows = RowBlocks(WithConstant(Standardized(training, mean, scale)), "X")
        linear = least_squares(rows, y_train)
        estimator = fitted(estimator, options, d + 1, trace, rows, y_train)
    X_test = np.column_stack([(dataset.X.take(test) - mean) / scale, np.ones(len(test))])
    predicted = estimator.predict(X_test)
    sizes = f"{len(y_train)} samples to train, {len(test)} to test"
    told = [("data", f"{dataset.name}: {sizes}, {d} features, standardised, and a constant")]
    for name, prediction in (("linear", X_test @ linear), ("learned", predicted)):
        error = root_mean_squared_error(y_test, prediction)
        told.append((f"test R² (error), {name}", f"{r2_score(y_test, prediction):.4f} ({error:.4g})"))
    draw = partial(plot_prediction, measured=y_test, predicted=predicted)
    arrays = {"components": np.asarray(estimator.components_)}
    return run_report(estimator, dataset, options, trace, told, draw, arrays)


def least_squares(rows: RowBlocks, y: Array) -> Array:
    """argmin |X b − y| (d,), of standardised columns and a constant one: the normal equations, in one pass."""
    gram, cross = rows.moments(y[:, None])
    return np.asarray(np.linalg.lstsq(gram, cross[:, 0], rcond=None)[0])
