"""Terms that are polynomial in M: w tr(A M B M) and w tr(C M)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from psdopt.checks import number
from psdopt.contracts.curvature import Curvature
from psdopt.contracts.images import Images
from psdopt.devices import Deferred
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.subset import least_eigenvalue
from psdopt.linalg.tolerances import EPS, ROUNDINGS
from psdopt.terms.base import Forces, Term, combine
from psdopt.terms.curvature import product_curvature
from psdopt.terms.form_data import form_change, form_data, form_gradient
from psdopt.terms.forms import Form, IdentityForm, as_form
from psdopt.terms.models import Curve, PolynomialCurve, QuadraticSurface


class ProductTerm(Term):
    """w · tr(A M B M) for symmetric A, B (n, n); A = B gives tr((A M)²), B = I gives tr(A M²).

    The gradient is w (A M B + B M A). The features P = UᵀAU and Q = UᵀBU are both (r, r), and the value is w ⟨P, Q⟩
    (Yuan et al., eqs. 1 and 11; the quartic is the corrected one).

    The term is called convex only if w >= 0 and both A ⪰ 0 and B ⪰ 0 are proven
    (:attr:`Form.is_psd <psdopt.terms.forms.Form.is_psd>`): as Gram forms, as multiples w >= 0 of the identity, by a
    factorisation of arrays of small order, or by the caller's declaration ``MatrixForm(A, psd=True)``.

    Parameters
    ----------
    A, B : forms, or symmetric arrays, sparse arrays or ``LinearOperator``. weight : w, finite, of any sign.

    Raises InvalidInputError for matrices that are not symmetric, of different orders, or for a weight that is not
    finite.
    """

    degree = 2
    has_entries = True

    def __init__(self, A: Any, B: Any, weight: float = 1.0) -> None:
        self.same = A is B
        self.A = as_form(A, "A")
        self.B = self.A if self.same else as_form(B, "B")
        self.n, self.weight = self.A.n, number(weight, "weight")
        if self.B.n != self.n:
            raise InvalidInputError(f"A and B must share one order; found {self.n} and {self.B.n}")
        self.maps = tuple(dict.fromkeys((*self.A.maps, *self.B.maps)))
        self.convex = self.weight == 0.0 or (self.weight > 0.0 and self.A.is_psd and self.B.is_psd)

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

    def add_gradient_to(self, S: Array, U: Images, features: tuple[Array, Array]) -> None:
        AU = combine(self.A.force(U), U.factor.shape)
        if self.same:
            S += 2.0 * self.weight * (AU @ AU.T)
            return
        half = self.weight * (AU @ combine(self.B.force(U), U.factor.shape).T)
        S += half
        S += half.T

    def hessian(self, U: Images, features: tuple[Array, Array], D: Images, V: Images) -> Forces:
        w = self.weight
        AUV, ADV = self.A.gram(U, V), self.A.gram(D, V)
        if self.same:
            return self.A.force(U, 2.0 * w * ADV) + self.A.force(D, 2.0 * w * AUV)
        BUV, BDV = self.B.gram(U, V), self.B.gram(D, V)
        return self.A.force(U, w * BDV) + self.A.force(D, w * BUV) + self.B.force(U, w * ADV) + self.B.force(D, w * AUV)

    def factor_hessian(self, U: Images, features: tuple[Array, Array], D: Images) -> Forces:
        w, (P, Q), AUD = self.weight, features, self.A.gram(U, D)
        moved = AUD + AUD.T
        if self.same:
            return self.A.force(U, 2.0 * w * moved) + self.A.force(D, 2.0 * w * P)
        BUD = self.B.gram(U, D)
        first = self.A.force(U, w * (BUD + BUD.T)) + self.A.force(D, w * Q)
        return first + self.B.force(U, w * moved) + self.B.force(D, w * P)

    @property
    def data(self) -> Mapping[str, Any]:
        """The arrays of A and of B, by :func:`~psdopt.terms.form_data.form_data`; of A alone if it is B as well."""
        other = {} if self.same else form_data(self.B)
        return {f"A{n}": each for n, each in form_data(self.A).items()} | {f"B{n}": e for n, e in other.items()}

    def data_gradient(self, U: Images, features: tuple[Array, Array], D: Images | None) -> Mapping[str, Any]:
        """⟨dA, w M B M⟩, and its derivative along N = U Dᵀ + D Uᵀ: w (N B M + M B N), of low rank."""
        found: dict[str, Any] = {}
        sides = [("A", self.A, self.B, features[1]), ("B", self.B, self.A, features[0])]
        for name, own, other, Q in sides[: 1 if self.same else 2]:
            times = self.weight * (2.0 if self.same else 1.0)
            P = U.factor @ Q if D is None else 2.0 * (U.factor @ other.gram(D, U) + D.factor @ Q)
            found |= {f"{name}{ending}": g for ending, g in form_gradient(own, times * P, U.factor).items()}
        return found

    def data_forces(self, U: Images, features: tuple[Array, Array], tangents: Mapping[str, Any]) -> Forces:
        """w (dA M B + B M dA) U, and the same of B."""
        forces: Forces = []
        sides = [("A", self.A, self.B, features[1]), ("B", self.B, self.A, features[0])]
        for name, own, other, Q in sides[: 1 if self.same else 2]:
            given = {n.removeprefix(name): t for n, t in tangents.items() if n.startswith(name)}
            if given:
                moved = form_change(own, given) @ U.factor
                times = self.weight * (2.0 if self.same else 1.0)
                forces += [(None, times * (moved @ Q)), *other.force(U, times * (U.factor.T @ moved))]
        return forces

    def curvatures(self, U: Images, features: Any, thorough: bool) -> list[Curvature]:
        """w tr(A E B E) = w |A^½ E A^½|² for A = B, and at least w λ_min(A) λ_min(B) |E|²."""
        cheap = self.n <= DENSE_LIMIT or (self.n <= SPECTRUM_ORDER and self.A.dense_is_cheap and self.B.dense_is_cheap)
        if not (self.convex and self.weight > 0.0 and cheap):
            return []
        if self.same and not isinstance(self.A, IdentityForm):
            return self._own_curvature
        return self._plain_curvature

    @cached_property
    def _own_curvature(self) -> list[Curvature]:
        return product_curvature(self.A.to_dense(), self.weight)

    @cached_property
    def _plain_curvature(self) -> list[Curvature]:
        modulus = 2.0 * self.weight * _least(self.A) * _least(self.B)
        return [Curvature(modulus)] if 0.0 < modulus < math.inf else []

    def along(self, U: Images, features: tuple[Array, Array], D: Images) -> Curve:
        A = self.A.gram(U, D), self.A.gram(D, D)
        B = A if self.same else (self.B.gram(U, D), self.B.gram(D, D))
        if not isinstance(A[0], Deferred):
            return self._curve(features, A, B)
        made = Deferred(lambda: self._curve(features, A, B))
        later: Any = [Deferred(partial(lambda k: made.value.coefficients[k], k)) for k in range(5)]
        return PolynomialCurve(later, lambda mu: made.value.features_at(mu))

    def _curve(self, features: tuple[Array, Array], A: tuple[Array, Array], B: tuple[Array, Array]) -> PolynomialCurve:
        """The curve from (UᵀAD, DᵀAD), and the same matrices for B."""
        # the coefficients (3, r, r) of (U + mu D)ᵀA(U + mu D), and of the same with B
        P = np.array([features[0], A[0] + A[0].T, A[1]])
        Q = P if self.same else np.array([features[1], B[0] + B[0].T, B[1]])
        # all nine inner products in one small product: for small n and r, calls dominate the cost
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
    """w · tr(C M) for a symmetric C (n, n) of any sign.

    Parameters
    ----------
    C : a form, or a symmetric array, sparse array or ``LinearOperator``. weight : w, finite, of any sign.

    Raises InvalidInputError for a matrix that is not symmetric or a weight that is not finite.
    """

    degree = 1

    def __init__(self, C: Any, weight: float = 1.0) -> None:
        self.C, self.weight = as_form(C, "C"), number(weight, "weight")
        self.n, self.maps, self.has_entries = self.C.n, self.C.maps, self.C.dense_is_cheap
        self.hermitian = self.C.hermitian
        self.nonnegative = weight >= 0.0 and self.C.psd is True
        self.linear_features = type(self).features is LinearTerm.features

    def features(self, U: Images) -> float:
        return self.C.trace(U, U)

    def value(self, features: float) -> float:
        return self.weight * features

    def gradient(self, U: Images, features: float, V: Images) -> Forces:
        return self.C.force(V, self.weight)

    def add_gradient_to(self, S: Array, U: Images, features: float) -> None:
        self.C.add_to(S, self.weight)

    def hessian(self, U: Images, features: float, D: Images, V: Images) -> Forces:
        return []

    @property
    def data(self) -> Mapping[str, Any]:
        """The arrays of C, by :func:`~psdopt.terms.form_data.form_data`."""
        return {f"C{ending}": each for ending, each in form_data(self.C).items()}

    def data_gradient(self, U: Images, features: float, D: Images | None) -> Mapping[str, Any]:
        P = self.weight * U.factor if D is None else 2.0 * self.weight * D.factor
        return {f"C{ending}": g for ending, g in form_gradient(self.C, P, U.factor).items()}

    def data_forces(self, U: Images, features: float, tangents: Mapping[str, Any]) -> Forces:
        given = {name.removeprefix("C"): t for name, t in tangents.items()}
        return [(None, self.weight * (form_change(self.C, given) @ U.factor))] if given else []

    def along(self, U: Images, features: float, D: Images) -> Curve:
        w, numbers = self.weight, (features, 2.0 * self.C.trace(U, D), self.C.trace(D, D))

        def features_at(mu: float) -> float:
            a0, a1, a2 = map(float, numbers)
            return a0 + mu * (a1 + mu * a2)

        return PolynomialCurve([w * a for a in numbers], features_at)

    def along_atom(self, U: Images, features: float, v: Images) -> QuadraticSurface:
        atom = self.C.trace(v, v)
        g, H = self.weight * np.array([features, atom]), np.zeros((2, 2))
        return QuadraticSurface(0.0, g, H, lambda alpha, beta: alpha * features + beta * atom)


def _least(form: Form) -> float:
    """λ_min of a semidefinite form, less its rounding."""
    if isinstance(form, IdentityForm):
        return form.scale
    A = form.to_dense()
    return max(least_eigenvalue(A) - ROUNDINGS * form.n * EPS * norm(A), 0.0)
