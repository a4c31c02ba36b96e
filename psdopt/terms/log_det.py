"""−ν log det of a diagonal block of M: the barrier of the cone, and the entropy of Gaussian models."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from psdopt.checks import indices, integer, number
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.cone_steps import inverse_of, triangular_inverse
from psdopt.linalg.tolerances import EPS, ROOT_EPS
from psdopt.terms.base import Forces, Term
from psdopt.terms.models import Curve, Surface


class Block(NamedTuple):
    """A = M_R (k, k) and its lower Cholesky factor, None where A is singular up to rounding."""

    A: Array
    L: Array | None


class LogDet(Term):
    """−ν log det M_R, M_R the diagonal block of M with the rows R; infinite where M_R is singular.

    The gradient is −ν M_R⁻¹ in the rows and columns R, the Hessian D ↦ ν M_R⁻¹ D_R M_R⁻¹. M_R counts as singular if it
    is within rounding of a singular matrix once its diagonal is scaled to one, whatever the units of its rows are. On
    the line Y + mu D the eigenvalues λ of a pencil of order 2 k give −ν (log det M_R + Σ log |1 + mu λ|) exactly.

    Parameters
    ----------
    n : order of M. weight : ν > 0. rows : R, distinct; default all rows.

    Cost: O(k² r + k³) for the value and each product, O(k³) once for each line.

    Raises InvalidInputError for rows that repeat or are none, a weight that is not positive, or an order below 1.
    """

    convex = True
    has_entries = True

    def __init__(self, n: int, weight: float = 1.0, rows: Any = None) -> None:
        self.n = integer(n, "n")
        self.weight = number(weight, "weight", above=0.0)
        self.rows = np.arange(self.n) if rows is None else indices(rows, "rows", self.n)
        if len(self.rows) == 0 or len(np.unique(self.rows)) < len(self.rows):
            raise InvalidInputError(f"rows must be distinct, and one at least; found {len(self.rows)} rows")
        self.order = len(self.rows)

    def features(self, U: Images) -> Block:
        Y = U.factor[self.rows]
        A = Y @ Y.T
        return Block(A, _definite_factor(A, Y) if Y.shape[1] >= self.order else None)

    def value(self, features: Block) -> float:
        return math.inf if features.L is None else -self.weight * _log_det(features.L)

    def gradient(self, U: Images, features: Block, V: Images) -> Forces:
        return [(None, self._placed(-self.weight * (self._inverse(features) @ V.factor[self.rows])))]

    def add_gradient_to(self, S: Array, U: Images, features: Block) -> None:
        S[np.ix_(self.rows, self.rows)] += self.gradient_block(features)

    def gradient_block(self, features: Block) -> Array:
        """−ν M_R⁻¹ (k, k), the entries of ∇f(M) in the rows and columns R; NaN where M_R is singular."""
        return -self.weight * self._inverse(features)

    def hessian(self, U: Images, features: Block, D: Images, V: Images) -> Forces:
        W, P = self._inverse(features), U.factor[self.rows] @ D.factor[self.rows].T
        return [(None, self._placed(self.weight * (W @ ((P + P.T) @ (W @ V.factor[self.rows])))))]

    def along(self, U: Images, features: Block, D: Images) -> Curve:
        if features.L is None:
            return SingularCurve()
        Y, E = U.factor[self.rows], D.factor[self.rows]
        return LogDetCurve(self.weight, features.L, Y, E)

    def along_atom(self, U: Images, features: Block, v: Images) -> Surface:
        if features.L is None:
            return SingularSurface()
        u = np.linalg.solve(features.L, v.factor[self.rows, 0])
        return LogDetSurface(self.weight, self.order, _log_det(features.L), float(u @ u))

    def _inverse(self, features: Block) -> Array:
        """M_R⁻¹; NaN where there is none."""
        if features.L is None:
            return np.full_like(features.A, np.nan)
        return inverse_of(features.L)

    def _placed(self, G: Array) -> Array:
        full = np.zeros((self.n, G.shape[1]))
        full[self.rows] = G
        return full

    def __repr__(self) -> str:
        return f"LogDet(n={self.n}, weight={self.weight:g}, order {self.order})"


class LogDetCurve(Curve):
    """−ν log det((Y + mu D)(Y + mu D)ᵀ), the determinant being det(A) det(I + mu P + mu² Q), P, Q in the metric of A.

    det(I + mu P + mu² Q) = det(I + mu K) with K = [[P, Q], [−I, 0]]. For a square Y it is det(I + mu Y⁻¹D)².
    """

    def __init__(self, weight: float, L: Array, Y: Array, D: Array) -> None:
        self.weight, self.constant = weight, _log_det(L)
        k, r = Y.shape
        if k == r:
            self.values = np.tile(np.linalg.eigvals(np.linalg.solve(Y, D)), 2)
            return
        H = triangular_inverse(L[None])[0]
        B, C = H @ Y, H @ D
        P = B @ C.T
        K = np.block([[P + P.T, C @ C.T], [-np.eye(k), np.zeros((k, k))]])
        self.values = np.linalg.eigvals(K)

    def value(self, mu: float) -> float:
        with np.errstate(divide="ignore"):
            terms = np.log(np.abs(1.0 + mu * self.values))
        return -self.weight * (self.constant + math.fsum(terms))

    def derivatives(self, mu: float) -> tuple[float, float]:
        with np.errstate(all="ignore"):
            shares = self.values / (1.0 + mu * self.values)
            return -self.weight * float(np.sum(shares).real), self.weight * float(np.sum(shares**2).real)


class LogDetSurface(Surface):
    """−ν log det(alpha A + beta u uᵀ) = −ν ((k − 1) log alpha + log(alpha + beta q) + log det A), q = uᵀA⁻¹u."""

    def __init__(self, weight: float, order: int, constant: float, q: float) -> None:
        self.weight, self.order, self.constant, self.q = weight, order, constant, q

    def value(self, alpha: float, beta: float) -> float:
        last = alpha + beta * self.q
        if last <= 0.0 or (alpha <= 0.0 and self.order > 1):
            return math.inf
        first = (self.order - 1) * math.log(alpha) if self.order > 1 else 0.0
        return -self.weight * (first + math.log(last) + self.constant)

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            k, one = np.float64(self.order - 1), 1.0 / np.float64(alpha + beta * self.q)
            first = k / np.float64(alpha) if k else np.float64(0.0)
            second = first / np.float64(alpha) if k else np.float64(0.0)
            along = one * np.array([1.0, self.q])
            hessian = np.outer(along, along)
            hessian[0, 0] += second
            return -self.weight * (along + np.array([first, 0.0])), self.weight * hessian


class SingularCurve(Curve):
    """The line from an M at which the function is infinite: no way to descend is known."""

    def value(self, mu: float) -> float:
        return math.inf

    def derivatives(self, mu: float) -> tuple[float, float]:
        return math.nan, math.nan


class SingularSurface(Surface):
    """The plane through an M at which the function is infinite."""

    def value(self, alpha: float, beta: float) -> float:
        return math.inf

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        return np.full(2, np.nan), np.full((2, 2), np.nan)


def _log_det(L: Array) -> float:
    return 2.0 * math.fsum(np.log(np.diagonal(L)))


def _definite_factor(A: Array, Y: Array) -> Array | None:
    """The lower Cholesky factor of A = Y Yᵀ; None if A, scaled to a unit diagonal, is singular up to rounding.

    Where a pivot of it has lost half of all digits, the factor is that of a QR decomposition of Yᵀ, whose rounding is
    relative to each row of Y: log det then has errors of eps κ(Y), not eps κ(Y)².
    """
    d = np.diagonal(A)
    if not (np.all(d > 0.0) and np.all(np.isfinite(d))):
        return None
    scale = np.exp2(np.round(0.5 * np.log2(d)))
    H = A / scale / scale[:, None]
    try:
        np.linalg.cholesky(H - len(A) * EPS * np.eye(len(A)))
        L = np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        return None
    if not np.diagonal(L).min() ** 2 > ROOT_EPS:
        R = np.linalg.qr((Y / scale[:, None]).T, mode="r")
        L = (np.where(np.diagonal(R) < 0.0, -1.0, 1.0)[:, None] * R).T
    return np.asarray(scale[:, None] * L)
