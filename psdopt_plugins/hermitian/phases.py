"""Phase retrieval: a signal z from |x_t z|², as the Hermitian matrix z z* of least trace (PhaseLift)."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from psdopt import (
    Certificate,
    Constrained,
    FlatQuotient,
    LowRankPSD,
    Result,
    TermSum,
    TruncatedNewton,
    certify,
    constraints,
    solve,
)
from psdopt.checks import number, vector
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, block_operator, complex_array
from psdopt.terms import Combined, IdentityForm, LeastSquares, LinearTerm, MeasuredTerm, hermitian_squares
from psdopt_plugins.estimators import finished
from psdopt_plugins.hermitian.multipliers import phase_multipliers

#: Products with the data for the first signal, and the largest square, in means, that counts there in full.
PRODUCTS, TRUNCATED = 30, 3.0
#: Accuracy of the low-rank fit: values of exact data reach rounding, so that the certificate has all digits.
FIT_TOL = 1e-14
#: Most entries of X for which multipliers are sought: some arrays of this size are made.
MOST_ENTRIES = 2**25
#: Residuals of squares up to this share of |b| leave the constraints of PhaseLift satisfied.
EXACT = 1e-9


class PhaseEstimate(NamedTuple):
    """`signal` z (n,), up to a phase; `result`, the run that found it; `certificate`, what is proven of z z*.

    The certificate is of PhaseLift, the least trace over all H ⪰ 0 with these squares, or of the penalised fit: that no
    H has a lower value, not that no other has the same, as conj(z) has where X is real.
    """

    signal: Any
    result: Result
    certificate: Certificate | None


def phase_problem(X: Any, squares: Any) -> Constrained:
    """PhaseLift: min tr H over H ⪰ 0 with x_t H x_t* = b_t for the rows x_t of X (Candès, Strohmer, Voroninski 2013).

    Parameters
    ----------
    X : (m, n) complex, dense, sparse or a ``LinearOperator`` such as :func:`coded_masks`; for numbers |⟨a_t, z⟩|² =
        |a_t* z|², rows are a_t*. squares : (m,), b >= 0.

    Raises
    ------
    InvalidInputError for an X that is no finite matrix, or squares of another length or negative ones.
    """
    measurement = hermitian_squares(X)
    b = _squares(squares, measurement.size)
    return Constrained(_trace(measurement.n), constraints.Constraint(measurement, b, b, name="squares"))


def phase_fit_problem(X: Any, squares: Any, penalty: float = 0.0) -> TermSum:
    """1/(2m) Σ (x_t H x_t* − b_t)² + penalty · tr H, for squares with noise. Parameters as of :func:`phase_problem`."""
    measurement = hermitian_squares(X)
    return _fit(measurement, _squares(squares, measurement.size), number(penalty, "penalty", least=0.0))


def retrieve_phase(
    X: Any, squares: Any, *, penalty: float | None = None, tol: float = 1e-6, **options: Any
) -> PhaseEstimate:
    """z (n,) with |x_t z|² = b_t, up to a phase, and a proof that z z* is a solution of PhaseLift.

    The first signal is the leading eigenvector of Σ min(b_t, 3 b̄) x_t* x_t; a fit of rank one follows
    (:func:`phase_fit_problem`), both with rows x_t of length one unless X is an operator. If it meets the squares,
    multipliers that belong to it are sought (:func:`~psdopt_plugins.hermitian.multipliers.phase_multipliers`; X is
    formed) and given to :func:`psdopt.certify`. With a `penalty`, for squares with noise, F is the penalised fit over
    all ranks, z z* the leading part of its minimiser H, and the certificate says how far F(z z*) is from the least:
    further the more parts noise gives H.

    `tol` : of the certificate; `options` : of :func:`psdopt.solve`, for the fit. A ConvergenceWarning where nothing is
    proven. Raises what :func:`phase_problem` raises. Cost: some hundred products with X, and the multipliers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, z = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((60, 8), 8))
    >>> found = retrieve_phase(X, np.abs(X @ z) ** 2)
    >>> found.certificate.gap_relative <= 1e-6, bool(np.isclose(abs(np.vdot(found.signal, z)), np.vdot(z, z).real))
    (True, True)
    """
    measurement = hermitian_squares(X)
    n, b = measurement.n, _squares(squares, measurement.size)
    if penalty is not None:
        fit = _fit(measurement, b, number(penalty, "penalty", above=0.0))
        start = LowRankPSD(_first_signal(measurement, b))
        result = solve(fit, **{"start": start, "rng": 0, "tol": tol, **options})
        z = _leading(result.matrix)
        proof = certify(fit, LowRankPSD(np.concatenate([z.real, z.imag])[:, None]), tol=tol)
        return PhaseEstimate(z, finished(result), proof)
    directions, shares = _of_unit_rows(X, b)
    fitted = measurement if directions is X else hermitian_squares(directions)
    start = LowRankPSD(_first_signal(fitted, shares))
    given = {"geometry": FlatQuotient(n, 1), "method": TruncatedNewton(), "start": start, "tol": FIT_TOL, "rng": 0}
    result = solve(_fit(fitted, shares, 0.0), **{**given, "escape": False, **options})
    z = _leading(result.matrix)
    if np.sqrt(2.0 * len(b) * result.value) > EXACT * np.linalg.norm(shares):
        return _warned(PhaseEstimate(z, result, None), tol, "the fit of rank one does not meet the squares")
    if len(b) * len(z) > MOST_ENTRIES:
        return _warned(PhaseEstimate(z, result, None), tol, "X has too many entries for a search of multipliers")
    rows = X.matmat(np.eye(n // 2)) if isinstance(X, LinearOperator) else X
    y = phase_multipliers(rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows), z)
    if y is None:
        return _warned(PhaseEstimate(z, result, None), tol, "no multipliers were found")
    products = WithoutEntries(measurement.measurement, measurement.B)
    problem = Constrained(_trace(n), constraints.Constraint(products, b, b, name="squares"))
    return _warned(PhaseEstimate(z, result, certify(problem, result.matrix, tol=tol, dual=-y)), tol)


class WithoutEntries(Combined):
    """A measurement whose m matrices of n² entries are not written out.

    With multipliers at hand, the proof of a least trace takes the eigenvalues of S = I − A*(y), which products form. By
    entries, faces of the cone and bounds on the trace would be sought as well, which this proof does not use.
    """


@constraints.explicit_forms.register
def _(measurement: WithoutEntries) -> None:
    return None


def coded_masks(masks: Any) -> LinearOperator:
    """V (N, r) ↦ the discrete Fourier transforms of each column times each mask, (k N, r), without a matrix.

    `masks` : (k, ...), complex, for signals or images of the shape of one mask, N entries in C order. Transforms are
    orthogonal. O(k N log N) for a column (Candès, Li, Soltanolkotabi 2015). Raises InvalidInputError unless `masks`
    has at least two dimensions and finite entries.
    """
    masks = complex_array(masks, "masks")
    if masks.ndim < 2 or masks.size == 0:
        raise InvalidInputError(f"masks must be an array (k, ...), not empty; found shape {masks.shape}")
    shape, N = masks.shape[1:], int(np.prod(masks.shape[1:]))
    axes = tuple(range(1, masks.ndim))

    def forth(V: Any) -> Any:
        images = np.fft.fftn(masks[..., None] * V.reshape(*shape, -1), axes=axes, norm="ortho")
        return images.reshape(len(masks) * N, -1)

    def back(W: Any) -> Any:
        images = np.fft.ifftn(W.reshape(*masks.shape, -1), axes=axes, norm="ortho")
        return np.sum(masks.conj()[..., None] * images, axis=0).reshape(N, -1)

    return block_operator((len(masks) * N, N), forth, back, np.complex128)


def _trace(n: int) -> TermSum:
    return TermSum([LinearTerm(IdentityForm(n))])


def _squares(squares: Any, m: int) -> Array:
    b = vector(squares, "squares", m, "one per row of X")
    if b.min() < 0.0:
        raise InvalidInputError(f"squares must be at least 0; found {b.min():g}")
    return b


def _of_unit_rows(X: Any, b: Array) -> tuple[Any, Array]:
    """Rows of length one, and their squares: x_t H x_t* = b_t says the same of any multiple of x_t. Operators stay."""
    if isinstance(X, LinearOperator):
        return X, b
    sparse = sp.issparse(X)
    rows: Any = X.tocsr() if sparse else np.asarray(X)
    sizes = rows.multiply(rows.conj()) if sparse else rows * rows.conj()
    lengths = np.sqrt(np.asarray(sizes.sum(axis=1)).real.ravel())
    scale = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    return (sp.diags_array(scale) @ rows if sparse else rows * scale[:, None]), b * scale**2


def _fit(measurement: Combined, b: Array, penalty: float) -> TermSum:
    terms: list[Any] = [MeasuredTerm(measurement, LeastSquares(b), 0.5 / len(b))]
    return TermSum(terms + [LinearTerm(IdentityForm(measurement.n), penalty)] * (penalty > 0.0))


def _first_signal(measurement: Combined, b: Array) -> Array:
    """[Re v; Im v] (2n, 1) for the leading eigenvector v of Σ min(b_t, 3 b̄) x_t* x_t, scaled to the mean square."""
    X, (n, m) = measurement.maps[0], (measurement.n, len(b))
    weights = np.tile(np.minimum(b, TRUNCATED * b.mean()), 2)[:, None]
    v = np.random.default_rng(0).standard_normal((n, 1))
    for _ in range(PRODUCTS):
        v = X.adjoint(weights * X.apply(v))
        length = float(np.linalg.norm(v))
        if not length > 0.0:
            return np.zeros((n, 1))
        v = v / length
    size = float(np.linalg.norm(X.apply(v))) / np.sqrt(m)
    return v * (np.sqrt(b.mean()) / size if size > 0.0 else 1.0)


def _leading(M: LowRankPSD) -> Any:
    """The leading eigenvector of H, times the root of its eigenvalue, (n,)."""
    U, s, _ = np.linalg.svd(M.hermitian(), full_matrices=False)
    return U[:, 0] * s[0] if len(s) else np.zeros(M.n // 2, dtype=np.complex128)


def _warned(found: PhaseEstimate, tol: float, why: str = "the gap is larger than tol") -> PhaseEstimate:
    known = found.certificate
    if known is None or known.gap_relative is None or known.gap_relative > tol:
        text = f"z z* is not proven to be optimal: {why}; the fit: {found.result.message}"
        warnings.warn(text, ConvergenceWarning, stacklevel=3)
    return found
