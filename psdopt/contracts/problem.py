"""The problem interface: F(M) evaluated through a factor, with exact restrictions to lines and planes.

A problem knows F, and neither geometries nor methods. ``problem.at(Y)`` returns an :class:`Evaluation`:
value, gradient and restrictions of F at M = Y Yᵀ, computed from shared images.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.checks import finite
from psdopt.contracts.curvature import Curvature, CurvedRows, added
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.roles import Duality, Starts
from psdopt.devices import Device, placed
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array, finite_value, norm
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.planes import Quadratic, minimize_plane, minimize_quadratic_in_box
from psdopt.linalg.polynomials import minimize_quartic, minimize_smooth

Made = TypeVar("Made")

#: Former methods of a problem -> the role object that now has them.
MOVED = {
    "first_atoms": "Starts",
    "proposed_start": "Starts",
    "subgradient": "Duality",
    "dual_bound": "Duality",
    "smallest_eigenpair": "Duality",
    "value_unit": "Duality",
}


class LineModel(ABC):
    """mu ↦ F((Y + mu D)(Y + mu D)ᵀ), without applying a map.

    `coefficients`: five numbers, constant first, when F is quadratic in M; None otherwise.
    """

    coefficients: list[float] | None = None

    @abstractmethod
    def value(self, mu: float) -> float:
        """F at Y + mu D."""

    @abstractmethod
    def derivatives(self, mu: float) -> tuple[float, float]:
        """First and second derivative in mu."""

    def minimize(self, upper: float = np.inf) -> float:
        """The mu in (0, upper] of least value if `coefficients` are known; else a local minimum below F(0).

        inf when F is unbounded below along the ray; 0.0 when D is no descent direction and no positive point is
        better. Default: all positive stationary points and `upper` are compared where `coefficients` are known, else
        Newton steps inside a bracket; even for a convex F the line has any number of local minima in mu.
        """
        if self.coefficients is not None:
            return minimize_quartic(self.coefficients, upper)
        return minimize_smooth(self.derivatives, upper, value=self.value)

    def nearly_minimize(self, upper: float = np.inf, bend: float | None = None) -> float:
        """As :meth:`minimize`, but about a hundredth of the decrease may be left if that is cheaper: enough for a step.

        `bend` : the second derivative in mu at 0, if the caller knows it. Default: :meth:`minimize`, which costs little
        where lines are known.
        """
        return self.minimize(upper)

    @abstractmethod
    def step(self, mu: float) -> Evaluation:
        """Evaluation at Y + mu D, by linear combination of stored images."""


class PlaneModel(ABC):
    """(alpha, beta) ↦ F(alpha M + beta v vᵀ), without applying a map."""

    #: (c, g, H) with F = c + gᵀx + xᵀHx/2, when F is quadratic in M.
    quadratic: Quadratic | None = None

    @abstractmethod
    def value(self, alpha: float, beta: float) -> float:
        """F at alpha M + beta v vᵀ."""

    @abstractmethod
    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """Gradient (2,) and Hessian (2, 2)."""

    def minimize(
        self, alpha: tuple[float, float] = (0.0, np.inf), beta: tuple[float, float] = (0.0, np.inf)
    ) -> tuple[float, float]:
        """Minimiser over the box `alpha` × `beta` (bounds may coincide); inf where unbounded below.

        Default: exact where `quadratic` is known, else projected Newton steps.
        """
        lower, upper = (alpha[0], beta[0]), (alpha[1], beta[1])
        if self.quadratic is not None:
            return minimize_quadratic_in_box(self.quadratic[1], self.quadratic[2], lower, upper)
        return minimize_plane(self.value, self.derivatives, lower, upper)

    def nearly_best_beta(self, slope: float) -> float:
        """beta >= 0 with nine tenths of the decrease of F(M + beta v vᵀ), for a new column; `slope` is ⟨S v, v⟩."""
        return self.minimize(alpha=(1.0, 1.0))[1]

    @abstractmethod
    def step(self, alpha: float, beta: float) -> Evaluation:
        """Evaluation at alpha M + beta v vᵀ: factor [√alpha Y, √beta v], no application."""


class Evaluation(ABC):
    """F at M = Y Yᵀ: value, gradient, restrictions, and moves that reuse the images."""

    problem: Problem
    factor: Array
    #: Whether :meth:`curvature_product` costs less than :meth:`hessian_vector`.
    curvature_apart: bool = False

    @property
    def matrix(self) -> LowRankPSD:
        """M, factored."""
        return LowRankPSD(self.factor)

    @cached_property
    def size(self) -> float:
        """|Y|, the square root of tr M."""
        return norm(self.factor)

    @property
    @abstractmethod
    def value(self) -> float:
        """F(M)."""

    @property
    @abstractmethod
    def gradient(self) -> LinearOperator:
        """S = ∇F(M), symmetric (n, n), applied to blocks."""

    @abstractmethod
    def factor_gradient(self) -> Array:
        """2 S Y (n, r): the gradient of Y ↦ F(Y Yᵀ). Computed once; not to be changed."""

    @abstractmethod
    def along(self, D: Array) -> LineModel:
        """Restriction to Y + mu D: one application of the linear maps, to D."""

    def along_evaluation(self, D: Evaluation) -> LineModel:
        """:meth:`along` for a direction whose evaluation, and therefore images, are known: no application."""
        return self.along(D.factor)

    @abstractmethod
    def along_atom(self, v: Array) -> PlaneModel:
        """Restriction to alpha M + beta v vᵀ for v (n,): one application, to one column."""

    def value_of_share(self, share: float) -> float:
        """F(share · M), share >= 0, from the images of Y: no application. inf where F is not defined or not finite."""
        T = math.sqrt(share) * np.eye(self.factor.shape[1])
        return finite_value(lambda: float(self.mix(T).value))

    def best_multiple(self) -> float:
        """alpha >= 0 of least F(alpha M); inf if F falls along the whole ray. Maps are applied to one column."""
        alpha, _ = self.along_atom(np.zeros(len(self.factor))).minimize(beta=(0.0, 0.0))
        return alpha

    @abstractmethod
    def mix(self, T: Array) -> Evaluation:
        """Evaluation at Y T for a small T (r, r'), by combining images: no application."""

    @abstractmethod
    def append(self, v: Array) -> Evaluation:
        """Evaluation at [Y, v] for v (n,) or (n, k): the maps are applied to v only."""

    def joined(self, others: Sequence[Evaluation]) -> Evaluation:
        """Evaluation at [Y, Y₁, Y₂, ...] for the factors of `others`, with their images if known."""
        return self.append(np.concatenate([other.factor for other in others], axis=1))

    def restricted(self, T: Array) -> Problem:
        """N ↦ F(W N Wᵀ) for W = Y T with orthonormal columns, T (r, k): a problem of order k, at no cost in n."""
        raise InvalidTypeError(f"{type(self.problem).__name__} offers no restriction")

    @abstractmethod
    def refresh(self) -> Evaluation:
        """The same point with everything recomputed from Y: removes accumulated rounding."""

    def hessian_vector(self, D: Array) -> Array:
        """2 (S D + ∇²F[Y Dᵀ + D Yᵀ] Y): Hessian of Y ↦ F(Y Yᵀ) applied to D (n, r)."""
        raise InvalidTypeError(f"{type(self.problem).__name__} offers no Hessian")

    def curvature_product(self, D: Array) -> Array:
        """∇²F(M)[Y Dᵀ + D Yᵀ] Y for D (n, r): :meth:`hessian_vector` / 2 without its part S D."""
        return np.asarray(0.5 * self.hessian_vector(D) - self.gradient @ D)

    def preconditioner(self) -> Callable[[Array], Array]:
        """R ↦ P⁻¹ R, P an approximation of the Hessian of Y ↦ F(Y Yᵀ), symmetric positive definite."""
        raise InvalidTypeError(f"{type(self.problem).__name__} offers no preconditioner")

    def diagonal_preconditioner(self) -> Callable[[Array], Array]:
        """A coarser :meth:`preconditioner` that needs no set-up, if the problem has one; else the same."""
        return self.preconditioner()

    def data_gradient(self, D: Array | None = None) -> Mapping[str, Any]:
        """The gradient by the data θ of ⟨∇F(M; θ), Y Dᵀ + D Yᵀ⟩ for D (n, r), or of F(M; θ) for None.

        By name, each of the shape of the datum in :attr:`Problem.data`; a sparse datum has a sparse one.
        """
        raise InvalidTypeError(f"{type(self.problem).__name__} offers no derivatives by its data")

    def data_force(self, tangents: Mapping[str, Any]) -> Array:
        """(n, r): the change of ∇F(M; θ) Y as the data move along `tangents`; the others stay.

        2 ⟨D, data_force(t)⟩ = Σ ⟨data_gradient(D), t⟩. Raises InvalidTypeError if derivatives are backward only.
        """
        raise InvalidTypeError(f"{type(self.problem).__name__} offers no derivatives by its data")

    def corner(self) -> float:
        """Distance, relative to their size, of data from a corner of ∇F, as at a hinge's margin; inf without one."""
        return math.inf

    def bend(self, D: Array) -> Array | None:
        """Z (n, r) of the arc Y + mu D + mu² Z along which stiff losses of M change least; None if unknown."""
        return None

    def curvatures(self, thorough: bool = False) -> Sequence[Curvature]:
        """Lower bounds on the curvature of F seen from M, each by itself a proof of how far F(M) is from min F.

        `thorough` : with those that cost more than a few steps of a method. Default: the problem's `lower_curvature`.
        """
        return added((), self.problem.lower_curvature)

    def curved_rows(self) -> CurvedRows:
        """What this proves of the curvature of an F of which F_s, evaluated here, is a sample. Default: no rows."""
        return CurvedRows(list(self.curvatures(thorough=True)), np.empty((0, self.problem.n)), np.empty(0))


class Problem(ABC):
    """min F(M) over symmetric positive semidefinite M (n, n).

    Attributes: `n`; `abilities`, a frozenset of :class:`~psdopt.contracts.abilities.Ability` values;
    `lower_curvature`, a known modulus of strong convexity of F in M (0 if none is known); `rows`, row count of the
    largest array multiplied by Y in a step (None if unknown); `device`, that of its large arrays and of all factors
    (None for NumPy arrays); `maps`, the linear maps whose images of Y its evaluations hold; `convex_by_word`, whether
    certificates try to refute that F is convex; `hermitian`, whether M (2k, 2k) stands for the H (k, k) of
    :meth:`LowRankPSD.hermitian`: derivatives are those of H if nothing else of M is seen.
    """

    n: int
    maps: tuple[LinearMap, ...] = ()
    abilities: frozenset[str] = frozenset()
    lower_curvature: float = 0.0
    rows: int | None = None
    device: Device | None = None
    convex_by_word: bool = False
    hermitian: bool = False

    @abstractmethod
    def at(self, Y: Array) -> Evaluation:
        """Evaluation at M = Y Yᵀ, Y (n, r). Raises InvalidInputError on shape or non-finite entries."""

    def value_and_gradient_at(self, Y: Array) -> tuple[float, Array] | None:
        """F(Y Yᵀ) and ∇F(Y Yᵀ) as a new symmetric array (n, n), if they cost less memory than :meth:`at`; else None."""
        return None

    def value_at_zero(self) -> float:
        """F(0), from which decreases are measured; inf if it is undefined. Computed once."""
        return self.once(("value", 0.0), lambda: finite_value(lambda: float(self.at(np.zeros((self.n, 1))).value)))

    def pieces(self) -> Mapping[str, Any]:
        """Objects of the problem that a run may refer to, by name. Checkpoints store the names, not the objects."""
        return {}

    @property
    def data(self) -> Mapping[str, Any]:
        """θ: the arrays and numbers by which a minimiser can be differentiated, by name. Default: none.

        An array that F uses in several places has a name and a derivative for each of them.
        """
        return {}

    def counts(self) -> Mapping[str, int]:
        """Work done by this problem since it was made, as counted by its linear maps."""
        return {}

    @property
    def items(self) -> int:
        """How many rows :meth:`sample` draws from: measurements of terms that are sums over them; 0 for others."""
        return 0

    @property
    def readings(self) -> int:
        """How many measurements were taken or put together so far, by F and its samples: 2 m for a gradient over m."""
        return 0

    def sample(self, share: float, rng: np.random.Generator) -> Problem:
        """F on a `share` of its rows, drawn without replacement, scaled so that its expectation is F.

        For problems with the ability ``sample``. Terms without rows, such as regularisers, stay whole.
        """
        raise InvalidTypeError(f"{type(self).__name__} cannot be sampled: no term of it is known to be a sum over rows")

    def solve_in_closed_form(self) -> LowRankPSD | None:
        """The global minimiser, for problems with the ability ``closed-form``; None if there is none for these data."""
        raise InvalidTypeError(f"{type(self).__name__} has no closed form")

    def once(self, name: Hashable, compute: Callable[[], Made]) -> Made:
        """The result of `compute`, which uses F alone; computed at the first use of `name`, kept with the problem."""
        made = self._made
        if name not in made:
            made[name] = compute()
        found: Made = made[name]
        return found

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    @property
    def starts(self) -> Starts:
        """Proposals for starting points; a problem with better ones than random points returns its own."""
        return Starts()

    @property
    def duality(self) -> Duality:
        """Subgradients and lower bounds for certificates; a problem with better bounds returns its own."""
        return Duality()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, role in MOVED.items():
            if name in vars(cls):
                raise TypeError(
                    f"{cls.__name__} defines {name}, which is no longer a method of a problem: define it in a class "
                    f"derived from psdopt.{role} and return that from the property {role.lower()!r}"
                )

    def check_factor(self, Y: Any) -> Array:
        """Y as a float array (n, r), on the problem's device if it has one, or one clear error."""
        deadline.ask()
        factor: Any = finite(Y, "Y") if self.device is None else placed(Y, self.device, "Y")
        if factor.ndim != 2 or factor.shape[0] != self.n:
            raise InvalidInputError(f"Y must have shape ({self.n}, r); found {factor.shape}")
        return as_array(factor)
