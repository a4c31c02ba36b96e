"""Hermitian matrices on a real factor: H = Z Z*, Z = A + iB (n, r), is kept as M = W Wᵀ with W = [A; B] (2n, r).

A complex X (m, n) acts on Z as the real [Re X, −Im X; Im X, Re X] (2m, 2n) acts on W, with the same memory and flops.
For Hermitian C, ⟨C, H⟩ = Re tr(C H) = ⟨Ĉ, M⟩ with Ĉ made from C in this way; Ĉ has the eigenvalues of C, each twice. M
is any matrix M ⪰ 0 of order 2n: with J = [0, −I; I, 0], M and (M + J M Jᵀ)/2 have the same H, so nothing has to keep
its blocks alike. What is made here declares that it sees H alone (:attr:`psdopt.Problem.hermitian`).
Complex numbers appear here and in :meth:`psdopt.LowRankPSD.hermitian` only; all else is real.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from psdopt.errors import InvalidInputError
from psdopt.linalg.complex_arrays import complex_array
from psdopt.linalg.operators import block_operator
from psdopt.linalg.tolerances import asymmetry_allowed
from psdopt.terms.combined import Combined
from psdopt.terms.forms import MatrixForm
from psdopt.terms.measurements import QuadraticForms


def embedded(X: Any) -> Any:
    """[Re X, −Im X; Im X, Re X] (2m, 2n) for a complex or real X (m, n): X Z, its real over its imaginary part.

    A dense or sparse X gives the like; a ``LinearOperator`` gives one that applies X to complex columns, and its
    transpose applies X*. Raises InvalidTypeError for anything that is no matrix of numbers.
    """
    if isinstance(X, LinearOperator):
        m, n = X.shape
        return block_operator((2 * m, 2 * n), lambda W: _parts(X.matmat, W), lambda W: _parts(X.rmatmat, W))
    X = _matrix(X, "X")
    return (
        _blocks(X) if isinstance(X, np.ndarray) else sp.csr_array(sp.block_array([[X.real, -X.imag], [X.imag, X.real]]))
    )


def hermitian_form(C: Any, psd: bool | None = None) -> MatrixForm:
    """The form of ⟨C, H⟩ = Re tr(C H) for a Hermitian C (n, n), dense or sparse; `psd` as for :class:`MatrixForm`.

    Raises InvalidInputError for a C that is not square, Hermitian and finite.
    """
    form = MatrixForm(embedded(hermitian_matrix(C, "C")), psd=psd)
    form.hermitian = True
    return form


def hermitian_squares(X: Any) -> Combined:
    """|x_t Z|² = x_t H x_t*, (m,), for the rows x_t of a complex X (m, n): dense, sparse or a ``LinearOperator``.

    Numbers |⟨a_t, z⟩|² = |a_t* z|² are those of X = conj(A) with rows a_t. Cost: one product with X (m, n).
    """
    X = embedded(X)
    m = X.shape[0] // 2
    squares = Combined(QuadraticForms(X), sp.hstack([sp.eye_array(m)] * 2, format="csr"))
    squares.hermitian = True
    return squares


def hermitian_matrix(C: Any, name: str) -> Any:
    """C (n, n), dense or sparse, or one error: not square, not finite, not Hermitian."""
    C = _matrix(C, name)
    if C.shape[0] != C.shape[1]:
        raise InvalidInputError(f"{name} must be square; found shape {C.shape}")
    skew, size = float(abs(C - C.conj().T).max()), float(abs(C).max())
    allowed = asymmetry_allowed(size, C.shape[0])
    if skew > allowed:
        found = f"found max |{name} - {name}*| = {skew:.3g}, where {allowed:.3g} is allowed"
        raise InvalidInputError(
            f"{name} must be Hermitian; {found}. Pass ({name} + {name}.conj().T) / 2 if it is noise"
        )
    return C


def _parts(times: Any, W: Any) -> Any:
    """The real over the imaginary part of `times` (A + iB) for W = [A; B]."""
    half = len(W) // 2
    V = times(W[:half] + 1j * W[half:])
    return np.concatenate([V.real, V.imag])


def _blocks(X: Any) -> Any:
    m, n = X.shape
    found = np.empty((2 * m, 2 * n))
    found[:m, :n] = found[m:, n:] = X.real
    found[m:, :n] = X.imag
    np.negative(X.imag, out=found[:m, n:])
    return found


def _matrix(given: Any, name: str) -> Any:
    """A 2-D array, not empty, of finite numbers, or a sparse one."""
    X: Any = given
    if isinstance(given, (sp.sparray, sp.spmatrix)):
        X = sp.csr_array(cast(Any, given))
        complex_array(X.data, name)
    else:
        X = complex_array(given, name)
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidInputError(f"{name} must be a 2-D array, not empty; found shape {X.shape}")
    return X
