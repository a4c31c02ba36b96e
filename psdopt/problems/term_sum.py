"""A problem composed of terms: F(M) = constant + Σ_k f_k(M)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from psdopt.capability import Ability
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.images import Images
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.polynomials import minimize_quadratic_in_box, minimize_quartic, minimize_smooth
from psdopt.problem import Evaluation, GradientOperator, LineModel, PlaneModel, Problem
from psdopt.searches.plane import minimize_plane
from psdopt.terms.base import Term, combine, distinct_maps
from psdopt.terms.models import Curve, Surface

#: Images are recomputed when their accumulated rounding, relative to |Y|, passes this many eps.
DRIFT_LIMIT_IN_EPS = 4096


def sum_of(parts: Iterable[float]) -> float:
    """Σ parts without loss of digits; inf or nan, not an error, where a part has overflowed."""
    numbers = [float(part) for part in parts]
    try:
        return math.fsum(numbers)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.sum(numbers))


class TermSum(Problem):
    """F(M) = constant + Σ_k f_k(M) for terms f_k that may share linear maps.

    Most objectives need no class of their own: pick terms, add them up. One pass over a shared map
    serves all terms: a line model applies each map once (to D), a gradient each adjoint once.

    Parameters
    ----------
    terms : sequence of :class:`~psdopt.terms.base.Term` of one order n.
    constant : number added to F.
    preconditioner : callable (evaluation) -> (R -> P⁻¹R), or None.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        constant: float = 0.0,
        preconditioner: Callable[[TermEvaluation], Callable[[Array], Array]] | None = None,
    ) -> None:
        if not terms:
            raise InvalidInputError("terms must hold at least one term; found none")
        orders = {term.n for term in terms}
        if len(orders) != 1:
            raise InvalidInputError(f"terms must share one order n; found {sorted(orders)}")
        if not math.isfinite(constant):
            raise InvalidInputError(f"constant must be finite; found {constant}")
        self.terms = tuple(terms)
        self.n = terms[0].n
        self.constant = float(constant)
        self.maps = distinct_maps(terms)
        self._preconditioner = preconditioner
        abilities = {Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE}
        if all(term.convex for term in terms):
            abilities.add(Ability.CONVEX)
        if all(term.has_hessian for term in terms):
            abilities.add(Ability.HESSIAN)
        if all(term.degree is not None for term in terms):
            abilities.add(Ability.QUADRATIC)
        if preconditioner is not None:
            abilities.add(Ability.PRECONDITIONER)
        self.abilities: frozenset[str] = frozenset(abilities)

    def at(self, Y: Array) -> TermEvaluation:
        return TermEvaluation(self, Images(self.maps, self.check_factor(Y)))

    def restricted(self, basis: Images, T: Array) -> Problem:
        """N ↦ F(W N Wᵀ) for orthonormal W = basis · T; for the classes that declare the ability."""
        raise InvalidTypeError(f"{type(self).__name__} offers no restriction")

    def counts(self) -> Mapping[str, int]:
        """`operator_applications` (blocks) and `operator_columns`, over all maps, both directions."""
        return {
            "operator_applications": sum(m.applications for m in self.maps),
            "operator_columns": sum(m.columns for m in self.maps),
        }


class TermEvaluation(Evaluation):
    """F at M = Y Yᵀ through the images of Y and the features of every term."""

    problem: TermSum

    def __init__(
        self, problem: TermSum, images: Images, features: list[Any] | None = None, value: float | None = None
    ) -> None:
        self.problem = problem
        self.images = images
        self._features = features if features is not None else [None] * len(problem.terms)
        self._value = value
        self._product: Array | None = None
        self._factor_gradient: Array | None = None
        self._known: list[tuple[Images, Array | None]] = []

    @property
    def factor(self) -> Array:  # type: ignore[override]
        return self.images.factor

    def feature(self, k: int) -> Any:
        """Features of term k, computed once."""
        if self._features[k] is None:
            self._features[k] = self.problem.terms[k].features(self.images)
        return self._features[k]

    @property
    def value(self) -> float:
        if self._value is None:
            terms = self.problem.terms
            self._value = sum_of([self.problem.constant, *(t.value(self.feature(k)) for k, t in enumerate(terms))])
        return self._value

    def _gradient_times(self, V: Images) -> Array:
        forces = [
            force
            for k, term in enumerate(self.problem.terms)
            for force in term.gradient(self.images, self.feature(k), V)
        ]
        return combine(forces, V.factor.shape)

    @property
    def gradient(self) -> GradientOperator:
        return GradientOperator(
            self.problem.n, lambda V: self._gradient_times(Images(self.problem.maps, V)), self._known_product
        )

    def _known_product(self, V: Array) -> Array | None:
        if V is self.factor:
            return self.product_with_factor()
        for k, (images, product) in enumerate(self._known):
            if V is images.factor:
                if product is None:
                    product = self._gradient_times(images)
                    self._known[k] = (images, product)
                return product
        return None

    def product_with_factor(self) -> Array:
        """S Y, computed once; not to be changed."""
        if self._product is None:
            self._product = self._gradient_times(self.images)
        return self._product

    def factor_gradient(self) -> Array:
        if self._factor_gradient is None:
            self._factor_gradient = 2.0 * self.product_with_factor()
        return self._factor_gradient

    def hessian_vector(self, D: Array) -> Array:
        images = Images(self.problem.maps, D)
        forces = [
            force
            for k, term in enumerate(self.problem.terms)
            for force in (
                *term.gradient(self.images, self.feature(k), images),
                *term.hessian(self.images, self.feature(k), images, self.images),
            )
        ]
        return 2.0 * combine(forces, D.shape)

    def preconditioner(self) -> Callable[[Array], Array]:
        if self.problem._preconditioner is None:
            return super().preconditioner()
        return self.problem._preconditioner(self)

    def diagonal_preconditioner(self) -> Callable[[Array], Array]:
        diagonal = getattr(self.problem._preconditioner, "diagonal", None)
        return self.preconditioner() if diagonal is None else diagonal(self)

    def along(self, D: Array) -> TermLine:
        return TermLine(self, Images(self.problem.maps, D))

    def along_evaluation(self, D: Evaluation) -> LineModel:
        return TermLine(self, D.images) if isinstance(D, TermEvaluation) else super().along_evaluation(D)

    def along_atom(self, v: Array) -> TermPlane:
        column = np.asarray(v, dtype=np.float64).reshape(-1, 1)
        return TermPlane(self, Images(self.problem.maps, column))

    def mix(self, T: Array) -> TermEvaluation:
        mixed = TermEvaluation(self.problem, self.images.mix(T))
        mixed._known = [(self.images, None)]  # S at Y T times Y itself needs no application either
        return mixed

    def append(self, v: Array) -> TermEvaluation:
        block = np.asarray(v, dtype=np.float64).reshape(self.problem.n, -1)
        return TermEvaluation(self.problem, self.images.append(Images(self.problem.maps, block)))

    def joined(self, others: Sequence[Evaluation]) -> TermEvaluation:
        images = [o.images if isinstance(o, TermEvaluation) else Images(self.problem.maps, o.factor) for o in others]
        return TermEvaluation(self.problem, self.images.joined(images))

    def restricted(self, T: Array) -> Problem:
        return self.problem.restricted(self.images, T)

    def refresh(self) -> TermEvaluation:
        return TermEvaluation(self.problem, self.images.refreshed())

    def moved(self, images: Images, features: list[Any], value: float) -> TermEvaluation:
        """Evaluation at moved images; recomputed from Y once drift has grown too large."""
        new = TermEvaluation(self.problem, images, features, value)
        return new.refresh() if images.drift > DRIFT_LIMIT_IN_EPS * 2.0**-52 else new


class TermLine(LineModel):
    """Sum of the curves of all terms along Y + mu D."""

    def __init__(self, evaluation: TermEvaluation, direction: Images) -> None:
        self.evaluation, self.direction = evaluation, direction
        terms = evaluation.problem.terms
        self.curves: list[Curve] = [
            term.along(evaluation.images, evaluation.feature(k), direction) for k, term in enumerate(terms)
        ]
        # <2SY, D> carries less cancellation than the sum of the terms' own slopes
        self.slope = 2.0 * inner(evaluation.product_with_factor(), direction.factor)
        self.coefficients = self._sum_coefficients()

    def _sum_coefficients(self) -> list[float] | None:
        second = third = fourth = 0.0
        for curve in self.curves:
            c = curve.coefficients
            if c is None:
                return None
            second, third, fourth = second + c[2], third + c[3], fourth + c[4]
        return [self.evaluation.value, self.slope, second, third, fourth]

    def value(self, mu: float) -> float:
        c = self.coefficients
        if c is not None:
            return c[0] + mu * (c[1] + mu * (c[2] + mu * (c[3] + mu * c[4])))
        if mu == 0.0:
            return self.evaluation.value
        return sum_of([self.evaluation.problem.constant, *(curve.value(mu) for curve in self.curves)])

    def derivatives(self, mu: float) -> tuple[float, float]:
        if self.coefficients is not None:
            c = self.coefficients
            first = c[1] + mu * (2 * c[2] + mu * (3 * c[3] + mu * 4 * c[4]))
            return first, 2 * c[2] + mu * (6 * c[3] + mu * 12 * c[4])
        pairs = [curve.derivatives(mu) for curve in self.curves]
        first = self.slope if mu == 0.0 else sum_of(p[0] for p in pairs)
        return first, sum_of(p[1] for p in pairs)

    def minimize(self, upper: float = np.inf) -> float:
        if self.coefficients is not None:
            return minimize_quartic(self.coefficients, upper)
        return minimize_smooth(self.derivatives, upper, value=self.value)

    def step(self, mu: float) -> TermEvaluation:
        images = self.evaluation.images.step(mu, self.direction)
        return self.evaluation.moved(images, [curve.features_at(mu) for curve in self.curves], self.value(mu))


class TermPlane(PlaneModel):
    """Sum of the surfaces of all terms over alpha M + beta v vᵀ."""

    def __init__(self, evaluation: TermEvaluation, atom: Images) -> None:
        self.evaluation, self.atom = evaluation, atom
        terms = evaluation.problem.terms
        self.surfaces: list[Surface] = [
            term.along_atom(evaluation.images, evaluation.feature(k), atom) for k, term in enumerate(terms)
        ]
        self.quadratic = self._sum_quadratics()

    def _sum_quadratics(self) -> tuple[float, Array, Array] | None:
        parts = [surface.quadratic for surface in self.surfaces]
        c, g, H = self.evaluation.problem.constant, np.zeros(2), np.zeros((2, 2))
        for part in parts:
            if part is None:
                return None
            c, g, H = c + part[0], g + part[1], H + part[2]
        return c, g, H

    def value(self, alpha: float, beta: float) -> float:
        constant = self.evaluation.problem.constant
        return sum_of([constant, *(surface.value(alpha, beta) for surface in self.surfaces)])

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        g, H = np.zeros(2), np.zeros((2, 2))
        for surface in self.surfaces:
            first, second = surface.derivatives(alpha, beta)
            g, H = g + first, H + second
        return g, H

    def minimize(
        self, alpha: tuple[float, float] = (0.0, np.inf), beta: tuple[float, float] = (0.0, np.inf)
    ) -> tuple[float, float]:
        lower, upper = (alpha[0], beta[0]), (alpha[1], beta[1])
        if self.quadratic is not None:
            return minimize_quadratic_in_box(self.quadratic[1], self.quadratic[2], lower, upper)
        return minimize_plane(self, lower, upper)

    def step(self, alpha: float, beta: float) -> TermEvaluation:
        r = self.evaluation.factor.shape[1]
        grown = self.evaluation.images.append(self.atom)
        images = grown.mix(np.diag(np.sqrt([alpha] * r + [beta])))
        features = [surface.features_at(alpha, beta) for surface in self.surfaces]
        return self.evaluation.moved(images, features, self.value(alpha, beta))
