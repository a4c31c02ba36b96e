"""Choosing parameters of a metric learner by cross-validation of the nearest-neighbour error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from psdopt.linalg import Array
from psdopt.plugins import RunOptions, seeded
from psdopt_plugins.limits import BLOCK, FOLDS

#: Nearest neighbours that vote on the class of a test sample.
NEIGHBOURS = 3


def neighbour_error(X_train: Any, y_train: Array, X_test: Any, y_test: Array) -> float:
    """Share of test samples that a vote of three nearest neighbours misclassifies; of all where there are fewer."""
    from sklearn.neighbors import KNeighborsClassifier

    return 1.0 - float(KNeighborsClassifier(min(NEIGHBOURS, len(y_train))).fit(X_train, y_train).score(X_test, y_test))


def cross_validated(estimator: Any, X: Any, y: Array, options: RunOptions) -> tuple[Any, list[tuple[str, str]]]:
    """The estimator with each parameter of ``options.grid`` at its best value, and rows for the report.

    One parameter after the other, over stratified folds drawn by ``options.seed``; ties go to the smaller value.
    Fits during the search are at the given rank, with the run's tolerance and limits and otherwise solve()'s defaults,
    and take half of its time together (:meth:`~psdopt.plugins.RunOptions.in_search`). Cost: FOLDS fits per value;
    with more than BLOCK entries of X that would take longer than the run itself, and no grid is searched.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold
    from tqdm.auto import tqdm

    smallest = int(np.unique(y, return_counts=True)[1].min())
    folds = min(FOLDS, smallest)
    if not options.grid or folds < 2 or X.shape[0] * X.shape[1] > BLOCK:
        return estimator, []
    estimator = seeded(estimator, options)
    if "solver_options" in estimator.get_params():
        brief = options.in_search(folds * sum(map(len, options.grid.values()))).solver_options(X.shape[1])
        estimator.set_params(solver_options=brief)
    rank = {} if options.rank is None or "rank" not in estimator.get_params() else {"rank": options.rank}
    parts = list(StratifiedKFold(folds, shuffle=True, random_state=options.seed).split(np.zeros(len(y)), y))
    rows = []
    for name, values in options.grid.items():
        errors = []
        bar = {"unit": " values", "dynamic_ncols": True, "disable": not options.progress}
        for value in tqdm(values, f"choosing {name}", **bar):
            candidate = clone(estimator).set_params(**{name: value}, **rank)
            errors.append(float(np.mean([_fold_error(clone(candidate), X, y, *part) for part in parts])))
        best = int(np.argmin(errors))
        estimator = clone(estimator).set_params(**{name: values[best]})
        text = f"{values[best]:g} of {values[0]:g} ... {values[-1]:g}, error {100 * errors[best]:.2f} %"
        rows.append((f"{name}, by {folds}-fold cross-validation", text))
    return estimator, rows


def _fold_error(estimator: Any, X: Any, y: Array, train: Array, test: Array) -> float:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X[train], y[train])
    return neighbour_error(estimator.transform(X[train]), y[train], estimator.transform(X[test]), y[test])
