"""Bi-convex splits: F(Y Yᵀ) written as F(V, U) with V = U = Y, quadratic in each block by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod

from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import Array
from psdopt.problem import Evaluation


class BiconvexSplit(ABC):
    """F(V, U) for V, U (n, r), one row per index of M = V Uᵀ, with F(Y, Y) = F(Y Yᵀ).

    Symmetric, F(V, U) = F(U, V), and a convex quadratic in either block while the other is held. Each
    subproblem must split into pieces that :meth:`update` solves exactly, all at once.

    What the blocks share beyond those pieces is a linear coupling L, with F(V, U) = ⟨V, L U⟩ + convex
    pieces in the entries of V Uᵀ. Its images L V, L U are handed in, so that nothing is applied twice.

    Attributes: `n`; `coupling_bound` >= λ_max(L), 0 without coupling; `scale`, a penalty rho > 0 at which
    the proximal terms weigh about as much as F (used where there is no coupling to tell).
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
    split = getattr(problem, "split", None)  # asked in every step: a protocol's isinstance looks at all its members
    if split is None:
        raise IncompatibleError(
            f"{type(problem).__name__} offers no bi-convex split; a problem with the ability 'biconvex-split' "
            "needs a method split() that returns a psdopt.splitting.BiconvexSplit"
        )
    found: BiconvexSplit = split()
    return found
