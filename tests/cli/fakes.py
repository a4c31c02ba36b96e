"""A small application with everything that a run needs, and a plugin that yields it."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from psdopt import ConjugateGradient, QuadraticSDP, Result, solve
from psdopt.data.datasets import Dataset
from psdopt.plugins import ApplicationSpec, DatasetSpec, Parameter, PluginManager, Spec, hookimpl
from psdopt_plugins.metric_learning.report import metric_report


class Scatter(BaseEstimator):  # type: ignore[misc]
    """M = (between − within)₊ / lam, as min lam |M|² − 2 ⟨between − within, M⟩: a metric with a closed form."""

    def __init__(self, lam: float = 1.0, centre: bool = True, solver_options: dict[str, Any] | None = None) -> None:
        self.lam, self.centre, self.solver_options = lam, centre, solver_options

    def fit(self, X: Any, y: Any) -> Self:
        X = np.asarray(X.todense() if hasattr(X, "todense") else X)
        means = np.array([X[y == label].mean(axis=0) for label in y])
        between = (means.T @ means - 0.1 * (X - means).T @ (X - means)) / len(X)
        self.result_: Result = solve(QuadraticSDP(B=self.lam, C=-between), **(self.solver_options or {}))
        self.components_ = self.result_.matrix.compress().factor.T
        return self

    def transform(self, X: Any) -> Any:
        return X @ self.components_.T


class Bare:
    """An estimator without solver_options."""


def blobs() -> Dataset:
    """45 samples of 3 classes in 4 dimensions."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = rng.standard_normal((45, 4)) + 3.0 * np.eye(4)[y]
    return Dataset("blobs", X, y, class_names=["a", "b", "c"])


def broken_fit(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("by\nzero")


class FakePlugin:
    """Applications for the command line's tests."""

    @hookimpl
    def psdopt_components(self) -> Iterator[Spec]:
        parameters = (Parameter("lam", float, 1.0, "weight of |M|²"), Parameter("centre", bool, True, "not used"))
        yield ApplicationSpec(
            "scatter", Scatter, "metric from scatter matrices", "", parameters,
            report=metric_report, default_data="blobs", default_method=ConjugateGradient,
        )  # fmt: skip
        yield ApplicationSpec("plain", Scatter, "the same without a report", default_data="blobs")
        yield ApplicationSpec("unforeseen", Scatter, "fails", report=broken_fit, default_data="blobs")
        yield ApplicationSpec("bare", Bare, "takes no solver_options", default_data="blobs")
        yield DatasetSpec("blobs", blobs, "three clouds")


def fake_manager() -> PluginManager:
    """The core's pieces and the fake plugin; no installed plugins."""
    manager = PluginManager([])
    manager.names("application")  # the core comes first
    manager.register(FakePlugin(), "fake")
    return manager
