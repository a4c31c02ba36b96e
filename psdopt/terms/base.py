"""The interface of a term of an objective F(M) = Σ_k f_k(M), with each f_k computed from images of a factor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import reduce
from math import inf
from operator import add
from typing import Any

import numpy as np

from psdopt.contracts.curvature import Curvature
from psdopt.contracts.images import Images
from psdopt.devices import Device
from psdopt.errors import InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap
from psdopt.terms.models import Curve, Surface

#: Σ Aᵀ G over pairs (A, G); A = None stands for the identity. Adjoints of the same map are summed
#: before it is applied, so that terms sharing data share the product. G may be
#: :class:`~psdopt.linalg.operators.WeightedRows`, which has sums and multiples, and is formed in blocks.
Forces = list[tuple[LinearMap | None, Array]]


class Term(ABC):
    """A function f(M) of M = U Uᵀ, written in terms of the images of U.

    Features are quantities quadratic in U, such as a vector of measurements ⟨A_t, U Uᵀ⟩ or a small matrix UᵀAU. Along U
    + mu D they are known quadratics in mu, so that a step updates them as it updates the images.

    Attributes: `n` order of M; `maps` the linear maps whose images are needed; `degree` of f as a
    polynomial in M (1, 2) or None; `convex` whether f is known to be convex on symmetric matrices;
    `nonnegative` whether f >= 0 for every M ⪰ 0 is known; `has_hessian` whether :meth:`hessian` is implemented;
    `has_entries` whether :meth:`add_gradient_to` is; `linear_features` whether features are one array or number, linear
    in M; `device` the device of data other than those of its maps (None
    for NumPy arrays, or if there are none); `hermitian`, whether M is seen as a Hermitian matrix only.
    """

    n: int
    maps: tuple[LinearMap, ...] = ()
    degree: int | None = None
    convex: bool = True
    nonnegative: bool = False
    has_hessian: bool = True
    has_entries: bool = False
    linear_features: bool = False
    hermitian: bool = False
    device: Device | None = None

    @abstractmethod
    def features(self, U: Images) -> Any:
        """The quantities that :meth:`value` needs, from the images of U: ``U.of(A)`` is A U, ``U.factor`` is U."""

    @abstractmethod
    def value(self, features: Any) -> float:
        """f(M)."""

    @abstractmethod
    def gradient(self, U: Images, features: Any, V: Images) -> Forces:
        """∇f(M) V, with ∇f(M) symmetric (n, n) and V a block of columns given by its images.

        A list of pairs (A, G) that stand for Σ Aᵀ G; (None, G) is the array G (n, k) itself.
        """

    @abstractmethod
    def along(self, U: Images, features: Any, D: Images) -> Curve:
        """mu ↦ f((U + mu D)(U + mu D)ᵀ): a :class:`Curve` with `value(mu)` and `derivatives(mu)`, two numbers."""

    @abstractmethod
    def along_atom(self, U: Images, features: Any, v: Images) -> Surface:
        """(alpha, beta) ↦ f(alpha M + beta v vᵀ), for one column v (n, 1).

        A :class:`Surface` with `value(alpha, beta)` and `derivatives(alpha, beta)`, gradient (2,) and Hessian (2, 2).
        """

    def hessian(self, U: Images, features: Any, D: Images, V: Images) -> Forces:
        """∇²f(M)[U Dᵀ + D Uᵀ] V; only if `has_hessian`."""
        raise InvalidTypeError(f"{type(self).__name__} offers no Hessian")

    def factor_hessian(self, U: Images, features: Any, D: Images) -> Forces:
        """∇f(M) D + ∇²f(M)[U Dᵀ + D Uᵀ] U, half the Hessian of U ↦ f(U Uᵀ) applied to D; only if `has_hessian`.

        Override it together with :meth:`hessian` where both parts share work.
        """
        return [*self.gradient(U, features, D), *self.hessian(U, features, D, U)]

    def curvatures(self, U: Images, features: Any, thorough: bool) -> list[Curvature]:
        """Lower bounds on the curvature of a convex f seen from M = U Uᵀ (:class:`~psdopt.contracts.Curvature`).

        `thorough` : whether they may cost more than a few steps of a method.
        """
        return []

    @property
    def items(self) -> int:
        """How many rows :meth:`sample` draws from; 0 for a term that is no sum over rows, or cannot be divided."""
        return 0

    def sample(self, share: float, rng: np.random.Generator) -> Term:
        """f on a `share` of its rows, drawn without replacement, whose expectation is f. Without rows: f itself."""
        return self

    @property
    def data(self) -> Mapping[str, Any]:
        """θ: the arrays and numbers by which a minimiser can be differentiated, by name. Default: none."""
        return {}

    def data_gradient(self, U: Images, features: Any, D: Images | None) -> Mapping[str, Any]:
        """The gradient by θ of ⟨∇f(M; θ), U Dᵀ + D Uᵀ⟩, or of f(M; θ) for D = None: one entry for each of `data`."""
        return {}

    def data_forces(self, U: Images, features: Any, tangents: Mapping[str, Any]) -> Forces:
        """The change of ∇f(M; θ) U as the data move along `tangents`; the others stay."""
        return []

    def corner(self, features: Any) -> float:
        """How far M is from a corner of ∇f, relative to the size of the data; inf for an f without corners."""
        return inf

    def fleeting_features(self, U: Images) -> Any:
        """:meth:`features` for :meth:`value` and :meth:`add_gradient_to` alone: no images of U need remain."""
        return self.features(U)

    def add_gradient_to(self, S: Array, U: Images, features: Any) -> None:
        """S += ∇f(M) for a dense S (n, n), without images of I; only if `has_entries`. One pass over rows in a file.

        O(n² r + size of the data), which is less than n products with ∇f(M).
        """
        raise InvalidTypeError(f"{type(self).__name__} offers no entries of its gradient")


def distinct_maps(terms: Iterable[Term]) -> tuple[LinearMap, ...]:
    """The maps of all `terms`, each object once, in order of appearance."""
    return tuple(dict.fromkeys(m for term in terms for m in term.maps))


def combine(forces: Forces, shape: tuple[int, int]) -> Array:
    """Σ Aᵀ G: one adjoint per distinct map, whatever the number of terms that use it."""
    sums: dict[LinearMap | None, Any] = {}
    for linear_map, G in forces:
        sums[linear_map] = sums[linear_map] + G if linear_map in sums else G
    images = (G if linear_map is None else linear_map.adjoint(G) for linear_map, G in sums.items())
    return reduce(add, images) if sums else np.zeros(shape)
