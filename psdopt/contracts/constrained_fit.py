"""The ability ``constrained-fit``: constraints in the form that linear systems in their multipliers need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array


class TiedRows(Protocol):
    """Constraints that are held to bounds."""

    def solver(self, P: Array, Q: Array, work: Array, *more: tuple[Array, Array]) -> Callable[[Array], Array]:
        """q ↦ K⁻¹ q for K = [tr(A_s P A_t Q)], a sum of such over `more` pairs; the rest as in
        :class:`~psdopt.contracts.Coupled`."""


class ConstrainedFit(Protocol):
    """min F(M), lower_t <= ⟨A_t, M⟩ <= upper_t, t = 1..m, M = Y Yᵀ.

    With a multiplier y_t for each constraint, M is stationary where

        S(y) Y = 0,   S(y) = ∇F(M) + Σ_t y_t A_t,

    ⟨A_t, M⟩ equals a bound if y_t pushes against it (constraint t is then `tied`), and y_t = 0 otherwise.

    Any object with these members will do. Since (n, n) and (m, m) arrays are formed, the order n and the number m of
    tied constraints must be small.

    Attributes: `norms` |A_t|_F (m,), 1 where A_t = 0.
    """

    norms: Array

    @property
    def held(self) -> NDArray[np.intp]:
        """Constraints that every M of the smallest known face of the cone meets, so that they are never tied."""

    def tied(self, evaluation: Evaluation, rows: NDArray[np.intp]) -> TiedRows:
        """The constraints `rows` at M."""


@runtime_checkable
class OffersConstrainedFit(Protocol):
    """A problem with the ability ``constrained-fit``."""

    def constrained_fit(self) -> ConstrainedFit:
        """The constraints in multiplier form; made once and kept, because they are used in every step."""


def constrained_fit_of(problem: object) -> ConstrainedFit:
    """The fit that `problem` offers; IncompatibleError if it offers none."""
    fit: ConstrainedFit = offered(problem, Ability.CONSTRAINED_FIT, "psdopt.contracts.ConstrainedFit")
    return fit
