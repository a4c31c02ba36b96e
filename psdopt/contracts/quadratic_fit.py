"""The ability ``quadratic-fit``: F in the form that Newton's method on its multipliers needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array

#: A fit's representation of a block of columns V (n, k): V itself, or V with products that are reused.
Block = Any


class Coupled(Protocol):
    """Measurements ⟨A_t, M⟩, t = 1..m, with multipliers w, as
    :class:`~psdopt.methods.lagrange_newton.system.LagrangeSystem`
    takes them.

    `curvatures` h (m,) : the derivative of w_t by measurement t; inf if that measurement is held to a value.
    """

    @property
    def curvatures(self) -> Array: ...

    def block(self, V: Array) -> Block:
        """V (n, k) in the representation that the other members take."""

    def gradient(self, w: Array) -> Array:
        """S(w) as a new array (n, n)."""

    def pair(self, U: Block, V: Block) -> Array:
        """⟨A_t, (U Vᵀ + V Uᵀ)/2⟩ (m,)."""

    def force(self, w: Array, V: Block) -> Array:
        """Σ_t w_t A_t V, (n, k)."""

    def solver(self, P: Array, Q: Array, work: Array) -> Callable[[Array], Array]:
        """q ↦ K⁻¹ q for K = [tr(A_s P A_t Q)] + Diag(1/h)/2, P and Q symmetric (n, n) and positive semidefinite.

        `work` (m, m) may be overwritten and kept by the answer. :func:`~psdopt.linalg.solver_of` makes the answer
        from K. Raises numpy.linalg.LinAlgError where K is not positive definite to working precision.
        """


class QuadraticFit(Coupled, Protocol):
    """F(M) = constant + tr(C M) + Σ_t phi_t(⟨A_t, M⟩), each phi_t of degree 2 with phi_t'' = h_t > 0, t = 1..m.

    With a multiplier w_t for each measurement, M = Y Yᵀ is stationary where

        S(w) Y = 0,   w_t = phi_t'(⟨A_t, Y Yᵀ⟩),   S(w) = C + Σ_t w_t A_t.

    Any object with these members will do; it needs no class of the library as its base. Since (n, n) and (m, m) arrays
    are formed, the order n and the number m of measurements must be small.

    Attributes: `n`; `size` m; `curvatures` h (m,).
    """

    n: int
    size: int

    def at(self, evaluation: Evaluation) -> tuple[Block, Array]:
        """Y, the factor of an evaluation of the problem, as a block; and its measurements ⟨A_t, Y Yᵀ⟩ (m,)."""

    def multipliers(self, measured: Array) -> Array:
        """phi_t'(a_t), (m,), at the measurements a (m,) of some M."""

    def along(self, U: Block, D: Block) -> tuple[Array, Array]:
        """(2 pair(U, D), pair(D, D)): the coefficients of mu and mu² in the measurements of U + mu D."""

    def linear(self, U: Block, V: Block) -> float:
        """tr(Uᵀ C V)."""


@runtime_checkable
class OffersQuadraticFit(Protocol):
    """A problem with the ability ``quadratic-fit``."""

    def quadratic_fit(self) -> QuadraticFit:
        """F in multiplier form; made once and kept, because it is used in every step."""


def quadratic_fit_of(problem: object) -> QuadraticFit:
    """The fit that `problem` offers; IncompatibleError if it offers none."""
    fit: QuadraticFit = offered(problem, Ability.QUADRATIC_FIT, "psdopt.contracts.QuadraticFit")
    return fit
