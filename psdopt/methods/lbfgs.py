"""Limited-memory BFGS on the factor, with the same exact line search as conjugate gradient."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.method import Method, Outcome, State
from psdopt.methods.conjugate_gradient import SEARCHES, _one_of
from psdopt.problem import Evaluation, Problem
from psdopt.searches.armijo import armijo_step
from psdopt.searches.preconditioning import PRECONDITIONERS, preconditioned


@dataclass
class LBFGSState(State):
    """Gradient G and the last pairs (s, y) of moves and gradient changes, oldest first."""

    gradient: Array | None = None
    pairs: list[tuple[Array, Array]] = field(default_factory=list)


@dataclass(frozen=True)
class LBFGS(Method):
    """Two-loop L-BFGS on Y, initial matrix gamma P⁻¹, exact search (Yuan et al., section 5.4).

    Parameters
    ----------
    memory : number of pairs kept, at least 1.
    search : "exact" or "armijo".
    preconditioner : initial matrix, as in :class:`ConjugateGradient`.

    Cost per iteration: one application of the maps in each direction, O(memory · n r).
    """

    memory: int = 20
    search: str = "exact"
    preconditioner: str = "auto"

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_LINE),
        "geometry": (Ability.FACTOR, Ability.STRAIGHT),
    }
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.memory, (int, np.integer)) or self.memory < 1:
            raise InvalidInputError(f"memory must be an integer of at least 1; found {self.memory!r}")
        _one_of("search", self.search, SEARCHES)
        _one_of("preconditioner", self.preconditioner, PRECONDITIONERS)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> LBFGSState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        G = geometry.gradient(evaluation.factor, evaluation.gradient)
        return LBFGSState(problem, geometry, evaluation.factor, evaluation, norm(G), gradient=G)

    def step(self, state: Any) -> LBFGSState:
        G, pairs = state.gradient, state.pairs
        assert G is not None
        D = -self._apply_inverse(state.evaluation, G, pairs)
        if pairs and not inner(G, D) < 0.0:
            pairs = []
            D = -preconditioned(self.preconditioner, state.evaluation, G)
        line = state.evaluation.along(D)
        mu = line.minimize() if self.search == "exact" else armijo_step(line)
        if mu == 0.0 and pairs:
            pairs = []
            D = -preconditioned(self.preconditioner, state.evaluation, G)
            line = state.evaluation.along(D)
            mu = line.minimize() if self.search == "exact" else armijo_step(line)
        if not 0.0 < mu < np.inf:
            outcome = Outcome.UNBOUNDED if mu == np.inf else Outcome.STALLED
            beyond = line.step(mu) if np.isnan(mu) else state.evaluation
            evaluation = state.evaluation if np.isfinite(beyond.value) else beyond  # for the driver to see and name
            return LBFGSState(
                state.problem, state.geometry, state.point, evaluation, state.gradient_norm, 0.0, outcome,
                gradient=G, pairs=pairs,
            )  # fmt: skip
        evaluation = line.step(mu)
        G_new = state.geometry.gradient(evaluation.factor, evaluation.gradient)
        s, y = mu * D, G_new - G
        if inner(s, y) > 0.0:
            pairs = [*pairs[-(self.memory - 1) :], (s, y)] if self.memory > 1 else [(s, y)]
        return LBFGSState(
            state.problem, state.geometry, evaluation.factor, evaluation, norm(G_new), mu,
            extras={"pairs": float(len(pairs))}, gradient=G_new, pairs=pairs,
        )  # fmt: skip

    def _apply_inverse(self, evaluation: Evaluation, G: Array, pairs: list[tuple[Array, Array]]) -> Array:
        """Two-loop recursion; H0 = gamma P⁻¹ with gamma from the newest pair in the metric of P."""
        q = G
        coefficients = []
        for s, y in reversed(pairs):
            a = inner(s, q) / inner(s, y)
            q = q - a * y
            coefficients.append(a)
        z = preconditioned(self.preconditioner, evaluation, q)
        if pairs:
            s, y = pairs[-1]
            gamma = inner(s, y) / inner(y, preconditioned(self.preconditioner, evaluation, y))
            z = gamma * z
        for (s, y), a in zip(pairs, reversed(coefficients), strict=True):
            z = z + (a - inner(y, z) / inner(s, y)) * s
        return z
