"""Correlation matrices of rank at most r: factors with rows of length one, up to rotation."""

import numpy as np
from scipy.linalg import solve_continuous_lyapunov

from psdopt import Ability, Defect, Geometry

EPS = np.finfo(float).eps


def _rows(Y, Z):
    return np.sum(Y * Z, axis=1, keepdims=True)


class UnitDiagonal(Geometry):
    """{Y Yᵀ : Y (n, r), |y_i| = 1}, Y ~ Y O for orthogonal O, metric tr(D₁ᵀD₂).

    Tangent vectors: ⟨y_i, d_i⟩ = 0 in every row, and YᵀD symmetric (horizontal). The fibre direction YΩ that is
    removed solves (YᵀY)Ω + Ω(YᵀY) = YᵀZ − ZᵀY. SciPy's solve_continuous_lyapunov(A, Q) solves AX + XAᵀ = +Q.
    Retraction: rows scaled back to length one, which is of second order.
    """

    retraction_order = 2
    invariant = "the diagonal of M"

    def __init__(self, n, r):
        if not 1 <= r <= n:
            raise ValueError(f"r must lie between 1 and n = {n}; found {r}")
        self.n, self.r = int(n), int(r)
        self.rank = self.r
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})

    def check_point(self, point):
        Y = np.asarray(point)
        if Y.shape != (self.n, self.r) or not np.all(np.isfinite(Y)):
            return Defect(f"a point must be finite, of shape ({self.n}, {self.r}); found {Y.shape}", float(Y.size), 0.0)
        error, allowed = float(np.max(np.abs(_rows(Y, Y) - 1.0))), 64 * EPS * self.r
        return None if error <= allowed else Defect("rows must have length one, off by", error, allowed)

    def check_vector(self, point, vector):
        D = np.asarray(vector)
        if D.shape != (self.n, self.r) or not np.all(np.isfinite(D)):
            return Defect(f"a vector must be finite, shaped ({self.n}, {self.r}); found {D.shape}", float(D.size), 0.0)
        skew = point.T @ D
        error = float(np.linalg.norm(_rows(point, D)) + np.linalg.norm(skew - skew.T))
        allowed = 1024 * EPS * self.n * float(np.linalg.norm(D))
        return None if error <= allowed else Defect("not tangent and horizontal, off by", error, allowed)

    def random_point(self, rng):
        return self.from_factor(rng.standard_normal((self.n, self.r)))

    def random_vector(self, point, rng):
        D = self.horizontal(point, rng.standard_normal((self.n, self.r)))
        size = np.linalg.norm(D)
        return D / size if size > 0 else D

    def factor(self, point):
        return point

    def from_factor(self, Y):
        """The best rank-r factor, its rows scaled to length one (a zero row becomes the first unit vector)."""
        U, s, _ = np.linalg.svd(np.asarray(Y, dtype=float), full_matrices=False)
        Y = np.zeros((self.n, self.r))
        k = min(self.r, len(s))
        Y[:, :k] = U[:, :k] * s[:k]
        Y[np.linalg.norm(Y, axis=1) == 0.0, 0] = 1.0
        return Y / np.sqrt(_rows(Y, Y))

    def inner(self, point, left, right):
        return float(np.vdot(left, right))

    def horizontal(self, point, ambient):
        """First tangent to the unit rows, then orthogonal to the fibre. O(n r² + r³)."""
        Z = ambient - point * _rows(point, ambient)
        skew = point.T @ Z
        omega = solve_continuous_lyapunov(point.T @ point, skew - skew.T)
        return Z - point @ (0.5 * (omega - omega.T))

    def gradient(self, point, S):
        G = 2.0 * (S @ point)
        return G - point * _rows(point, G)

    def retract(self, point, vector):
        Y = point + vector
        return Y / np.sqrt(_rows(Y, Y))

    def transport(self, point, target, vector):
        return self.horizontal(target, vector)

    def euclidean_to_riemannian_hessian(self, point, gradient, hessian, vector):
        """Derivative of the gradient field along `vector`, made horizontal: for trust regions."""
        return self.horizontal(point, hessian - vector * _rows(point, gradient))

    def __repr__(self):
        return f"UnitDiagonal(n={self.n}, r={self.r})"
