"""The states of BILGO, and its local search: steps of any factor method until new eigenvectors of S are worth it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import MINOR

#: The rank has settled if S has fewer directions of descent than this share of r.
FEW = 0.25


@dataclass(kw_only=True)
class AtomState(State):
    """The iterate and the least eigenvectors of S there.

    `gradient_norm` is 2 max(|S Y|, max(0, −λ_min(S)) |Y|): the residual of *both* optimality conditions, in
    the units of the factor gradient, so that a small value means optimal, not only stationary.
    `waiting` : whether more atoms follow before the next local search. `due` : whether a local search begins here.
    `block` : whether the problem proposed these atoms. `resumed` : the search to continue instead of adding atoms.
    """

    vectors: Array
    smallest: float = math.nan
    atoms: int = 0
    iteration: int = 0
    waiting: bool = True
    proven_at: float = math.inf
    due: bool = False
    block: bool = False
    resumed: SearchState | None = None


@dataclass(kw_only=True)
class SearchState(State):
    """A local search: the state `inner` of its method, and the eigenvectors `known` at its start.

    The search is `over` at the residual `goal` (|S Y| / |Y|), after `limit` steps, or when its method ends. `growing` :
    whether the rank is still far too low.
    """

    inner: State
    searcher: Method
    known: AtomState
    goal: float
    limit: int
    growing: bool
    iteration: int
    steps: int = 0
    over: bool = False


@dataclass(frozen=True)
class LocalSearch(Method[SearchState]):
    """Steps of `searcher` on the factor of M, at its rank. An interrupted search continues where it stopped.

    While the rank grows, a search ends when |S Y| is the `fraction` of |λ_min(S)| |Y|, λ_min(S) as estimated at its
    start, or after half of `first_steps`. The fraction is far smaller once the rank has settled (FEW directions of
    descent), and for the first block of atoms at M = 0, where λ_min(S) does not measure the error. The number
    of steps doubles each time that a search continues.
    """

    searcher: Method
    fraction: float
    first_steps: int

    requires: ClassVar[Requires] = {"problem": (Ability.GRADIENT,)}
    descends: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.OPTIMALITY

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> SearchState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        return self.continued(AtomState(problem, geometry, Y, evaluation, vectors=np.zeros((len(Y), 0)), smallest=0.0))

    def continued(self, state: State) -> SearchState:
        """The search that `state` interrupted, or a new one from its point."""
        if not isinstance(state, AtomState):
            return super().continued(state)
        if state.resumed is not None:
            return state.resumed
        Y, infeasible = state.evaluation.factor, max(0.0, -state.smallest)
        growing = state.block or state.vectors.shape[1] >= FEW * Y.shape[1]
        fraction = self.fraction if growing and not state.block else MINOR
        inner = restarted(self.searcher, state.problem, state.evaluation)
        return SearchState(
            state.problem,
            state.geometry,
            Y,
            state.evaluation,
            gradient_norm=max(inner.gradient_norm, 2.0 * infeasible * norm(Y)),
            step=state.step,
            inner=inner,
            searcher=self.searcher,
            known=state,
            goal=fraction * infeasible,
            growing=growing,
            limit=-(-self.first_steps // 2) if growing else self.first_steps,
            iteration=state.iteration,
        )

    def step(self, state: SearchState) -> SearchState:
        inner: State = self.searcher.step(state.inner)
        if inner.outcome is Outcome.UNBOUNDED:
            return replace(state, outcome=Outcome.UNBOUNDED, ray=inner.ray)
        evaluation, steps = inner.evaluation, state.steps + 1
        size = norm(evaluation.factor)
        over = inner.outcome is not Outcome.RUNNING or steps >= state.limit
        over = over or 0.5 * inner.gradient_norm <= state.goal * size
        return replace(
            state,
            evaluation=evaluation,
            point=evaluation.factor,
            inner=inner,
            steps=steps,
            over=over,
            gradient_norm=max(inner.gradient_norm, 2.0 * max(0.0, -state.known.smallest) * size),
            step=inner.step,
            extras={},
            iteration=state.iteration + (not over),
        )


def restarted(searcher: Method, problem: Problem, evaluation: Evaluation) -> State:
    """The first state of a search from `evaluation`, on a factor of its rank."""
    n, r = evaluation.factor.shape
    # a column of zeros would stay zero: its factor gradient vanishes
    state: State = searcher.init(problem, FlatQuotient(n, min(r, n)), evaluation.factor, evaluation)
    return state
