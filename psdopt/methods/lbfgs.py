"""Limited-memory BFGS on the factor, with the exact line search of conjugate gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from psdopt.checks import integer, one_of
from psdopt.contracts.abilities import Ability, Requires, on_factors
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, State, without_step
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.deprecated import former_argument
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.methods.searches.paths import LinePath, Located, Path
from psdopt.methods.searches.preconditioning import PRECONDITIONERS, ask_ahead, preconditioned, resolved
from psdopt.methods.searches.step_lengths import modelled


@dataclass(kw_only=True)
class LBFGSState(State):
    """Gradient G and the last pairs (s, y, ⟨s, y⟩) of moves and gradient changes with their products, oldest first."""

    gradient: Array
    pairs: list[tuple[Array, Array, float]] = field(default_factory=list)


@former_argument("search", None, "the exact search is used")
@dataclass(frozen=True)
class LBFGS(Method[LBFGSState]):
    """Two-loop L-BFGS on Y, initial matrix gamma P⁻¹, exact search (Yuan et al., section 5.4).

    Parameters
    ----------
    memory : number of pairs kept, at least 1.
    preconditioner : initial matrix, as in :class:`ConjugateGradient`.

    Cost per iteration: one application of the maps in each direction, O(memory · n r).
    """

    memory: int = 20
    preconditioner: str = "auto"

    requires: ClassVar[Requires] = on_factors(Ability.GRADIENT, Ability.EXACT_LINE)
    takes_device_arrays: ClassVar[bool] = True
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.memory, "memory")
        one_of(self.preconditioner, "preconditioner", PRECONDITIONERS)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> LBFGSState:
        resolved(self.preconditioner, problem, geometry)
        return self._state(problem, geometry, evaluation or problem.at(geometry.factor(start)))

    def step(self, state: LBFGSState) -> LBFGSState:
        G, pairs = state.gradient, state.pairs
        D = -self._apply_inverse(state.evaluation, G, pairs)
        path, mu = self._search(state, D) if inner(G, D) < 0.0 or not pairs else (None, 0.0)
        if path is None or (mu == 0.0 and pairs):
            pairs = []
            D = -preconditioned(self.preconditioner, state.evaluation, G)
            path, mu = self._search(state, D)
        if not 0.0 < mu < math.inf:
            return replace(without_step(state, mu, D, path.lost), pairs=pairs)
        after = self._state(state.problem, state.geometry, path.at(mu).evaluation)
        s, y = mu * D, after.gradient - G
        product = inner(s, y)
        if product > 0.0:
            pairs = [*pairs, (s, y, float(product))][-self.memory :]
        return replace(after, step=mu, extras={"pairs": float(len(pairs))}, pairs=pairs)

    def _state(self, problem: Problem, geometry: Geometry, evaluation: Evaluation) -> LBFGSState:
        G = evaluation.factor_gradient()
        size = norm(G)
        ask_ahead(self.preconditioner, evaluation)
        return LBFGSState(problem, geometry, evaluation.factor, evaluation, gradient_norm=size, gradient=G)

    def _search(self, state: LBFGSState, D: Array) -> tuple[Path, float]:
        path = LinePath(state.geometry, Located(state.point, state.evaluation), D)
        return path, modelled(path, state.evaluation.value, inner(state.gradient, D))

    def _apply_inverse(self, evaluation: Evaluation, G: Array, pairs: list[tuple[Array, Array, float]]) -> Array:
        """Two-loop recursion; H0 = gamma P⁻¹ with gamma from the newest pair in the metric of P."""
        q = G
        coefficients = []
        for s, y, product in reversed(pairs):
            coefficients.append(inner(s, q) / product)
            q = q - coefficients[-1] * y
        z = preconditioned(self.preconditioner, evaluation, q)
        if pairs:
            _, y, product = pairs[-1]
            z = (product / inner(y, preconditioned(self.preconditioner, evaluation, y))) * z
        for (s, y, product), a in zip(pairs, reversed(coefficients), strict=True):
            z = z + (a - inner(y, z) / product) * s
        return z
