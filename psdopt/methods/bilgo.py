"""Bilateral greedy optimisation on the PSD cone: atoms, exact two-variable search, local search on the factor."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires
from psdopt.checks import integer, one_of
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.geometries.psd_cone import CONIC_ORACLE
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, norm
from psdopt.method import Method, Outcome, Residual, State, ensure_finite
from psdopt.methods.bilgo_state import BILGOState, with_eigenvectors
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.factor_moves import compressed, outside, with_block
from psdopt.oracles import BACKENDS
from psdopt.problem import Evaluation, Problem

#: Bounds on alpha by rule: Journée et al. keep M, Laue shrinks it, BILGO and random conic pursuit allow both.
ALPHA_BOUNDS = {
    "bilgo": (0.0, math.inf),
    "journee": (1.0, 1.0),
    "random-conic": (0.0, math.inf),
    "laue": (0.0, 1.0),
}
#: A local search ends when |S Y| is this fraction of |λ_min(S)| |Y|, with λ_min(S) as known at its start.
SEARCH_FRACTION = 0.3
#: The same once S has fewer directions of descent than FEW times the columns: the rank is about right then.
LAST_FRACTION, FEW = 0.001, 0.25
#: The same for the search that starts from the block of atoms at M = 0, where λ_min(S) is no measure of the error.
SETTLED = 1e-6
#: Where atoms would not help, the search continues until its residual, or −λ_min if less, has fallen to this fraction.
RESTART = 0.1
#: Eigenvectors computed at a time, per column of M.
GROWTH = 1.0
#: Most steps of a local search before the eigenvectors of S are computed again: while the rank grows, and afterwards.
#: The number doubles each time that the search continues, up to SEARCH_STEPS.
GROWING_STEPS, FIRST_STEPS, SEARCH_STEPS = 8, 16, 300
#: Columns that M does not need are removed every TRIM steps of a local search; they slow it down.
TRIM = 8


@dataclass(frozen=True)
class BILGO(Method[BILGOState]):
    """M⁺ = alpha M + Σ beta_i v_i v_iᵀ, v the leading eigenvectors of −∇F(M) (Hao et al., algorithm 1).

    Both weights are found exactly: the minimiser over alpha, beta >= 0 of a quadratic in two variables, or
    by projected Newton steps if F is not quadratic. alpha <= 1 is *not* imposed: it does not hold in
    general, and makes warm starts slow. M stays factored; columns that M does not need are dropped without
    applying a map. Every step of the local search is a step of the method.

    Without a local search the greedy rule is sublinear (O(1/k)). With one it is as fast as that search, and
    global: at a stationary point of too low a rank the certificate fails, and atoms lower F further. Only directions
    outside the span of M become atoms after a search; for the others the same search continues.
    From M = 0 the first step takes the block of atoms that the problem proposes, if it proposes one
    (:meth:`psdopt.roles.Starts.first_atoms`), since growing a nearly full rank block by block costs more
    than a whole search at that rank.

    Parameters
    ----------
    local_search : method for the factor between atoms (ConjugateGradient(), LBFGS(), ...); "default" is
        ConjugateGradient(), None is the plain greedy method of the paper.
    every : least number of atoms between local searches, unless S offers fewer.
    eigenvectors : most atoms taken from one eigensolve; 0 means as many as are missing before the next local search,
        or as many as M has columns if that is more, and the problem's block from M = 0. The paper has 1. Each atom has
        its own bilateral search; if a local search follows, those beyond `every` enter as one block.
    rule : "bilgo"; or, for comparison, "journee" (alpha = 1), "random-conic" (random conic pursuit: v is
        drawn from N(0, (M + I)/2)), "laue" (0 <= alpha <= 1, local search after every atom).
    backend : eigensolver, see :func:`psdopt.oracles.least_eigenpairs`.
    seed : for the random rule and starting vectors.

    Start it from M = 0 (``start=np.zeros((n, 1))``) or from any M, of any rank.

    Cost of an atom: one eigensolve with S, warm-started, one application of the maps to one column, O(n r).
    """

    local_search: Method | str | None = "default"
    every: int = 5
    eigenvectors: int = 0
    rule: str = "bilgo"
    backend: str = "auto"
    seed: int = 0

    starts_at_zero: ClassVar[bool] = True
    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_PLANE),
        "geometry": (Ability.FULL_CONE, CONIC_ORACLE),
    }
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.OPTIMALITY

    def __post_init__(self) -> None:
        if isinstance(self.local_search, str) and self.local_search != "default":
            raise InvalidInputError(f"local_search must be a method, None or 'default'; found {self.local_search!r}")
        if not (self.local_search is None or isinstance(self.local_search, (str, Method))):
            raise InvalidTypeError(f"local_search must be a method, None or 'default'; found {self.local_search!r}")
        integer(self.every, "every")
        integer(self.eigenvectors, "eigenvectors", 0)
        one_of(self.rule, "rule", ALPHA_BOUNDS)
        if isinstance(self.backend, str) and self.backend == "lobpcg":
            warnings.warn("BILGO(backend='lobpcg') is deprecated: 'auto' is used", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "backend", "auto")
        one_of(self.backend, "backend", BACKENDS)

    @property
    def searcher(self) -> Method | None:
        """The local search as a method, or None."""
        return ConjugateGradient() if isinstance(self.local_search, str) else self.local_search

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BILGOState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        blank = BILGOState(problem, geometry, Y, evaluation, vectors=np.zeros((len(Y), 0)))
        return self._with_eigenvectors(blank, compressed(evaluation), {})

    def step(self, state: BILGOState) -> BILGOState:
        searcher = self.searcher
        if searcher is None or state.search is None:
            return self._greedy(state, searcher)
        return self._local(state, searcher, state.search)

    def _greedy(self, state: BILGOState, searcher: Method | None) -> BILGOState:
        """One bilateral search per known eigenvector."""
        evaluation, before = state.evaluation, state.evaluation.value
        first = self._first_block(state)
        if first is not None and searcher is not None:
            begun = self._search_begun(state, searcher, first, {"alpha": 1.0, "beta": norm(first.factor) ** 2})
            goal = SETTLED * max(0.0, -state.smallest)
            return replace(begun, search_goal=goal, search_limit=GROWING_STEPS, growing=True)
        alphas, betas = [], []
        directions = self._directions(state)
        alone = self.every if searcher is not None else len(directions)
        for v in directions[:alone]:
            plane = evaluation.along_atom(v)
            alpha, beta = plane.minimize(alpha=ALPHA_BOUNDS[self.rule])
            if math.isinf(alpha) or math.isinf(beta):
                Y = evaluation.factor
                ray = Y if math.isinf(alpha) else np.column_stack([np.zeros_like(Y), v])
                return replace(state, outcome=Outcome.UNBOUNDED, ray=ray)
            trial = ensure_finite(plane.step(alpha, beta))
            if trial.value <= evaluation.value:
                evaluation = trial
                alphas.append(alpha)
                betas.append(beta)
        if len(directions) > alone:
            evaluation = with_block(evaluation, np.column_stack(directions[alone:]), float(np.mean(betas or [0.0])))
        moved = evaluation.value < before
        evaluation = compressed(evaluation, lasting=searcher is not None)
        extras = {"alpha": float(np.prod(alphas)) if alphas else 1.0, "beta": float(sum(betas))}
        atoms = state.atoms + len(directions)
        due = atoms >= self._every or not moved or not state.waiting
        if searcher is not None and due and norm(evaluation.factor) > 0.0:
            return self._search_begun(state, searcher, evaluation, extras)
        if not moved and self.rule != "random-conic":
            return replace(state, outcome=Outcome.STALLED)
        return self._with_eigenvectors(state, evaluation, extras, atoms)

    def _first_block(self, state: BILGOState) -> Evaluation | None:
        """The problem's proposal for a first step from M = 0, scaled best; None if there is none or M is not 0."""
        wanted = self.rule == "bilgo" and self.searcher is not None and self.eigenvectors == 0
        if not wanted or np.any(state.evaluation.factor):
            return None
        W = state.problem.starts.first_atoms()
        if W is None:
            return None
        proposed = state.problem.at(W)
        alpha = proposed.best_multiple()
        if not 0.0 < alpha < math.inf:
            return None
        step = ensure_finite(proposed.mix(math.sqrt(alpha) * np.eye(W.shape[1])))
        return step if step.value < state.evaluation.value else None

    @property
    def _every(self) -> int:
        return 1 if self.rule == "laue" else self.every

    def _directions(self, state: BILGOState) -> list[Array]:
        """Unit vectors to try, the best first."""
        Y = state.evaluation.factor
        if self.rule == "random-conic":
            rng = np.random.default_rng([self.seed, state.iteration])
            x = Y @ rng.standard_normal(Y.shape[1]) + rng.standard_normal(Y.shape[0])
            return [x / np.linalg.norm(x)]
        return list(state.vectors.T)

    def _search_begun(
        self, state: BILGOState, searcher: Method, evaluation: Evaluation, extras: dict[str, float]
    ) -> BILGOState:
        """The first state of a local search from `evaluation`, on a factor of its rank."""
        Y = evaluation.factor
        # a column of zeros would stay zero, since its factor gradient vanishes
        quotient = FlatQuotient(Y.shape[0], min(Y.shape[1], Y.shape[0]))
        search: State = searcher.init(state.problem, quotient, Y, evaluation)
        growing = state.vectors.shape[1] >= FEW * Y.shape[1]
        goal = (SEARCH_FRACTION if growing else LAST_FRACTION) * max(0.0, -state.smallest)
        return replace(
            state, evaluation=evaluation, point=Y, search=search, search_goal=goal, search_steps=0, growing=growing,
            search_limit=GROWING_STEPS if growing else FIRST_STEPS,
            extras=extras,
            gradient_norm=max(search.gradient_norm, 2.0 * max(0.0, -state.smallest) * norm(Y)),
            iteration=state.iteration + 1, atoms=0, outcome=Outcome.RUNNING,
        )  # fmt: skip

    def _local(self, state: BILGOState, searcher: Method, last: State) -> BILGOState:
        """One step of the local search; at its end the eigenvectors are found anew."""
        search: State = searcher.step(last)
        evaluation = search.evaluation
        if search.outcome is Outcome.UNBOUNDED:
            return replace(state, outcome=Outcome.UNBOUNDED, ray=search.ray)
        size = norm(evaluation.factor)
        steps = state.search_steps + 1
        residual = 0.5 * search.gradient_norm
        spent, stationary = steps >= state.search_limit, residual <= state.search_goal * size
        ended = search.outcome is not Outcome.RUNNING or spent or stationary
        if not ended:
            compact = compressed(evaluation) if steps % TRIM == 0 else evaluation
            if compact is not evaluation:
                evaluation, search = compact, _restarted(searcher, state.problem, compact)
            return replace(
                state, evaluation=evaluation, point=evaluation.factor, search=search, search_steps=steps,
                gradient_norm=max(search.gradient_norm, 2.0 * max(0.0, -state.smallest) * size), step=search.step,
                extras={}, iteration=state.iteration + 1,
            )  # fmt: skip
        compact = compressed(evaluation)
        after = self._with_eigenvectors(state, compact, {}, few=not state.growing)
        if search.outcome is not Outcome.RUNNING or (steps >= SEARCH_STEPS and not stationary):
            return after
        lacking = max(0.0, -after.smallest)
        new = outside(after.vectors, compact.factor)
        if np.any(new) and not (stationary and lacking * size < residual):
            return replace(after, vectors=after.vectors[:, new], waiting=self.eigenvectors > 0)
        # inexact stationarity explains what λ_min(S) lacks, or M has its directions: precision helps, atoms do not
        search = search if compact is evaluation else _restarted(searcher, state.problem, compact)
        goal = RESTART * min(residual / size, lacking or math.inf)
        limit = min(2 * state.search_limit, SEARCH_STEPS)
        return replace(after, search=search, search_goal=goal, search_steps=0, search_limit=limit, growing=False)

    def _with_eigenvectors(
        self, state: BILGOState, evaluation: Evaluation, extras: dict[str, float], atoms: int = 0, few: bool = False
    ) -> BILGOState:
        """The state at `evaluation` with eigenvectors of S there: `few`, or as many as M has columns."""
        r = evaluation.factor.shape[1]
        several = self._every if few else max(self._every - atoms, math.ceil(GROWTH * r))
        return with_eigenvectors(
            state, evaluation, count=min(self.eigenvectors or several, evaluation.factor.shape[0]),
            backend=self.backend, seed=self.seed, atoms=atoms, extras=extras,
        )  # fmt: skip


def _restarted(searcher: Method, problem: Problem, evaluation: Evaluation) -> State:
    Y = evaluation.factor
    state: State = searcher.init(problem, FlatQuotient(*Y.shape), Y, evaluation)
    return state


__all__ = ["BILGO", "BILGOState"]
