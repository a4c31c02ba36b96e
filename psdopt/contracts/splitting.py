"""Bi-convex splits: F(Y Yᵀ) written as F(V, U) with V = U = Y, quadratic in each block."""

from __future__ import annotations

from abc import ABC, abstractmethod

from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array


class BiconvexSplit(ABC):
    """F(V, U) for V, U (n, r), one row per index of M = V Uᵀ, with F(Y, Y) = F(Y Yᵀ).

    Symmetric, F(V, U) = F(U, V), and a convex quadratic in each block while the other is fixed. Each
    subproblem must split into pieces that :meth:`update` solves exactly, all together.

    F(V, U) = ⟨V, L U⟩ + convex pieces in the entries of V Uᵀ, with a linear coupling L. Its images L V, L U
    are arguments, so that no product is computed twice.

    Attributes: `n`; `coupling_bound` >= λ_max(L), 0 without coupling; `scale`, a penalty rho > 0 at which
    the proximal terms are about as large as F (used if there is no coupling).
    """

    n: int
    coupling_bound: float
    scale: float

    @abstractmethod
    def image(self, Y: Array) -> Array:
        """L Y (n, r), linear in Y: the one application per block and iteration."""

    @abstractmethod
    def update(self, U: Array, LU: Array, anchor: Array, rho: float) -> Array:
        """argmin_V F(V, U) + rho/2 |V − anchor|², for rho > 0 and LU = image(U)."""

    @abstractmethod
    def value(self, V: Array, U: Array, LU: Array) -> float:
        """F(V, U)."""

    @abstractmethod
    def evaluation(self, Y: Array, LY: Array) -> Evaluation:
        """The problem's evaluation at Y Yᵀ, its image LY = image(Y) already known."""


def split_of(problem: object) -> BiconvexSplit:
    """The split of `problem`; IncompatibleError if it declares none."""
    split: BiconvexSplit = offered(problem, Ability.SPLIT, "psdopt.BiconvexSplit")
    return split
