"""General matrices as measurements, and squares up to an offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt import Images
from psdopt.checks import finite, real, real_array, unmasked
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, LinearMap, inner
from psdopt.terms import Forces, Loss, Measurement


class GeneralForms(Measurement):
    """a_t = tr(X_t M) for matrices X_t (n, n), of which only the symmetric part counts.

    All X_t are stored, flattened, as the rows of one (m, n²) array or sparse matrix, so that a step costs one product
    with it, O(m n²) or O(nnz), after an O(n² r) product of factors. One (n, n) array is formed, which is small beside
    the m given ones.

    Parameters
    ----------
    matrices : array (m, n, n), or a sequence of arrays or sparse arrays (n, n).
    """

    def __init__(self, matrices: Any) -> None:
        rows = _flattened(matrices)
        self.size, flat = rows.shape
        self.n = round(flat**0.5)
        self.rows = LinearMap(rows, "X", owned=True)

    @property
    def data(self) -> LinearMap:
        """The flattened matrices, with their count of applications."""
        return self.rows

    def pair(self, U: Images, V: Images) -> Array:
        product = U.factor @ V.factor.T
        return self.rows.apply((0.5 * (product + product.T)).reshape(-1, 1))[:, 0]

    def adjoint(self, weights: Array, V: Images) -> Forces:
        S = self.rows.adjoint(weights[:, None]).reshape(self.n, self.n)
        return [(None, 0.5 * ((S @ V.factor) + (S.T @ V.factor)))]


def _flattened(matrices: Any) -> Any:
    if isinstance(matrices, np.ndarray) and matrices.ndim == 3:
        m, n, other = matrices.shape
        if m == 0 or n != other:
            raise InvalidInputError(f"X must hold square matrices, shape (m, n, n); found {matrices.shape}")
        return unmasked(matrices, "X").reshape(m, n * n).copy()
    if not isinstance(matrices, Sequence) or not matrices:
        found = type(matrices).__name__
        raise InvalidInputError(f"X must be an array (m, n, n) or a sequence of matrices; found {found}")
    shapes = {np.shape(A) for A in matrices}
    shape = next(iter(shapes))
    if len(shapes) != 1 or len(shape) != 2 or shape[0] != shape[1]:
        raise InvalidInputError(f"the matrices in X must be square and of one order; found shapes {sorted(shapes)}")
    if any(sp.issparse(A) for A in matrices):
        return sp.vstack([sp.csr_array(real(A, "X")).reshape((1, shape[0] ** 2)) for A in matrices], format="csr")
    stacked = finite([real_array(A, f"X[{t}]") for t, A in enumerate(matrices)], "X")
    return stacked.reshape(len(stacked), -1)


class LeastSquaresWithOffset(Loss):
    """min over c of Σ_t w_t (a_t + c − target_t)² = Σ_t w_t (b_t − mean b)², b = a − target. Convex; not separable.

    The mean is the weighted one, and the best offset is c = −mean b, :meth:`offset`. Hessian 2 (W − w wᵀ / Σ w): a
    direction e costs nothing.

    Parameters
    ----------
    target : (m,), finite, m >= 1. weights : (m,), at least 0 and not all 0; None: 1. Raises InvalidInputError.
    """

    degree = 2
    separable = False

    def __init__(self, target: Any, weights: Array | None = None) -> None:
        self.target = finite(target, "target")
        if self.target.ndim != 1 or len(self.target) == 0:
            raise InvalidInputError(f"target must have shape (m,), m >= 1; found {self.target.shape}")
        self.size = len(self.target)
        self.weights = np.ones(self.size) if weights is None else weights

    def offset(self, a: Array) -> float:
        """c."""
        return float(np.average(self.target - a, weights=self.weights))

    def value(self, a: Array) -> float:
        residual = self._centred(a - self.target)
        return inner(self.weights * residual, residual)

    def derivative(self, a: Array) -> Array:
        return 2.0 * self.weights * self._centred(a - self.target)

    def curvature(self, a: Array, direction: Array) -> Array:
        return 2.0 * self.weights * self._centred(direction)

    def _centred(self, values: Array) -> Array:
        return np.asarray(values - np.average(values, weights=self.weights))
