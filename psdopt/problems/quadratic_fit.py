"""Linear terms plus one quadratic loss of measurements: F as a Newton method on its multipliers sees it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.images import Images
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap
from psdopt.terms.base import Term, distinct_maps
from psdopt.terms.bases import Basis
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.quadratic import LinearTerm


class QuadraticFit:
    """F(M) = constant + tr(C M) + Σ_t phi_t(⟨A_t, M⟩), each phi_t of degree 2 with phi_t'' = h_t > 0.

    With a multiplier w_t for each measurement, M = Y Yᵀ is stationary where

        S(w) Y = 0,   w_t = phi_t'(⟨A_t, Y Yᵀ⟩),   S(w) = C + Σ_t w_t A_t.

    For problems whose order n and number m of measurements are small: (n, n) and (m, m) arrays are formed.

    Attributes: `position` of the loss among the terms; `size` m; `curvatures` h (m,).
    """

    def __init__(self, terms: Sequence[Term], position: int, curvatures: Array) -> None:
        fit = terms[position]
        assert isinstance(fit, MeasuredTerm)
        self.position, self.measurement, self.n, self.size = position, fit.measurement, fit.n, fit.measurement.size
        self._term, self.curvatures = fit, curvatures
        self._linear = [term for term in terms if isinstance(term, LinearTerm)]
        self._maps: tuple[LinearMap, ...] = distinct_maps(terms)
        self._fixed: tuple[Array, Images] | None = None
        self._spare: list[Array] = []

    @staticmethod
    def of(terms: Sequence[Term]) -> QuadraticFit | None:
        """F as the sum of these terms, or None where it is something else."""
        measured = [k for k, term in enumerate(terms) if isinstance(term, MeasuredTerm)]
        others = [term for term in terms if not isinstance(term, MeasuredTerm)]
        if len(measured) != 1 or not all(isinstance(term, LinearTerm) for term in others):
            return None
        fit = terms[measured[0]]
        assert isinstance(fit, MeasuredTerm)
        if fit.degree != 2 or not fit.loss.separable or not fit.measurement.couples:
            return None
        curvatures = np.asarray(fit.weight * fit.loss.second(np.zeros(fit.measurement.size)))
        return QuadraticFit(terms, measured[0], curvatures) if float(curvatures.min()) > 0.0 else None

    def lend(self) -> Array:
        """An (m, m) array of anything, lent once at a time: fresh pages would cost as much as what fills them."""
        try:
            return self._spare.pop()  # in one go: another thread may want it as well
        except IndexError:
            return np.empty((self.size, self.size))

    def take_back(self, lent: Array) -> None:
        """The end of a loan."""
        self._spare.append(lent)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "basis"}
        return {**kept, "_spare": [], "_fixed": None}

    def multipliers(self, measured: Array) -> Array:
        """phi'(a), (m,), at the measurements a of some M."""
        return self._term.weight * self._term.loss.derivative(measured)

    def gradient(self, w: Array) -> Array:
        """S(w) (n, n). O(n²), and what :meth:`system` needs as well: images of I under the maps, made once."""
        C, identity = self._constants()
        S = C.copy()
        self.measurement.add_to(S, w, identity)
        return S

    @cached_property
    def basis(self) -> Basis:
        """Where systems of the multipliers, [tr(A_s P A_t Q)] + Diag(1/h)/2, are made."""
        return self.measurement.basis(0.5 / self.curvatures)

    def system(self, P: Array, Q: Array, out: Array) -> Array:
        """That of symmetric P and Q (n, n) in the `basis`: :meth:`Basis.system`. `out` (m, m) may be used for it."""
        return self.basis.system(P, Q, self._constants()[1], out)

    def _constants(self) -> tuple[Array, Images]:
        """C as an array, and I with its images."""
        if self._fixed is None:
            C = np.zeros((self.n, self.n))
            for term in self._linear:
                C += term.weight * term.C.to_dense()
            self._fixed = C, self.images(np.eye(self.n))
        return self._fixed

    def images(self, B: Array) -> Images:
        """B (n, r) and, once they are asked for, its images under the maps of all terms."""
        return Images(self._maps, B)

    def along_arc(
        self, measured: Array, known: tuple[Array, Array], slope: float, Y: Images, X: Images, Z: Images
    ) -> list[float]:
        """Coefficients p_0 = 0, ..., p_8 of mu ↦ F((Y + mu X + mu² Z)(...)ᵀ) − F(Y Yᵀ). O((m + n) r).

        `measured` at Y, the `known` coefficients of mu and mu² in the measurements along the arc, (m,) each, and the
        `slope` p_1 = ⟨2 S Y, X⟩, which would not survive as a sum over terms next to a stationary point.
        """
        rates = np.stack([*known, *self.measurement.along(X, Z)])
        p = [0.0, *(rates @ self.multipliers(measured)).tolist(), 0.0, 0.0, 0.0, 0.0]
        for k, row in enumerate((0.5 * (rates * self.curvatures) @ rates.T).tolist(), 2):
            for power, bend in enumerate(row, k):
                p[power] += bend
        for term in self._linear:
            for power, U, V, times in ((2, X, X, 1.0), (2, Y, Z, 2.0), (3, X, Z, 2.0), (4, Z, Z, 1.0)):
                p[power] += term.weight * times * term.C.trace(U, V)
        p[1] = slope
        return p
