"""Preconditioner of squared measurements: it whitens the data and the columns of Y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import issparse

from psdopt.contracts.roles import Preconditioner
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.row_blocks import RowBlocks
from psdopt.linalg.tolerances import EPS, ROOT_EPS
from psdopt.terms.base import Term
from psdopt.terms.losses import HalfSquaredOneSided
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import PairDistances, QuadraticForms, TripletDifferences

#: Number of random samples from which a moment is estimated.
SAMPLES = 20_000


class MomentPreconditioner(Preconditioner):
    """(evaluation) ↦ (G ↦ C⁻¹ G (YᵀCY + eta I)⁻¹), C = Σ h_t X_t / Σ h_t the second moment of the data of all terms.

    Each term is Σ_t phi_t(⟨X_t, M⟩), X_t = x_t x_tᵀ; h_t are its weights. A difference of two squared distances counts
    as both. For Gaussian data the factor Hessian over 4 Σ phi_t'' is
    D ↦ C D (YᵀCY) + C Y (DᵀCY) + tr(YᵀCD) C Y + S D / (2 Σ phi_t''). Its first term is inverted exactly, so that units,
    correlations and an ill-conditioned Y do not matter. The next two have range in the span of C Y. The last one, S the
    gradient of F, vanishes on the span of Y at a stationary point, but limits the step if columns of Y are far too
    small: eta is half of its largest Rayleigh quotient with the columns of C^½ Y in the eigenbasis of YᵀCY. Symmetric
    positive definite; equivariant under Y → Y O where the columns of Y are independent.

    C is formed at first use: O(min(m, 20,000) n²) and one inverse O(n³) up to order 1500; above, and if there is no X,
    only its diagonal, O(nnz). These reads of the data are not counted as applications of a map. Each use costs
    O(m + n² r), or O(m + n r²) with the diagonal.

    `terms` : at least one :class:`~psdopt.terms.MeasuredTerm` of :meth:`measured`, else InvalidInputError.
    """

    def __init__(self, terms: Sequence[MeasuredTerm]) -> None:
        self.terms = tuple(terms)
        if not self.terms or not all(map(self.measured, self.terms)):
            raise InvalidInputError("terms must be measured terms of positive weight, by vectors of known entries")

    @classmethod
    def of(cls, terms: Sequence[Term]) -> MomentPreconditioner | None:
        """That of a sum of `terms` in which it is near the curvature of F wherever M is, else None.

        All but linear terms are squared losses of at least 2 n measurements of an array X of at least 2 n rows, up to
        order 1500. The curvature of a one-sided loss is that of its active measurements, which may be few, and that of
        fewer rows is none in the directions where C⁻¹ is largest; entries of C⁻¹ would cost more than those of a sparse
        X, and without X nothing has to be whitened.
        """
        curved = [term for term in terms if term.degree != 1]
        known = [term for term in curved if cls.measured(term) and term.maps and term.convex and _full(term)]
        return cls(cast(list[MeasuredTerm], known)) if known and len(known) == len(curved) else None

    @staticmethod
    def measured(term: Term) -> bool:
        """Whether the term measures by vectors x_t whose entries are known."""
        if not isinstance(term, MeasuredTerm) or term.device is not None or not term.weight > 0.0:
            return False
        measurement = _by_vectors(term.measurement)
        if isinstance(measurement, QuadraticForms):
            return measurement.X.is_matrix or isinstance(measurement.X, RowBlocks)
        return isinstance(measurement, PairDistances) and (measurement.X is None or measurement.X.is_matrix)

    @cached_property
    def moment(self) -> Array:
        """C with its ridge, (n, n), or its diagonal (n,)."""
        shares = np.array([term.weight * float(np.sum(_weights(term))) for term in self.terms])
        parts = [_moment(_by_vectors(term.measurement), _on_vectors(term)) for term in self.terms]
        if any(part.ndim == 1 for part in parts):
            parts = [part if part.ndim == 1 else np.diagonal(part) for part in parts]
        shares = shares / shares.sum() if shares.sum() > 0.0 else np.full(len(parts), 1.0 / len(parts))
        C: Array = sum(share * part for share, part in zip(shares, parts, strict=True))
        if C.ndim == 1:
            return _lifted(C)
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

    @cached_property
    def _signs(self) -> list[Array]:
        """±1 (m,) for each term: dᵀHd is the trace of the Hessian of a separable loss, and near it for others."""
        return [np.where(np.arange(term.measurement.size) % 2, -1.0, 1.0) for term in self.terms]

    def at(self, evaluation: Any) -> Callable[[Array], Array]:
        Y, C, inverse = evaluation.factor, self.moment, self.inverse
        b, X, failed = lapack.dsyevd(Y.T @ _times(C, Y))
        curvature = sum(
            term.weight * inner(d, term.loss.curvature(evaluation.feature_of(term), d))
            for term, d in zip(self.terms, self._signs, strict=True)
        )
        if failed or not b[-1] > 0.0 or not curvature > 0.0:
            return lambda G: _times(inverse, G)
        YX = Y @ X
        # for columns below √eps of the largest, b is rounding, but their own lengths are accurate
        lengths = np.maximum(np.einsum("ij,ij->j", YX, _times(C, YX)), np.finfo(float).tiny)
        pull = (np.einsum("ij,ij->j", YX, evaluation.factor_gradient() @ X) / lengths).max() / curvature
        damped = np.maximum(b, EPS * b[-1]) + max(ROOT_EPS * b.sum() / len(b), 0.5 * min(pull, b[-1] / EPS))
        return lambda G: _times(inverse, ((G @ X) / damped) @ X.T)


def _full(term: Any) -> bool:
    """Whether the loss is quadratic, of arrays of rows and measurements enough for a moment of full rank."""
    n = term.n
    enough = n <= SPECTRUM_ORDER and term.measurement.size >= 2 * n
    return (
        term.degree == 2 and enough and all(isinstance(A.data, np.ndarray) and len(A.data) >= 2 * n for A in term.maps)
    )


def _by_vectors(measurement: Any) -> Any:
    return measurement.pairs if isinstance(measurement, TripletDifferences) else measurement


def _weights(term: MeasuredTerm) -> Array:
    """The weights of the loss, one for each measurement; 1 for losses of which none are known."""
    w = term.loss.weights if isinstance(term.loss, HalfSquaredOneSided) else 1.0
    return np.broadcast_to(w, (term.measurement.size,))


def _on_vectors(term: MeasuredTerm) -> Array | None:
    """The weight of each x_t; None where all are equal."""
    w = _weights(term)
    if isinstance(term.measurement, TripletDifferences):
        return np.asarray(abs(term.measurement.signs).T @ w)
    return None if w.size == 0 or bool(np.all(w == w[0])) else w


def _moment(measurement: QuadraticForms | PairDistances, weights: Array | None) -> Array:
    """The weighted mean of x_t x_tᵀ (n, n), or its diagonal (n,)."""
    if isinstance(measurement, PairDistances) and measurement.X is None:
        ends = np.concatenate([measurement.i, measurement.j])
        both = None if weights is None else np.tile(weights / weights.mean(), 2)
        return np.bincount(ends, both, minlength=measurement.n) / measurement.size
    rows: Any = _sampled(measurement, weights)
    if measurement.n > SPECTRUM_ORDER:
        squares = rows * rows  # entry by entry, for sparse arrays as well
        return np.asarray(squares.mean(axis=0)).ravel()
    gram: Any = rows.T @ rows
    return np.asarray((cast(Any, gram).toarray() if issparse(gram) else gram) / rows.shape[0])


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
