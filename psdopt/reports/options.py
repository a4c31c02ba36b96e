"""Options of ``psdopt run``, and how they are passed to solve() through an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.signatures import accepts
from psdopt.errors import InvalidInputError
from psdopt.geometries import FlatQuotient

#: Options that reach solve() only through an estimator's ``solver_options``.
FOR_SOLVE = ("method", "geometry", "rank", "tol", "max_iterations", "max_time")


@dataclass(frozen=True)
class RunOptions:
    """Settings of a run.

    method : as for solve(). geometry : callable n -> Geometry, since the order n of M is known only with the data.
    rank : of the factor; with no geometry named, FlatQuotient at that rank. max_iterations, max_time (seconds):
    as for solve(). tol : likewise; None leaves it to the estimator. seed : of the split of the data, of the
    estimator's samples (its ``random_state`` if that is None) and of the start.
    progress : show a bar on standard error.
    default_method : used when neither method nor geometry is named.
    grid : parameter -> values, for parameters that the user did not give and a report may choose by cross-validation.
    """

    method: Method | None = None
    geometry: Callable[[int], Geometry] | None = None
    rank: int | None = None
    tol: float | None = None
    max_iterations: int | None = None
    max_time: float | None = None
    seed: int = 0
    progress: bool = False
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    default_method: Method | None = None

    def solver_options(self, n: int, callback: Callable[[Any], Any] | None = None) -> dict[str, Any]:
        """Keyword arguments for solve() on a problem of order `n`. Raises InvalidInputError for a rank outside 1..n.

        Without a named method or geometry: the application's default method if it has one, at `rank` if given, else
        with a rank that grows until the certificate holds; without a default method, the estimator's choice.
        """
        options: dict[str, Any] = {
            **({} if self.tol is None else {"tol": self.tol}),
            "max_iterations": self.max_iterations,
            "max_time": self.max_time,
            "callback": callback,
            "progress": self.progress,
            "rng": self.seed,
        }
        if self.rank is not None and not 1 <= self.rank <= n:
            raise InvalidInputError(f"rank must lie between 1 and the order n = {n}; found {self.rank}")
        if self.geometry is not None:
            options["geometry"] = self.geometry(n)
        elif self.rank is not None:
            options["geometry"] = FlatQuotient(n, self.rank)
        if self.method is not None:
            options["method"] = self.method
        elif self.geometry is None and self.default_method is not None:
            options["method"] = self.default_method
        return options

    def in_search(self, fits: int) -> RunOptions:
        """Those of each of `fits` fits that compare parameters: half of `max_time` is for all of them together.

        Tolerance and limits are kept, method, geometry and rank left to the estimator, and no bar is shown.
        """
        share = None if self.max_time is None else 0.5 * self.max_time / fits
        return RunOptions(tol=self.tol, max_iterations=self.max_iterations, max_time=share, seed=self.seed)

    def after(self, seconds: float) -> RunOptions:
        """Those of a fit after a search of so many `seconds`: what is left of `max_time`, and at least half of it."""
        left = None if self.max_time is None else max(self.max_time - seconds, 0.5 * self.max_time)
        return replace(self, max_time=left)

    def rng(self) -> np.random.Generator:
        """A fresh generator for the report's own draws, independent of the solver's start."""
        return np.random.default_rng([self.seed, 1])


def seeded(estimator: Any, options: RunOptions) -> Any:
    """`estimator` with a ``random_state`` of None set to ``options.seed``, so that the run's sampling is repeatable."""
    if accepts(type(estimator), "random_state") and estimator.get_params()["random_state"] is None:
        estimator.set_params(random_state=options.seed)
    return estimator


def fitted(estimator: Any, options: RunOptions, n: int, callback: Callable[[Any], Any] | None, *data: Any) -> Any:
    """`estimator`, its parameter ``solver_options`` set from `options`, after ``fit(*data)``. n: order of M.

    An estimator without that parameter runs unchanged and calls no `callback`. ConvergenceWarnings are not shown, since
    the report says how the run ended.

    Raises InvalidInputError if the user gave a method, a tolerance or the like that the estimator does not accept.
    """
    from sklearn.exceptions import ConvergenceWarning

    estimator = seeded(estimator, options)
    if accepts(type(estimator), "solver_options"):
        estimator.set_params(solver_options=options.solver_options(n, callback))
    elif named := [name for name in FOR_SOLVE if getattr(options, name) is not None]:
        raise InvalidInputError(
            f"{type(estimator).__name__} takes no solver_options, through which a run sets {', '.join(named)}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data)
