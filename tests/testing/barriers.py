"""Barriers as a first plugin writes them: −log det(M + δI) as a term, right, and with one sin each."""

import autograd.numpy as anp
import numpy as np

from psdopt import AutogradProblem, TermSum
from psdopt.terms import Curve, LinearTerm, MatrixForm, Surface, Term

N = 5


class Line(Curve):
    """f at A + mu P + mu² Q."""

    def __init__(self, term, A, P, Q):
        self.term, self.A, self.P, self.Q = term, A, P, Q

    def value(self, mu):
        return self.term.f(self.A + mu * self.P + mu**2 * self.Q)

    def derivatives(self, mu):
        W, V = self.term.inverse(self.A + mu * self.P + mu**2 * self.Q), self.P + 2 * mu * self.Q
        return -np.sum(W * V), np.trace(W @ V @ W @ V) - 2 * np.sum(W * self.Q)


class Plane(Surface):
    """f at alpha A + beta B."""

    def __init__(self, term, A, B):
        self.term, self.A, self.B = term, A, B

    def value(self, alpha, beta):
        return self.term.f(alpha * self.A + beta * self.B)

    def derivatives(self, alpha, beta):
        W = self.term.inverse(alpha * self.A + beta * self.B)
        products = [W @ self.A, W @ self.B]
        return -np.array([np.trace(X) for X in products]), np.array(
            [[np.sum(X * Z.T) for Z in products] for X in products]
        )


class LogDet(Term):
    """−log det(M + δI), by dense inverses: in units of 1e8 δ it has half of its digits."""

    def __init__(self, n=N, delta=0.7):
        self.n, self.delta = n, delta

    def f(self, M):
        return -float(np.linalg.slogdet(M + self.delta * np.eye(self.n))[1])

    def inverse(self, M):
        return np.linalg.inv(M + self.delta * np.eye(self.n))

    def features(self, U):
        return U.factor @ U.factor.T

    def value(self, features):
        return self.f(features)

    def gradient(self, U, features, V):
        return [(None, -self.inverse(features) @ V.factor)]

    def hessian(self, U, features, D, V):
        W, P = self.inverse(features), U.factor @ D.factor.T
        return [(None, W @ (P + P.T) @ W @ V.factor)]

    def along(self, U, features, D):
        P = U.factor @ D.factor.T
        return Line(self, features, P + P.T, D.factor @ D.factor.T)

    def along_atom(self, U, features, v):
        return Plane(self, features, v.factor @ v.factor.T)

    def reference(self):
        return self.f


class CholeskyLogDet(LogDet):
    """−log det M: inf where Cholesky's method fails, NaN as gradient where a pivot of the inverse is exactly zero."""

    def __init__(self, n=N):
        super().__init__(n, 0.0)

    def f(self, M):
        try:
            return -2.0 * float(np.sum(np.log(np.diag(np.linalg.cholesky(M)))))
        except np.linalg.LinAlgError:
            return np.inf

    def inverse(self, M):
        try:
            return np.linalg.inv(M)
        except np.linalg.LinAlgError:
            return np.full_like(M, np.nan)

    def reference(self):
        return lambda M: -anp.linalg.slogdet(M)[1]


class ThinLogDet(LogDet):
    """The value by eigenvalues of M, accurate at any scale: it is the formula that loses digits."""

    def value(self, features):
        values = np.clip(np.linalg.eigvalsh(features), 0.0, None)
        return -float(np.sum(np.log1p(values / self.delta)) + self.n * np.log(self.delta))


class WrongGradient(LogDet):
    """The gradient is one in ten thousand too large, in large units only."""

    rejected_by = "term.gradient_slope"

    def gradient(self, U, features, V):
        ((A, G),) = super().gradient(U, features, V)
        return [(A, G * (1.0 + 1e-4 * (np.trace(features) > 1e4)))]


class WrongHessian(LogDet):
    """The Hessian is one in ten thousand too large, in large units only."""

    rejected_by = "term.hessian_slope"

    def hessian(self, U, features, D, V):
        ((A, G),) = super().hessian(U, features, D, V)
        return [(A, G * (1.0 + 1e-4 * (np.trace(features) > 1e4)))]


class WrongFormula(LogDet):
    """δ is not what the formula says."""

    rejected_by = "term.formula"

    def reference(self):
        return LogDet(self.n, self.delta * (1.0 + 1e-6)).f


class WrongLine(LogDet):
    """The second derivative lacks its last term."""

    rejected_by = "term.line_model"

    def along(self, U, features, D):
        class Bent(Line):
            def derivatives(self, mu):
                W, V = self.term.inverse(self.A + mu * self.P + mu**2 * self.Q), self.P + 2 * mu * self.Q
                return -np.sum(W * V), np.trace(W @ V @ W @ V)

        P = U.factor @ D.factor.T
        return Bent(self, features, P + P.T, D.factor @ D.factor.T)


class WrongPlane(LogDet):
    """The mixed second derivative is a tenth of a per cent too large."""

    rejected_by = "term.plane_model"

    def along_atom(self, U, features, v):
        class Bent(Plane):
            def derivatives(self, alpha, beta):
                gradient, hessian = super().derivatives(alpha, beta)
                return gradient, hessian * (1.0 + 1e-3 * (1.0 - np.eye(2)))

        return Bent(self, features, v.factor @ v.factor.T)


class Likelihood(TermSum):
    """⟨C, M⟩ − log det(M + δI), of which a covariance C is the datum."""

    def __init__(self, C, delta):
        self.C, self.delta = np.array(C), delta
        super().__init__([LinearTerm(MatrixForm(self.C)), LogDet(len(self.C), delta)])

    def reference(self):
        def value(M):
            return anp.sum(self.C * M) - anp.linalg.slogdet(M + self.delta * anp.eye(self.n))[1]

        return AutogradProblem(value, self.n, convex=True)


def covariance():
    """A covariance (5, 5) of features of different sizes."""
    X = np.random.default_rng(0).standard_normal((30, N)) * np.array([1.0, 2.0, 3.0, 1.0, 0.5])
    return X.T @ X / 30
