"""Builders under test: the function that makes a problem of data, with data to call it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psdopt.contracts.problem import Problem


@dataclass(frozen=True)
class Builder:
    """`factory(*arguments, **keywords)` makes a Problem; the kit calls it on the same data in other forms.

        run_checks(Builder(psd_regression_problem, (X, y)))

    Parameters
    ----------
    factory : the builder. arguments, keywords : small data to call it on.
    samples : position in `arguments` of X, with one sample per row; None if there is none. A first argument that is a
        symmetric matrix, such as a covariance or a matrix of weights, holds no samples: the default 0 becomes None.
    per_sample : positions of the arguments with one entry for each sample, such as labels. Default: all others as long
        as X.
    indices : positions of integer arrays that name samples by their row, such as pairs.
    order_matters : whether the problem may depend on the order of the samples.
    """

    factory: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    samples: int | None = 0
    per_sample: tuple[int, ...] | None = None
    indices: tuple[int, ...] = ()
    order_matters: bool = False

    def __post_init__(self) -> None:
        if self.samples == 0 and self.arguments and _symmetric(self.arguments[0]):
            object.__setattr__(self, "samples", None)

    def __repr__(self) -> str:
        return f"Builder({getattr(self.factory, '__name__', self.factory)})"

    def build(self, **changed: Any) -> Problem:
        """The problem, with some arguments replaced: `build(a0=X)` puts X in the place of the first."""
        arguments = [changed.get(f"a{k}", value) for k, value in enumerate(self.arguments)]
        problem = self.factory(*arguments, **self.keywords)
        if not isinstance(problem, Problem):
            raise TypeError(f"{self!r} made {problem!r}, which is no Problem")
        return problem

    def reordered(self, order: Any) -> Problem:
        """The problem of the same samples in another order."""
        back = np.argsort(order)
        X = self.arguments[self.samples or 0]
        rows = self.per_sample
        if rows is None:
            rows = tuple(
                k
                for k, value in enumerate(self.arguments)
                if k != self.samples and k not in self.indices and np.ndim(value) and len(value) == X.shape[0]
            )
        changed = {f"a{self.samples}": X[order]}
        changed |= {f"a{k}": np.asarray(self.arguments[k])[order] for k in rows}
        changed |= {f"a{k}": back[np.asarray(self.arguments[k])] for k in self.indices}
        return self.build(**changed)


def _symmetric(data: Any) -> bool:
    """Whether `data`, dense or sparse, is a square matrix that equals its transpose."""
    if getattr(data, "ndim", 0) != 2 or data.shape[0] != data.shape[1]:
        return False
    apart = data != data.T
    return not (apart.nnz if hasattr(apart, "nnz") else apart.any())
