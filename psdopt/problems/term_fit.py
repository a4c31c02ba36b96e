"""The quadratic fit of a sum of terms: linear terms and one quadratic loss of measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array
from psdopt.linalg.definite import solver_of
from psdopt.terms.base import Term, combine, distinct_maps
from psdopt.terms.losses import HalfSquaredOneSided
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm


def is_quadratic_fit(terms: Sequence[Term]) -> bool:
    """Whether F, the sum of these terms, is a :class:`~psdopt.contracts.QuadraticFit`. O(m)."""
    losses = [term for term in terms if isinstance(term, MeasuredTerm)]
    others = [term for term in terms if not isinstance(term, MeasuredTerm)]
    if len(losses) != 1 or not all(isinstance(term, LinearTerm) for term in others):
        return False
    fit = losses[0]
    plain = fit.degree == 2 and fit.loss.separable and fit.measurement.couples
    return plain and float(_curvatures(fit).min()) > 0.0


def are_soft_bounds(terms: Sequence[Term]) -> bool:
    """Whether all but linear terms are squares of what measurements in memory miss their bounds by."""
    fits = [term for term in terms if not isinstance(term, LinearTerm)]
    return bool(fits) and all(
        isinstance(term, MeasuredTerm)
        and isinstance(term.loss, HalfSquaredOneSided)
        and term.weight > 0.0
        and all(each.is_matrix for each in term.maps)
        and isinstance(term.measurement, (Entries, PairDistances, QuadraticForms, TripletDifferences))
        for term in fits
    )


def _curvatures(fit: MeasuredTerm) -> Array:
    return np.asarray(fit.weight * fit.loss.second(np.zeros(fit.measurement.size)))


class TermFit:
    """:class:`~psdopt.contracts.QuadraticFit` of terms that :func:`is_quadratic_fit` accepts.

    Blocks are :class:`~psdopt.contracts.images.Images`: each map is applied once to each block.
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        ((self._position, self._fit),) = ((k, term) for k, term in enumerate(terms) if isinstance(term, MeasuredTerm))
        self._linear = [term for term in terms if isinstance(term, LinearTerm)]
        self._maps = distinct_maps(terms)
        self.measurement = self._fit.measurement
        self.n, self.size = self._fit.n, self.measurement.size

    @cached_property
    def curvatures(self) -> Array:
        return _curvatures(self._fit)

    def at(self, evaluation: Any) -> tuple[Images, Array]:
        """The images of Y and the features of the loss; an evaluation of the same terms has computed them."""
        images = vars(evaluation).get("images")
        if isinstance(images, Images) and images.maps == self._maps:
            return images, evaluation.feature(self._position)
        images = self.block(evaluation.factor)
        return images, self.measurement.pair(images, images)

    def block(self, V: Array) -> Images:
        return Images(self._maps, V)

    def multipliers(self, measured: Array) -> Array:
        return self._fit.weight * self._fit.loss.derivative(measured)

    def gradient(self, w: Array) -> Array:
        """S(w) (n, n). O(n²) and one call of `measurement.add_to`; C is formed once."""
        S = self._constant.copy()
        self.measurement.add_to(S, w, self._identity)
        return S

    def pair(self, U: Images, V: Images) -> Array:
        return self.measurement.pair(U, V)

    def along(self, U: Images, D: Images) -> tuple[Array, Array]:
        return self.measurement.along(U, D)

    def force(self, w: Array, V: Images) -> Array:
        return combine(self.measurement.adjoint(w, V), V.factor.shape)

    def linear(self, U: Images, V: Images) -> float:
        return sum(term.weight * term.C.trace(U, V) for term in self._linear)

    def solver(self, P: Array, Q: Array, work: Array) -> Callable[[Array], Array]:
        """The upper triangle of K costs one `measurement.coupling`, its factorisation m³/3 flops."""
        K = self.measurement.coupling(P, Q, self._identity, work)
        np.einsum("ii->i", K)[:] += 0.5 / self.curvatures  # a view of the diagonal, however K is stored
        return solver_of(K)

    @cached_property
    def _identity(self) -> Images:
        """I and its images, from which S and K are made."""
        return self.block(np.eye(self.n))

    @cached_property
    def _constant(self) -> Array:
        """C (n, n)."""
        C = np.zeros((self.n, self.n))
        for term in self._linear:
            C += term.weight * term.C.to_dense()
        return C

    def __getstate__(self) -> dict[str, Any]:
        """The state without the images of I, which are as large as the data and can be recomputed."""
        made = ("_identity", "_constant")
        return {name: value for name, value in vars(self).items() if name not in made}
