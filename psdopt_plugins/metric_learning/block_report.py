"""Report of a metric learner on rows that are read in blocks: errors on samples of them, with few passes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from psdopt.linalg import Array, Standardized, WithoutRows, mean_and_scale, watching
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, error_text, fitted, run_report
from psdopt_plugins.metric_learning.tuning import NEIGHBOURS, neighbour_error
from psdopt_plugins.passes import PassBar
from psdopt_plugins.pictures import plot_metric

#: Rows drawn as test samples, and as many training rows drawn as their neighbours.
SAMPLE = 2000


def block_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit a metric learner on all rows of `dataset` but a sample, and compare 3-NN errors on this sample.

    Neighbours are searched among as many training rows. Features are standardised by mean and deviation of the training
    rows. Parameters are not tuned. Two passes, one for the scale and one for the fit, which also read the samples.
    """
    rng = np.random.default_rng(options.seed)
    m, d = dataset.X.shape
    sample = rng.choice(m, size=min(2 * SAMPLE, m // 2), replace=False)
    test, near = np.array_split(sample, 2)
    training = WithoutRows(dataset.X, test)
    with PassBar(options.progress) as observe, watching(observe):
        mean, scale = mean_and_scale(training)
        trace = CertificateTrace()
        rows = Standardized(training, mean, scale)
        labels = dataset.y[training.kept]
        estimator = fitted(estimator, options, d, trace, rows, labels)
    X_near, X_test = ((dataset.X.take(part) - mean) / scale for part in (near, test))
    y_near, y_test = dataset.y[near], dataset.y[test]
    learned: tuple[Array, Array] = (estimator.transform(X_near), estimator.transform(X_test))
    before = neighbour_error(X_near, y_near, X_test, y_test)
    after = neighbour_error(learned[0], y_near, learned[1], y_test)
    count = len(test)
    rows_of_text = [
        ("data", f"{dataset.name}: {len(training.kept)} samples to train, {count} to test, {d} features, standardised"),
        (f"{NEIGHBOURS}-NN test error among {len(near)}, Euclidean", error_text(before, count)),
        (f"{NEIGHBOURS}-NN test error among {len(near)}, learned metric", error_text(after, count)),
    ]
    draw = partial(
        plot_metric,
        before=(X_near, X_test),
        after=learned,
        labels=(y_near, y_test),
        scaling="standardised",
        errors=(before, after),
        label_text=dataset.label_text,
    )
    arrays = {"components": np.asarray(estimator.components_)}
    return run_report(estimator, dataset, options, trace, rows_of_text, draw, arrays)
