"""Preconditioner of PSD regression: it whitens the data and the columns of Y."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeGuard, cast

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import issparse

from psdopt import Preconditioner, TermEvaluation
from psdopt.linalg import EPS, Array, RowBlocks
from psdopt.terms import Measurement, PairDistances, QuadraticForms
from psdopt_plugins.limits import ROOT_EPS, SPECTRUM_ORDER

#: Number of random samples for estimating a moment or percentiles.
SAMPLES = 20_000


class MomentPreconditioner(Preconditioner):
    """(evaluation) ↦ (G ↦ C⁻¹ G (YᵀCY + eta I)⁻¹), C = Σ w_t X_t / Σ w the second moment of the data; w_t = 1 for None.

    For Gaussian data the factor Hessian over four is D ↦ C D (YᵀCY) + C Y (DᵀCY) + tr(YᵀCD) C Y + S D / 2. Its first
    term is inverted exactly, so that units, correlations and an ill-conditioned Y do not matter. The next two have
    range in the span of C Y. The last one, S the gradient of F, vanishes on the span of Y at a stationary point, but
    limits the step if columns of Y are far too small: eta is half of its largest Rayleigh quotient with the columns of
    C^½ Y in the eigenbasis of YᵀCY. Symmetric positive definite; equivariant under Y → Y O.

    C is formed at first use: O(min(m, 20,000) n²) and one inverse O(n³) up to order 1500; above, and if there is no X,
    only its diagonal, O(nnz). These reads of the data are not counted as applications of a map.

    Each use costs O(n² r), or O(n r²) with the diagonal.
    """

    def __init__(self, measurement: QuadraticForms | PairDistances, weights: Array | None = None) -> None:
        self.measurement = measurement
        self.weights = weights

    @staticmethod
    def applies(measurement: Measurement) -> TypeGuard[QuadraticForms | PairDistances]:
        """Whether entries of the data are known."""
        if isinstance(measurement, QuadraticForms):
            return measurement.X.is_matrix or isinstance(measurement.X, RowBlocks)
        return isinstance(measurement, PairDistances) and (measurement.X is None or measurement.X.is_matrix)

    @cached_property
    def moment(self) -> Array:
        """C with its ridge, (n, n), or its diagonal (n,)."""
        measurement = self.measurement
        if isinstance(measurement, PairDistances) and measurement.X is None:
            ends = np.concatenate([measurement.i, measurement.j])
            both = None if self.weights is None else np.tile(self.weights / self.weights.mean(), 2)
            return _lifted(np.bincount(ends, both, minlength=measurement.n) / measurement.size)
        rows: Any = _sampled(measurement, self.weights)
        if measurement.n > SPECTRUM_ORDER:
            squares = rows * rows  # entry by entry, for sparse arrays as well
            return _lifted(np.asarray(squares.mean(axis=0)).ravel())
        gram: Any = rows.T @ rows
        C: Array = (cast(Any, gram).toarray() if issparse(gram) else gram) / rows.shape[0]
        C[np.diag_indices(len(C))] = _lifted(np.diagonal(C))
        return C

    @cached_property
    def inverse(self) -> Array:
        """C⁻¹ (n, n), or its diagonal (n,)."""
        if self.moment.ndim == 1:
            return 1.0 / self.moment
        scale = 1.0 / np.sqrt(np.diagonal(self.moment))
        inverse = np.linalg.inv(self.moment * scale * scale[:, None])
        return np.asarray(0.5 * (inverse + inverse.T) * scale * scale[:, None])

    def at(self, evaluation: TermEvaluation) -> Callable[[Array], Array]:
        Y, C, inverse = evaluation.factor, self.moment, self.inverse
        b, X, failed = lapack.dsyevd(Y.T @ _times(C, Y))
        if failed or not b[-1] > 0.0:
            return lambda G: _times(inverse, G)
        YX = Y @ X
        # for columns below √eps of the largest, b is rounding, but their own lengths are accurate
        lengths = np.maximum(np.einsum("ij,ij->j", YX, _times(C, YX)), np.finfo(float).tiny)
        pull = 0.5 * (np.einsum("ij,ij->j", YX, evaluation.factor_gradient() @ X) / lengths).max()
        damped = np.maximum(b, EPS * b[-1]) + max(ROOT_EPS * b.sum() / len(b), 0.5 * pull)
        return lambda G: _times(inverse, ((G @ X) / damped) @ X.T)


def moment_of(problem: Any) -> Array | None:
    """C (n, n), or its diagonal, of a problem with this preconditioner; else None."""
    preconditioner = getattr(problem, "preconditioner", None)
    return preconditioner.moment if isinstance(preconditioner, MomentPreconditioner) else None


def _times(C: Array, Y: Array) -> Array:
    return np.asarray(C[:, None] * Y if C.ndim == 1 else C @ Y)


def _lifted(diagonal: Array) -> Array:
    """The diagonal of C with its ridge; features that are always zero get the mean entry."""
    mean = float(diagonal.mean())
    return np.asarray(np.where(diagonal > 0.0, diagonal, mean if mean > 0.0 else 1.0) * (1.0 + ROOT_EPS))


def _sampled(measurement: Any, weights: Array | None) -> Any:
    """Up to SAMPLES of the vectors x_t with X_t = x_t x_tᵀ, as rows: an array or a sparse array.

    Each row is multiplied by the square root of its weight relative to the mean weight.
    """
    if weights is None:
        return _drawn(measurement)[1]
    chosen, rows = _drawn(measurement)
    scale = np.sqrt(weights[chosen] / max(float(weights[chosen].mean()), np.finfo(float).tiny))[:, None]
    sparse: bool = issparse(rows)
    return rows.multiply(scale).tocsr() if sparse else rows * scale


def _drawn(measurement: Any) -> tuple[Any, Any]:
    chosen: Any = slice(None)
    if measurement.size > SAMPLES:
        chosen = np.sort(np.random.default_rng(0).choice(measurement.size, SAMPLES, replace=False))
    if isinstance(measurement.X, RowBlocks):
        return chosen, measurement.X.take(np.arange(measurement.size)[chosen])
    data = measurement.X.data
    if isinstance(measurement, PairDistances):
        return chosen, data[measurement.i[chosen]] - data[measurement.j[chosen]]
    return chosen, data[chosen]
