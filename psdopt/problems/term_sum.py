"""A problem composed of terms: F(M) = constant + Σ_k f_k(M)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from psdopt.checks import instances, number, one_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.contracts.quadratic_fit import QuadraticFit
from psdopt.contracts.roles import Duality, PlainPreconditioner, Preconditioner
from psdopt.deprecated import former_argument
from psdopt.devices import Device
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.operators import LinearMap
from psdopt.problems.moment_preconditioner import MomentPreconditioner
from psdopt.problems.multiplier_bound import MultiplierBound
from psdopt.problems.share_bound import ShareBound
from psdopt.problems.term_fit import TermFit, are_soft_bounds, is_quadratic_fit
from psdopt.problems.term_models import TermEvaluation
from psdopt.terms.base import Term, distinct_maps
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.quadratic import LinearTerm


@former_argument("curvature", None, "Hessians are computed term by term")
class TermSum(Problem):
    """F(M) = constant + Σ_k f_k(M) for terms f_k that may share linear maps.

    Most objectives need no class of their own: they are sums of existing terms. Terms share the products with their
    common maps: a line model applies each map once (to D), a gradient each adjoint once.

    Parameters
    ----------
    terms : sequence of :class:`~psdopt.terms.base.Term` of one order n.
    constant : number added to F.
    preconditioner : a :class:`~psdopt.contracts.roles.Preconditioner`, a callable evaluation ↦ (R ↦ P⁻¹R), or None.
        "auto" is the second moment of the data where all curved terms measure them
        (:class:`~psdopt.problems.moment_preconditioner.MomentPreconditioner`), else None.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        constant: float = 0.0,
        preconditioner: Preconditioner | Callable[[TermEvaluation], Callable[[Array], Array]] | str | None = "auto",
    ) -> None:
        self.terms = terms = instances(terms, "terms", Term)
        orders = {term.n for term in terms}
        if len(orders) != 1:
            raise InvalidInputError(f"terms must share one order n; found {sorted(orders)}")
        (self.n,) = orders
        self.constant = number(constant, "constant")
        self.maps = distinct_maps(terms)
        self.device = _common_device(terms, self.maps)
        self.hermitian = any(term.hermitian for term in terms)
        if all(linear_map.is_matrix for linear_map in self.maps):
            self.rows = max([self.n, *(linear_map.shape[0] for linear_map in self.maps)])
        if isinstance(preconditioner, str):
            one_of(preconditioner, "preconditioner", ("auto",))
            preconditioner = MomentPreconditioner.of(terms)
        elif preconditioner is not None and not isinstance(preconditioner, Preconditioner):
            preconditioner = PlainPreconditioner(preconditioner)
        self.preconditioner = preconditioner
        offered = {
            Ability.CONVEX: all(term.convex for term in terms),
            Ability.HESSIAN: all(term.has_hessian for term in terms),
            Ability.QUADRATIC: all(term.degree is not None for term in terms),
            Ability.SOFT_BOUNDS: self.device is None and are_soft_bounds(terms),
            Ability.PRECONDITIONER: preconditioner is not None,
            Ability.SAMPLE: any(term.items for term in terms),
            Ability.QUADRATIC_FIT: self.device is None and is_quadratic_fit(terms),
        }
        always = Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE
        self.abilities: frozenset[str] = frozenset([*always, *(name for name, there in offered.items() if there)])

    def at(self, Y: Array) -> TermEvaluation:
        return TermEvaluation(self, Images(self.maps, self.check_factor(Y)))

    def value_and_gradient_at(self, Y: Array) -> tuple[float, Array] | None:
        """Without images of Y, as large as the data if Y has n columns, where each term has the entries of its own."""
        own = type(self).at is TermSum.at  # else F is more than its terms
        if not own or self.device is not None or not all(term.has_entries for term in self.terms):
            return None
        value, S, U = self.constant, np.zeros((self.n, self.n)), Images(self.maps, self.check_factor(Y))
        for term in self.terms:
            features = term.fleeting_features(U)
            value += float(term.value(features))
            term.add_gradient_to(S, U, features)
        return value, 0.5 * (S + S.T)

    @property
    def items(self) -> int:
        return sum(term.items for term in self.terms)

    @property
    def readings(self) -> int:
        return sum(tally.number for tally in {t.tally for t in self.terms if isinstance(t, MeasuredTerm)})

    def sample(self, share: float, rng: np.random.Generator) -> Problem:
        """The sum with a `share` of the measurements of each term that has some; the other terms stay whole.

        Raises InvalidTypeError if no term can be divided.
        """
        if not self.items:
            return super().sample(share, rng)
        number(share, "share", above=0.0, most=1.0)
        terms = [term.sample(share, rng) if term.items else term for term in self.terms]
        return TermSum(terms, self.constant)

    def quadratic_fit(self) -> QuadraticFit:
        """F in multiplier form, for sums with the ability ``quadratic-fit``; InvalidTypeError for others. Made once."""
        if Ability.QUADRATIC_FIT not in self.abilities:
            raise InvalidTypeError(f"{type(self).__name__} is no quadratic fit: it lacks the ability quadratic-fit")
        return self.once("quadratic fit", partial(TermFit, self.terms))

    def soft_bounds(self) -> tuple[Sequence[LinearTerm], Sequence[MeasuredTerm], float]:
        """(linear terms, half squares of measurements, constant), for sums with the ability ``soft-bounds``."""
        linear = [term for term in self.terms if isinstance(term, LinearTerm)]
        fits = [term for term in self.terms if isinstance(term, MeasuredTerm)]
        if Ability.SOFT_BOUNDS not in self.abilities:
            raise InvalidTypeError(f"{type(self).__name__} has terms that are no soft bounds: it lacks soft-bounds")
        return linear, fits, self.constant

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
        part = TermSum(linear) if linear else None
        least = self.constant if all(term.nonnegative for term in linear) else None
        if Ability.SOFT_BOUNDS not in self.abilities:
            return ShareBound(part, self.constant, least)
        pull, fits, constant = self.soft_bounds()
        own = MultiplierBound(TermSum(pull) if pull else None, constant, fits)
        return ShareBound(part, self.constant, least, own)

    def pieces(self) -> Mapping[str, Any]:
        maps = {f"map {k}": each for k, each in enumerate(self.maps)}
        return {**maps, **{f"term {k}": term for k, term in enumerate(self.terms)}}

    @cached_property
    def data_places(self) -> Mapping[str, tuple[int, str]]:
        """Where the data are: name -> (k, name in term k). Names of several terms are numbered: C[0], C[1]."""
        found = [(k, name) for k, term in enumerate(self.terms) for name in term.data]
        named = Counter(name for _, name in found)
        return {name if named[name] == 1 else f"{name}[{k}]": (k, name) for k, name in found}

    @property
    def data(self) -> Mapping[str, Any]:
        return {name: self.terms[k].data[own] for name, (k, own) in self.data_places.items()}

    def counts(self) -> Mapping[str, int]:
        """`operator_applications` (blocks) and `operator_columns`, over all maps, both directions."""
        return {
            "operator_applications": sum([m.applications for m in self.maps]),
            "operator_columns": sum([m.columns for m in self.maps]),
        }


def _common_device(terms: Sequence[Term], maps: Sequence[LinearMap]) -> Device | None:
    """The common device of the data of all terms; InvalidInputError if they are on different devices."""
    devices: dict[Device | None, str] = {term.device: type(term).__name__ for term in terms if term.device is not None}
    devices.update({linear_map.device: linear_map.name for linear_map in maps})
    if len(devices) > 1:
        found = ", ".join(f"{name}: {device or 'NumPy'}" for device, name in devices.items())
        raise InvalidInputError(f"the arrays of all terms must be in one place; found {found}")
    return next(iter(devices), None)
