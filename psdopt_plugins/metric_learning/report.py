"""Report of a metric learner: k-nearest-neighbour error before and after, certificate, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt.plugins import CertificateTrace, Dataset, Report, RunOptions, error_text, fitted, run_report
from psdopt_plugins.limits import TEST_ROWS, TEST_SHARE
from psdopt_plugins.metric_learning.tuning import NEIGHBOURS, cross_validated, neighbour_error
from psdopt_plugins.passes import standardised
from psdopt_plugins.pictures import plot_metric


@dataclass(frozen=True)
class Split:
    """Scaled training and test samples with labels. Statistics come from the training samples only."""

    X_train: Any
    X_test: Any
    y_train: Array
    y_test: Array
    scaling: str


#: Learners to try where another's metric does not err less than the Euclidean distance, and their applications.
LEARNERS = {"NCA": "metric-nca", "LMNN": "metric-lmnn", "KTA": "metric-kta"}


def metric_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit a metric learner on 70 % of `dataset` and compare 3-NN test errors, Euclidean and learned.

    estimator : has ``fit(X, y)``, ``transform(X)``, a parameter ``solver_options`` and, after the fit, ``result_``
        (:class:`psdopt.Result`) and ``components_`` (r, d).
    dataset : with class labels, each class at least twice. The split is stratified and drawn by ``options.seed``;
        features are standardised by the training part (constant ones only centred, sparse ones only scaled); where
        they have one common unit, each sample is scaled to length 1 instead, as the kernel of the labels is.
        Parameters in ``options.grid`` are chosen by fivefold cross-validation on the training part (Yuan et al.,
        section 5.2); that and the fit share ``options.max_time``.

    If rows are read in blocks, TEST_ROWS of them are kept back as test samples, and their neighbours are searched among
    as many other rows; parameters are not tuned. Two passes, one for the scale and one for the fit, which also read the
    samples.

    Raises InvalidInputError for data without labels, of one class, or too small to split.
    """
    trace = CertificateTrace()
    tuned: list[tuple[str, str]] = []
    if dataset.in_blocks:
        estimator, split = fitted_in_blocks(estimator, dataset, options, trace)
    else:
        split = split_and_standardise(dataset, options.seed)
        begun, d = perf_counter(), split.X_train.shape[1]
        estimator, tuned = cross_validated(estimator, split.X_train, split.y_train, options)
        left = options.after(perf_counter() - begun)
        estimator = fitted(estimator, left, d, trace, split.X_train, split.y_train)
    learned_train, learned_test = estimator.transform(split.X_train), estimator.transform(split.X_test)
    before = neighbour_error(split.X_train, split.y_train, split.X_test, split.y_test)
    after = neighbour_error(learned_train, split.y_train, learned_test, split.y_test)
    (m, d), count = dataset.X.shape, len(split.y_test)
    error = f"{NEIGHBOURS}-NN test error" + (f" among {len(split.y_train)}" if dataset.in_blocks else "")
    rows = [
        ("data", f"{dataset.name}: {m - count} samples to train, {count} to test, {d} features, {split.scaling}"),
        (f"{error}, Euclidean", error_text(before, count)),
        (f"{error}, learned metric", error_text(after, count)),
        *([] if after < before else [("gained", f"nothing: keep the Euclidean distance, or try {_others(estimator)}")]),
        *tuned,
    ]
    draw = partial(
        plot_metric,
        before=(split.X_train, split.X_test),
        after=(learned_train, learned_test),
        labels=(split.y_train, split.y_test),
        scaling=split.scaling,
        errors=(before, after),
        label_text=dataset.label_text,
    )
    arrays = {"components": np.asarray(estimator.components_)}
    earlier = getattr(estimator, "warm_up_values_", ())
    return run_report(estimator, dataset, options, trace, rows, draw, arrays, earlier)


def _others(estimator: Any) -> str:
    """Another learner than `estimator`."""
    named = (name for learner, name in LEARNERS.items() if learner != type(estimator).__name__)
    return f"another learner ({', '.join(named)})"


def fitted_in_blocks(
    estimator: Any, dataset: Dataset, options: RunOptions, trace: CertificateTrace
) -> tuple[Any, Split]:
    """`estimator`, fitted to all rows but the test samples; these, and as many of the training samples."""
    m, d = dataset.X.shape
    sample = np.random.default_rng(options.seed).choice(m, size=min(2 * TEST_ROWS, m // 2), replace=False)
    test, near = np.array_split(sample, 2)
    with standardised(dataset, test, options.progress) as (rows, labels, scaled):
        estimator = fitted(estimator, options, d, trace, rows, labels)
    return estimator, Split(scaled(near), scaled(test), dataset.y[near], dataset.y[test], "standardised")


def split_and_standardise(dataset: Dataset, seed: int) -> Split:
    """Stratified 70/30 split by `seed`, then features (or, with a common unit, samples) to one scale."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler, normalize

    dataset.classes(at_least=2)
    try:
        X_train, X_test, y_train, y_test = train_test_split(
            dataset.X, dataset.y, test_size=TEST_SHARE, stratify=dataset.y, random_state=seed
        )
    except ValueError as error:
        raise InvalidInputError(f"{dataset.name} is too small to split into training and test part: {error}") from error
    if len(y_train) < NEIGHBOURS:
        raise InvalidInputError(f"{dataset.name}: needs at least {NEIGHBOURS} training samples; found {len(y_train)}")
    if dataset.common_unit:
        return Split(normalize(X_train), normalize(X_test), y_train, y_test, "samples of length 1")
    scaler = StandardScaler(with_mean=not dataset.sparse).fit(X_train)
    return Split(scaler.transform(X_train), scaler.transform(X_test), y_train, y_test, "standardised")
