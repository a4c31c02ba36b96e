"""A problem composed of terms: F(M) = constant + Σ_k f_k(M)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from psdopt.checks import instances, number
from psdopt.contracts.abilities import Ability
from psdopt.contracts.curvature import Curvature, added
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Evaluation, LineModel, Problem
from psdopt.contracts.quadratic_fit import QuadraticFit
from psdopt.contracts.roles import Duality, PlainPreconditioner, Preconditioner
from psdopt.devices import Device, held, placed, require_host
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS, MINOR
from psdopt.problems.share_bound import ShareBound
from psdopt.problems.term_fit import TermFit, is_quadratic_fit
from psdopt.problems.term_models import TermLine, TermPlane, sum_of
from psdopt.terms.base import Term, combine, distinct_maps

#: Images are recomputed when their accumulated rounding, relative to |Y|, passes this many eps.
DRIFT_LIMIT_IN_EPS = 4096


class TermSum(Problem):
    """F(M) = constant + Σ_k f_k(M) for terms f_k that may share linear maps.

    Most objectives need no class of their own: they are sums of existing terms. Terms share the products with their
    common maps: a line model applies each map once (to D), a gradient each adjoint once.

    Parameters
    ----------
    terms : sequence of :class:`~psdopt.terms.base.Term` of one order n.
    constant : number added to F.
    preconditioner : a :class:`~psdopt.contracts.roles.Preconditioner`, a callable evaluation ↦ (R ↦ P⁻¹R), or None.
    curvature : a callable evaluation ↦ (D ↦ ∇²F(Y)[D]) that is cheaper than term by term, or None.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        constant: float = 0.0,
        preconditioner: Preconditioner | Callable[[TermEvaluation], Callable[[Array], Array]] | None = None,
        curvature: Callable[[TermEvaluation], Callable[[Array], Array]] | None = None,
    ) -> None:
        self.terms = terms = instances(terms, "terms", Term)
        orders = {term.n for term in terms}
        if len(orders) != 1:
            raise InvalidInputError(f"terms must share one order n; found {sorted(orders)}")
        (self.n,) = orders
        self.constant = number(constant, "constant")
        self.maps = distinct_maps(terms)
        self.device = _common_device(terms, self.maps)
        if all(linear_map.is_matrix for linear_map in self.maps):
            self.rows = max([self.n, *(linear_map.shape[0] for linear_map in self.maps)])
        if preconditioner is not None and not isinstance(preconditioner, Preconditioner):
            preconditioner = PlainPreconditioner(preconditioner)
        self.preconditioner, self._curvature = preconditioner, curvature
        offered = {
            Ability.CONVEX: all(term.convex for term in terms),
            Ability.HESSIAN: all(term.has_hessian for term in terms),
            Ability.QUADRATIC: all(term.degree is not None for term in terms),
            Ability.PRECONDITIONER: preconditioner is not None,
            Ability.QUADRATIC_FIT: self.device is None and is_quadratic_fit(terms),
        }
        always = Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE
        self.abilities: frozenset[str] = frozenset([*always, *(name for name, there in offered.items() if there)])

    def at(self, Y: Array) -> TermEvaluation:
        return TermEvaluation(self, Images(self.maps, self.check_factor(Y)))

    def quadratic_fit(self) -> QuadraticFit:
        """F in multiplier form, for sums with the ability ``quadratic-fit``; InvalidTypeError for others. Made once."""
        return self._multiplier_form

    @cached_property
    def _multiplier_form(self) -> TermFit:
        if not is_quadratic_fit(self.terms):
            raise InvalidTypeError(f"{type(self).__name__} is no quadratic fit: it lacks the ability quadratic-fit")
        return TermFit(self.terms)

    def restricted(self, basis: Images, T: Array) -> Problem:
        """N ↦ F(W N Wᵀ) for orthonormal W = basis · T; for the classes that declare the ability."""
        raise InvalidTypeError(f"{type(self).__name__} offers no restriction")

    @cached_property
    def unit_images(self) -> Images | None:
        """The identity (n, n) with its images, if these are arrays in memory: the data of dense maps, not copied."""
        arrays = {k: each.data for k, each in enumerate(self.maps) if type(each.data) is np.ndarray}
        few = self.n <= DENSE_LIMIT and 0 < len(arrays) == len(self.maps)
        return Images(self.maps, np.eye(self.n), arrays) if few else None

    @cached_property
    def duality(self) -> Duality:
        """Lower bounds for sums whose terms, except linear ones, are convex and nonnegative; none for other sums."""
        linear = [term for term in self.terms if term.degree == 1]
        if not all(term.nonnegative and term.convex for term in self.terms if term.degree != 1):
            return Duality()
        part = TermSum(linear) if linear and Ability.QUADRATIC not in self.abilities else None
        return ShareBound(part, self.constant, self.constant if all(term.nonnegative for term in linear) else None)

    def pieces(self) -> Mapping[str, Any]:
        maps = {f"map {k}": each for k, each in enumerate(self.maps)}
        return {**maps, **{f"term {k}": term for k, term in enumerate(self.terms)}}

    def counts(self) -> Mapping[str, int]:
        """`operator_applications` (blocks) and `operator_columns`, over all maps, both directions."""
        return {
            "operator_applications": sum(m.applications for m in self.maps),
            "operator_columns": sum(m.columns for m in self.maps),
        }


def _common_device(terms: Sequence[Term], maps: Sequence[LinearMap]) -> Device | None:
    """The common device of the data of all terms; InvalidInputError if they are on different devices."""
    devices: dict[Device | None, str] = {term.device: type(term).__name__ for term in terms if term.device is not None}
    devices.update({linear_map.device: linear_map.name for linear_map in maps})
    if len(devices) > 1:
        found = ", ".join(f"{name}: {device or 'NumPy'}" for device, name in devices.items())
        raise InvalidInputError(f"the arrays of all terms must be in one place; found {found}")
    return next(iter(devices), None)


class TermEvaluation(Evaluation):
    """F at M = Y Yᵀ through the images of Y and the features of every term."""

    problem: TermSum

    def __init__(
        self, problem: TermSum, images: Images, features: list[Any] | None = None, value: float | None = None
    ) -> None:
        self.problem, self.images, self.factor = problem, images, images.factor
        self._features = features if features is not None else [None] * len(problem.terms)
        self._value = value
        self._peak = 0.0
        self._product: Array | None = None
        self._factor_gradient: Array | None = None
        self._mixed: Images | None = None
        self._inverses: dict[str, Callable[[Array], Array]] = {}
        self._curved: Callable[[Array], Array] | None = None

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
            return self.product_with_factor()
        return self._mixed_product if self._mixed is not None and V is self._mixed.factor else None

    @cached_property
    def _mixed_product(self) -> Array | None:
        return None if self._mixed is None else self._gradient_times(self._mixed)

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
        deadline.ask()
        if self._curved is None and self.problem._curvature is not None:
            self._curved = self.problem._curvature(self)
        if self._curved is not None:
            return self._curved(D)
        images = self._images(D)
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

    def _once(self, kind: str, make: Callable[[TermEvaluation], Callable[[Array], Array]]) -> Callable[[Array], Array]:
        """A preconditioner, set up once; on a device its values are requested before they are used."""
        if kind not in self._inverses:
            self._inverses[kind] = make(self)
        return self._inverses[kind]

    def __getstate__(self) -> dict[str, Any]:
        """The state without functions that are rebuilt when needed."""
        return {**self.__dict__, "_inverses": {}, "_curved": None}

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
        return self.problem.restricted(self.images, T)

    def refresh(self) -> TermEvaluation:
        return TermEvaluation(self.problem, self.images.refreshed())

    def moved(self, images: Images, features: list[Any], value: float) -> TermEvaluation:
        """Evaluation at new images; recomputed from Y once the drift is too large, or F has fallen too far."""
        new = TermEvaluation(self.problem, images, features, value)
        new._peak = max(self._peak, abs(self.value))
        # the rounding of an F that was once far larger would dominate a small one
        stale = images.drift > DRIFT_LIMIT_IN_EPS * EPS or abs(value) < MINOR * new._peak
        return new.refresh() if stale else new
