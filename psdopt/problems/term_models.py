"""Evaluations, lines and planes of a sum of terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import add
from typing import Any, cast

import numpy as np

from psdopt.contracts.curvature import Curvature, CurvedRows, added
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.devices import Deferred, held, placed, require_host
from psdopt.errors import InvalidInputError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array, finite_value, inner, sum_of
from psdopt.linalg.planes import Quadratic
from psdopt.linalg.polynomials import quartic, quartic_derivatives
from psdopt.linalg.tolerances import EPS, MINOR
from psdopt.terms.base import Term, combine
from psdopt.terms.measured import SampledTerm
from psdopt.terms.models import Curve, Surface

#: Images are recomputed when their accumulated rounding, relative to |Y|, passes this many eps.
DRIFT_LIMIT_IN_EPS = 4096


class TermEvaluation(Evaluation):
    """F at M = Y Yᵀ through the images of Y and the features of every term."""

    problem: Any
    curvature_apart = True

    def __init__(
        self, problem: Any, images: Images, features: list[Any] | None = None, value: float | None = None
    ) -> None:
        self.problem, self.images, self.factor = problem, images, images.factor
        self._features = features if features is not None else [None] * len(problem.terms)
        self._value = value
        self._peak = 0.0
        self._mixed: Images | None = None
        self._inverses: dict[str, Callable[[Array], Array]] = {}

    @property
    def size(self) -> float:
        return float(self.images.size)

    def feature(self, k: int) -> Any:
        """Features of term k, computed once."""
        if self._features[k] is None:
            self._features[k] = self.problem.terms[k].features(self.images)
        return self._features[k]

    def feature_of(self, term: Term) -> Any:
        """Features of one of the problem's terms, recognised by identity. Raises InvalidInputError for another."""
        for k, own in enumerate(self.problem.terms):
            if own is term:
                return self.feature(k)
        raise InvalidInputError(f"term must be one of the problem's own; found another {type(term).__name__}")

    @property
    def value(self) -> float:
        if self._value is None:
            terms = self.problem.terms
            self._value = sum_of([self.problem.constant, *[t.value(self.feature(k)) for k, t in enumerate(terms)]])
        return self._value

    def value_of_share(self, share: float) -> float:
        terms = self.problem.terms
        if not all(term.linear_features for term in terms):
            return super().value_of_share(share)
        shares = (term.value(share * self.feature(k)) for k, term in enumerate(terms))
        return finite_value(lambda: float(sum_of([self.problem.constant, *shares])))

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
            self.problem.n,
            self._gradient_times_block,
            self._known_product,
            self._gradient_entries,
            self.problem.device,
        )

    def _images(self, V: Array) -> Images:
        """Images of V (n, k), on the problem's device if it has one; an array on another device is refused."""
        device = self.problem.device
        if device is not None:
            V = cast(Array, placed(V, device, "D"))
        elif type(V) is not np.ndarray:
            require_host(V, "D")
        return Images(self.problem.maps, V)

    def _gradient_times_block(self, V: Array) -> Array:
        """S V, in groups of columns if an image of all columns would not fit in memory."""
        widths = [m.most_columns for m in self.problem.maps if m.most_columns is not None]
        most = min(widths, default=V.shape[1])
        if V.shape[1] <= most:
            return self._gradient_times(self._images(V))
        groups = [V[:, start : start + most] for start in range(0, V.shape[1], most)]
        return np.hstack([self._gradient_times(Images(self.problem.maps, group)) for group in groups])

    def _gradient_entries(self) -> Array | None:
        """S as an array, if every term has `add_gradient_to` or the images of I are the data; None otherwise."""
        problem = self.problem
        if problem.device is not None or not all(term.has_entries for term in problem.terms):
            return None if problem.unit_images is None else self._gradient_times(problem.unit_images)
        S = np.zeros((problem.n, problem.n))
        for k, term in enumerate(problem.terms):
            term.add_gradient_to(S, self.images, self.feature(k))
        return S

    def _known_product(self, V: Array) -> Array | None:
        if V is self.factor:
            return self._product
        return self._mixed_product if self._mixed is not None and V is self._mixed.factor else None

    @cached_property
    def _mixed_product(self) -> Array | None:
        return None if self._mixed is None else self._gradient_times(self._mixed)

    @cached_property
    def _product(self) -> Array:
        """S Y, computed once; not to be changed."""
        return self._gradient_times(self.images)

    def factor_gradient(self) -> Array:
        return self._doubled

    @cached_property
    def _doubled(self) -> Array:
        return 2.0 * self._product

    def hessian_vector(self, D: Array) -> Array:
        deadline.ask()
        images = self._images(D)
        forces = [
            force
            for k, term in enumerate(self.problem.terms)
            for force in term.factor_hessian(self.images, self.feature(k), images)
        ]
        return 2.0 * combine(forces, D.shape)

    def curvature_product(self, D: Array) -> Array:
        deadline.ask()
        images, own = self._images(D), self.images
        terms = enumerate(self.problem.terms)
        forces = [force for k, term in terms for force in term.hessian(own, self.feature(k), images, own)]
        return combine(forces, D.shape)

    def preconditioner(self) -> Callable[[Array], Array]:
        if self.problem.preconditioner is None:
            return super().preconditioner()
        return self._once("full", self.problem.preconditioner.at)

    def diagonal_preconditioner(self) -> Callable[[Array], Array]:
        if self.problem.preconditioner is None:
            return super().diagonal_preconditioner()
        return self._once("diagonal", self.problem.preconditioner.diagonal_at)

    def bend(self, D: Array) -> Array | None:
        known = self.problem.preconditioner
        return None if known is None else known.bend(self, D)

    def curvatures(self, thorough: bool = False) -> list[Curvature]:
        problem, found = self.problem, list[Curvature]()
        if all(term.convex for term in problem.terms):
            for k, term in enumerate(problem.terms):
                found += term.curvatures(self.images, self.feature(k), thorough)
        return added(found, problem.lower_curvature)

    def curved_rows(self) -> CurvedRows:
        found, others = [(np.empty((0, self.problem.n)), np.empty(0))], list[Curvature]()
        for k, term in enumerate(self.problem.terms):
            if isinstance(term, SampledTerm):
                found.append(term.curved_rows(self.feature(k)))
            elif term.convex:
                others += term.curvatures(self.images, self.feature(k), True)
        directions, weights = zip(*found, strict=True)
        return CurvedRows(others, np.concatenate(directions), np.concatenate(weights))

    def data_gradient(self, D: Array | None = None) -> Mapping[str, Any]:
        places: Mapping[str, tuple[int, str]] = self.problem.data_places
        along = None if D is None else self._images(D)
        terms = {k: self.problem.terms[k] for k, _ in places.values()}
        found = {k: term.data_gradient(self.images, self.feature(k), along) for k, term in terms.items()}
        return {name: found[k][own] for name, (k, own) in places.items()}

    def data_force(self, tangents: Mapping[str, Any]) -> Array:
        given: dict[int, dict[str, Any]] = {}
        for name, tangent in tangents.items():
            k, own = self.problem.data_places[name]
            given.setdefault(k, {})[own] = tangent
        terms = self.problem.terms
        forces = [f for k, each in given.items() for f in terms[k].data_forces(self.images, self.feature(k), each)]
        return combine(forces, self.factor.shape)

    def corner(self) -> float:
        return float(min(term.corner(self.feature(k)) for k, term in enumerate(self.problem.terms)))

    def _once(self, kind: str, make: Callable[[TermEvaluation], Callable[[Array], Array]]) -> Callable[[Array], Array]:
        """A preconditioner, set up once; on a device its values are requested before they are used."""
        if kind not in self._inverses:
            self._inverses[kind] = make(self)
        return self._inverses[kind]

    def __getstate__(self) -> dict[str, Any]:
        """The state without functions that are rebuilt when needed."""
        return {**self.__dict__, "_inverses": {}}

    def along(self, D: Array) -> TermLine:
        return TermLine(self, self._images(D))

    def along_evaluation(self, D: Evaluation) -> LineModel:
        return TermLine(self, D.images) if isinstance(D, TermEvaluation) else super().along_evaluation(D)

    def along_atom(self, v: Array) -> TermPlane:
        return TermPlane(self, self._images(self._block(v)))

    def mix(self, T: Array) -> TermEvaluation:
        mixed = TermEvaluation(self.problem, self.images.mix(T))
        mixed._mixed = self.images  # S at Y T times Y needs no application either
        return mixed

    def append(self, v: Array) -> TermEvaluation:
        return TermEvaluation(self.problem, self.images.append(self._images(self._block(v))))

    def _block(self, v: Array) -> Array:
        """v (n,) or (n, k) as a block of columns."""
        if self.problem.device is None:
            require_host(v, "v")
        return as_array(held(v, "v")).reshape(self.problem.n, -1)

    def joined(self, others: Sequence[Evaluation]) -> TermEvaluation:
        images = [o.images if isinstance(o, TermEvaluation) else Images(self.problem.maps, o.factor) for o in others]
        return TermEvaluation(self.problem, self.images.append(*images))

    def restricted(self, T: Array) -> Problem:
        return cast(Problem, self.problem.restricted(self.images, T))

    def refresh(self) -> TermEvaluation:
        return TermEvaluation(self.problem, self.images.refreshed())

    def moved(self, images: Images, features: list[Any], value: float) -> TermEvaluation:
        """Evaluation at new images; recomputed from Y once the drift is too large, or F has fallen too far."""
        new = TermEvaluation(self.problem, images, features, value)
        new._peak = max(self._peak, abs(self.value))
        # the rounding of an F that was once far larger would dominate a small one
        stale = images.drift > DRIFT_LIMIT_IN_EPS * EPS or abs(value) < MINOR * new._peak
        return new.refresh() if stale else new


class TermLine(LineModel):
    """Sum of the curves of all terms along Y + mu D."""

    def __init__(self, evaluation: TermEvaluation, direction: Images) -> None:
        self.evaluation, self.direction = evaluation, direction
        terms = evaluation.problem.terms
        self.curves: list[Curve] = [
            term.along(evaluation.images, evaluation.feature(k), direction) for k, term in enumerate(terms)
        ]
        # <2SY, D> carries less cancellation than the sum of the terms' own slopes
        self.slope = inner(evaluation.factor_gradient(), direction.factor)
        if isinstance(self.slope, Deferred):
            evaluation.images.ask(direction)
        self.coefficients = self._sum_coefficients()
        self._last = 0.0, evaluation.value  # the step needs the value at the end of the search again

    def _sum_coefficients(self) -> list[float] | None:
        found = [self.evaluation.value, self.slope, 0.0, 0.0, 0.0]
        for curve in self.curves:
            if curve.coefficients is None:
                return None
            found[2:] = map(add, found[2:], curve.coefficients[2:])
        return [float(c) for c in found] if isinstance(self.slope, Deferred) else found

    def value(self, mu: float) -> float:
        c = self.coefficients
        if c is not None:
            return quartic(c, mu)
        if mu != self._last[0]:
            self._last = mu, sum_of([self.evaluation.problem.constant, *(curve.value(mu) for curve in self.curves)])
        return self._last[1]

    def derivatives(self, mu: float) -> tuple[float, float]:
        if self.coefficients is not None:
            return quartic_derivatives(self.coefficients, mu)
        pairs = [curve.derivatives(mu) for curve in self.curves]
        first = self.slope if mu == 0.0 else sum_of(p[0] for p in pairs)
        return first, sum_of(p[1] for p in pairs)

    def step(self, mu: float) -> Evaluation:
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

    def _sum_quadratics(self) -> Quadratic | None:
        c, g, H = self.evaluation.problem.constant, np.zeros(2), np.zeros((2, 2))
        for surface in self.surfaces:
            if surface.quadratic is None:
                return None
            c, g, H = map(add, (c, g, H), surface.quadratic)
        return c, g, H

    def value(self, alpha: float, beta: float) -> float:
        constant = self.evaluation.problem.constant
        return sum_of([constant, *(surface.value(alpha, beta) for surface in self.surfaces)])

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        gradients, hessians = zip(*(surface.derivatives(alpha, beta) for surface in self.surfaces), strict=True)
        return sum(gradients), sum(hessians)

    def step(self, alpha: float, beta: float) -> Evaluation:
        r = self.evaluation.factor.shape[1]
        grown = self.evaluation.images.append(self.atom)
        images = grown.mix(np.diag(np.sqrt([alpha] * r + [beta])))
        features = [surface.features_at(alpha, beta) for surface in self.surfaces]
        return self.evaluation.moved(images, features, self.value(alpha, beta))
