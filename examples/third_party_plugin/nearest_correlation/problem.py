"""min ½ |W ∘ (M − G)|²: a problem from a formula and a term of three small methods."""

import numpy as np

from psdopt import AutogradProblem, TermSum
from psdopt.terms import PolynomialCurve, QuadraticSurface, Term


class WeightedDistance(Term):
    """½ |W ∘ (M − G)|² for symmetric W ≥ 0 and G (n, n), by dense n × n arrays.

    Features: R = M − G. Gradient W² ∘ R; along Y + mu D the residual is R + mu P + mu² Q.
    """

    degree = 2

    def __init__(self, G, W):
        self.n, self.G, self.W2 = len(G), G, W**2

    def _dot(self, P, Q):
        return float(np.vdot(self.W2 * P, Q))

    def features(self, U):
        return U.factor @ U.factor.T - self.G

    def value(self, R):
        return 0.5 * self._dot(R, R)

    def gradient(self, U, R, V):
        return [(None, (self.W2 * R) @ V.factor)]

    def hessian(self, U, R, D, V):
        P = U.factor @ D.factor.T
        return [(None, (self.W2 * (P + P.T)) @ V.factor)]

    def along(self, U, R, D):
        P = U.factor @ D.factor.T
        P, Q = P + P.T, D.factor @ D.factor.T
        c = [self._dot(R, R), 2 * self._dot(R, P), self._dot(P, P) + 2 * self._dot(R, Q), 2 * self._dot(P, Q)]
        return PolynomialCurve(0.5 * np.array([*c, self._dot(Q, Q)]), lambda mu: R + mu * (P + mu * Q))

    def along_atom(self, U, R, v):
        M, N, G = R + self.G, v.factor @ v.factor.T, self.G
        g = np.array([-self._dot(G, M), -self._dot(G, N)])
        H = np.array([[self._dot(M, M), self._dot(M, N)], [self._dot(M, N), self._dot(N, N)]])
        return QuadraticSurface(0.5 * self._dot(G, G), g, H, lambda alpha, beta: alpha * M + beta * N - G)


class NearestCorrelation(TermSum):
    """The problem, with its formula as the reference that the kit compares it with."""

    def __init__(self, G, W):
        super().__init__([WeightedDistance(G, W)])
        self.G, self.W = G, W
        self.lower_curvature = float(np.min(W)) ** 2

    def reference(self):
        import autograd.numpy as anp

        return AutogradProblem(lambda M: 0.5 * anp.sum((self.W * (M - self.G)) ** 2), self.n, convex=True)


def nearest_correlation_problem(G, W=None):
    """½ |W ∘ (M − G)|² for symmetric G (n, n) and weights W ≥ 0 (default: all ones).

    Raises ValueError for shapes that differ, asymmetry, negative weights, or entries that are not finite.
    """
    G = np.asarray(G, dtype=float)
    W = np.ones_like(G) if W is None else np.asarray(W, dtype=float)
    for name, A in (("G", G), ("W", W)):
        if A.ndim != 2 or A.shape != (len(G), len(G)) or not np.all(np.isfinite(A)) or not np.allclose(A, A.T):
            raise ValueError(f"{name} must be symmetric and finite, of one order with G; found shape {A.shape}")
    if np.min(W) < 0:
        raise ValueError(f"W must not be negative; found {np.min(W):g}")
    return NearestCorrelation(G, W)
