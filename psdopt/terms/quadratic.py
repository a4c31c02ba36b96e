"""Terms that are polynomial in M: w tr(A M B M) and w tr(C M)."""

from __future__ import annotations

import numpy as np

from psdopt.images import Images
from psdopt.linalg.arrays import Array, inner
from psdopt.terms.base import Forces, Term
from psdopt.terms.forms import Form
from psdopt.terms.models import PolynomialCurve, QuadraticSurface


class ProductTerm(Term):
    """w · tr(A M B M) for symmetric forms A, B ⪰ 0; A = B gives tr((A M)²), B = I gives tr(A M²).

    Gradient w (A M B + B M A). Features P = UᵀAU and Q = UᵀBU, both (r, r), value w ⟨P, Q⟩
    (Yuan et al., eqs. 1 and 11; the quartic is the corrected one).
    """

    degree = 2

    def __init__(self, A: Form, B: Form, weight: float = 1.0) -> None:
        self.A, self.B, self.n, self.weight = A, B, A.n, float(weight)
        self.maps = tuple(dict.fromkeys((*A.maps, *B.maps)))
        self.same = A is B
        self.convex = weight >= 0.0 and A.psd is not False and B.psd is not False

    def features(self, U: Images) -> tuple[Array, Array]:
        P = self.A.gram(U, U)
        return P, P if self.same else self.B.gram(U, U)

    def value(self, features: tuple[Array, Array]) -> float:
        return self.weight * inner(*features)

    def gradient(self, U: Images, features: tuple[Array, Array], V: Images) -> Forces:
        P, Q = features if V is U else (self.A.gram(U, V), self.B.gram(U, V))
        if self.same:
            return self.A.force(U, 2.0 * self.weight * P)
        return self.A.force(U, self.weight * Q) + self.B.force(U, self.weight * P)

    def hessian(self, U: Images, features: tuple[Array, Array], D: Images, V: Images) -> Forces:
        w = self.weight
        AUV, ADV = self.A.gram(U, V), self.A.gram(D, V)
        if self.same:
            return self.A.force(U, 2.0 * w * ADV) + self.A.force(D, 2.0 * w * AUV)
        BUV, BDV = self.B.gram(U, V), self.B.gram(D, V)
        return self.A.force(U, w * BDV) + self.A.force(D, w * BUV) + self.B.force(U, w * ADV) + self.B.force(D, w * AUV)

    def along(self, U: Images, features: tuple[Array, Array], D: Images) -> PolynomialCurve:
        P = _quadratic_in_mu(self.A, features[0], U, D)
        Q = P if self.same else _quadratic_in_mu(self.B, features[1], U, D)
        # all nine inner products in one small product: for small n and r the calls are what costs
        (c00, c01, c02), (c10, c11, c12), (c20, c21, c22) = (P.reshape(3, -1) @ Q.reshape(3, -1).T).tolist()
        w = self.weight
        # for A, B PSD the leading coefficient is a trace of PSD products: rounding may not make it negative
        leading = max(c22, 0.0) if self.convex else c22
        coefficients = (w * c00, w * (c01 + c10), w * (c11 + c02 + c20), w * (c12 + c21), w * leading)

        def features_at(mu: float) -> tuple[Array, Array]:
            P_mu = P[0] + mu * (P[1] + mu * P[2])
            return P_mu, P_mu if self.same else Q[0] + mu * (Q[1] + mu * Q[2])

        return PolynomialCurve(coefficients, features_at)

    def along_atom(self, U: Images, features: tuple[Array, Array], v: Images) -> QuadraticSurface:
        AUv, BUv = self.A.gram(U, v), self.B.gram(U, v)
        cross = 2.0 * inner(AUv, BUv)
        atom = float(self.A.gram(v, v)[0, 0] * self.B.gram(v, v)[0, 0])
        H = 2.0 * self.weight * np.array([[inner(*features), 0.5 * cross], [0.5 * cross, atom]])
        return QuadraticSurface(0.0, np.zeros(2), H)


class LinearTerm(Term):
    """w · tr(C M) for a symmetric form C of any sign."""

    degree = 1

    def __init__(self, C: Form, weight: float = 1.0) -> None:
        self.C, self.n, self.maps, self.weight = C, C.n, C.maps, float(weight)

    def features(self, U: Images) -> float:
        return self.C.trace(U, U)

    def value(self, features: float) -> float:
        return self.weight * features

    def gradient(self, U: Images, features: float, V: Images) -> Forces:
        return self.C.force(V, self.weight)

    def hessian(self, U: Images, features: float, D: Images, V: Images) -> Forces:
        return []

    def along(self, U: Images, features: float, D: Images) -> PolynomialCurve:
        first = 2.0 * self.C.trace(U, D)
        second = self.C.trace(D, D)
        w = self.weight
        return PolynomialCurve(
            (w * features, w * first, w * second, 0.0, 0.0), lambda mu: features + mu * (first + mu * second)
        )

    def along_atom(self, U: Images, features: float, v: Images) -> QuadraticSurface:
        atom = self.C.trace(v, v)
        return QuadraticSurface(
            0.0,
            self.weight * np.array([features, atom]),
            np.zeros((2, 2)),
            lambda alpha, beta: alpha * features + beta * atom,
        )


def _quadratic_in_mu(A: Form, P0: Array, U: Images, D: Images) -> Array:
    """The coefficients (3, r, r) of (U + mu D)ᵀA(U + mu D)."""
    cross = A.gram(U, D)
    P = np.empty((3, *P0.shape))
    P[0] = P0
    np.add(cross, cross.T, out=P[1])
    P[2] = A.gram(D, D)
    return P
