"""Broken builders: 1/(2m) Σ (x_tᵀ M x_t − y_t)² made of samples X (m, n) and targets y (m,), with one sin each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.problems import AutogradProblem, TermSum
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import QuadraticForms
from psdopt.testing.builders import Builder

_RNG = np.random.default_rng(9)
X = _RNG.standard_normal((14, 4))
Y = _RNG.uniform(0.0, 5.0, 14)


class _Fit(TermSum):
    """The problem, with its formula."""

    def __init__(self, rows: Any, y: Array, weights: Any = None) -> None:
        sparse: bool = sp.issparse(rows)
        self.formula = np.asarray(rows.todense() if sparse else rows), np.array(y)
        super().__init__([MeasuredTerm(QuadraticForms(rows), LeastSquares(y, weights), 0.5 / len(y))])

    def reference(self) -> Problem:
        import autograd.numpy as anp

        rows, y = self.formula
        m = len(y)
        return AutogradProblem(
            lambda M: anp.sum((anp.sum(anp.dot(rows, M) * rows, axis=1) - y) ** 2) / (2 * m), rows.shape[1]
        )


class _Builder(Builder):
    """Healthy base."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__(self.make, (X.copy(), Y.copy()))

    def make(self, rows: Any, y: Any) -> Problem:
        return _Fit(rows, y)


class SparseTwice(_Builder):
    """Sparse samples are scaled by two."""

    rejected_by = ("builder.storage_independence",)

    def make(self, rows: Any, y: Any) -> Problem:
        sparse: bool = sp.issparse(rows)
        return _Fit(2.0 * rows if sparse else rows, y)


class CentresInPlace(_Builder):
    """The caller's samples are centred where they are."""

    rejected_by = ("builder.arguments_untouched",)

    def make(self, rows: Any, y: Any) -> Problem:
        if isinstance(rows, np.ndarray):
            rows -= rows.mean(axis=0)
        return _Fit(rows, y)


class ForgetsTheLast(_Builder):
    """The last half of the samples is replaced by the first."""

    rejected_by = ("builder.samples_count", "builder.samples_in_any_order")

    def make(self, rows: Any, y: Any) -> Problem:
        half = np.resize(np.arange(len(y) // 2), len(y))
        return _Fit(rows[half], np.asarray(y)[half])


class RolledTargets(_Builder):
    """Every sample has the target of the next one."""

    rejected_by = ("builder.samples_in_any_order",)

    def make(self, rows: Any, y: Any) -> Problem:
        return _Fit(rows, np.roll(y, 1))


class SinglePrecision(_Builder):
    """Samples are rounded to single precision."""

    rejected_by = ("builder.not_rounded",)

    def make(self, rows: Any, y: Any) -> Problem:
        return _Fit(rows.astype(np.float32).astype(np.float64), y)


class SparseSinglePrecision(_Builder):
    """Sparse samples are rounded to single precision."""

    rejected_by = ("builder.not_rounded", "builder.storage_independence")

    def make(self, rows: Any, y: Any) -> Problem:
        sparse: bool = sp.issparse(rows)
        return _Fit(rows.astype(np.float32).astype(np.float64) if sparse else rows, y)


class WeightsOff(_Builder):
    """All weights are a thousandth too large."""

    rejected_by = ("builder.formula",)

    def make(self, rows: Any, y: Any) -> Problem:
        return _Fit(rows, y, 1.001)


ALL: tuple[type[Any], ...] = (
    SparseTwice,
    CentresInPlace,
    ForgetsTheLast,
    RolledTargets,
    SinglePrecision,
    SparseSinglePrecision,
    WeightsOff,
)
