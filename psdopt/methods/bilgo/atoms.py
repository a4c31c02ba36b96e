"""The greedy turns of BILGO: atoms along eigenvectors of S, each with its exact two-variable search."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.scales import stationarity_scale
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State, ensure_finite
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.geometries.psd_cone import CONIC_ORACLE
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.least import least_eigenpairs
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, SLIGHT
from psdopt.methods.bilgo.search import AtomState, SearchState, restarted
from psdopt.methods.factor_moves import compressed, outside, with_block

#: Bounds on alpha by rule: Journée et al. keep M, Laue shrinks it, BILGO and random conic pursuit do either.
ALPHA_BOUNDS = {
    "bilgo": (0.0, math.inf),
    "journee": (1.0, 1.0),
    "random-conic": (0.0, math.inf),
    "laue": (0.0, 1.0),
}


@dataclass(frozen=True)
class GreedyAtoms(Method[AtomState]):
    """M⁺ = alpha M + Σ beta_i v_i v_iᵀ: :class:`~psdopt.BILGO` without its local search, which explains the parameters.

    `searched` : whether a local search takes turns with this method. After a search, this method computes eigenvectors
    of S. If all of them lie in the span of M, the same search continues.
    """

    searched: bool
    every: int
    eigenvectors: int
    rule: str
    backend: str
    seed: int

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_PLANE),
        "geometry": (Ability.FULL_CONE, CONIC_ORACLE),
    }
    descends: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.OPTIMALITY

    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> AtomState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        blank = AtomState(problem, geometry, Y, evaluation, vectors=np.zeros((len(Y), 0)))
        return self._with_eigenvectors(blank, compressed(evaluation), {})

    def continued(self, state: State) -> AtomState:
        """After a local search: the eigenvectors of S there as atoms, or the same search once more."""
        if not isinstance(state, SearchState):
            return super().continued(state)
        evaluation, inner = state.evaluation, state.inner
        size, residual = norm(evaluation.factor), 0.5 * inner.gradient_norm
        stationary = residual <= state.goal * size
        compact = compressed(evaluation)
        known = replace(state.known, iteration=state.iteration, step=state.step)
        after = self._with_eigenvectors(known, compact, {}, few=not state.growing)
        # a search of so many steps, a few products each, gives way to new eigenvectors
        if inner.outcome is not Outcome.RUNNING or (state.steps >= MOST_PRODUCTS and not stationary):
            return after
        lacking = max(0.0, -after.smallest)
        new = outside(after.vectors, compact.factor)
        if np.any(new) and not (stationary and lacking * size < residual):
            return replace(after, vectors=after.vectors[:, new], waiting=self.eigenvectors > 0)
        # λ_min(S) < 0 comes from inexact stationarity, or M contains the directions: more search helps, atoms do not
        resumed = replace(
            state,
            point=after.point,
            evaluation=compact,
            known=after,
            over=False,
            steps=0,
            growing=False,
            inner=inner if compact is evaluation else restarted(state.searcher, state.problem, compact),
            goal=SLIGHT * min(residual / size, lacking or math.inf),
            limit=min(2 * state.limit, MOST_PRODUCTS),
            iteration=after.iteration,
        )
        return replace(after, resumed=resumed)

    def step(self, state: AtomState) -> AtomState:
        """One bilateral search per eigenvector of the state; no step if the local search is to continue."""
        if state.resumed is not None:
            return replace(state, outcome=Outcome.STALLED)
        evaluation, before = state.evaluation, state.evaluation.value
        first = self._first_block(state)
        if first is not None:
            return _search_due(state, first, {"alpha": 1.0, "beta": norm(first.factor) ** 2}, block=True)
        alphas, betas = [], []
        directions = self._directions(state)
        alone = self.every if self.searched else len(directions)
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
        evaluation = compressed(evaluation, lasting=self.searched)
        extras = {"alpha": float(np.prod(alphas)) if alphas else 1.0, "beta": float(sum(betas))}
        atoms = state.atoms + len(directions)
        due = atoms >= self.every or not moved or not state.waiting
        if self.searched and due and norm(evaluation.factor) > 0.0:
            return _search_due(state, evaluation, extras)
        if not moved and self.rule != "random-conic":
            return replace(state, outcome=Outcome.STALLED)
        return self._with_eigenvectors(state, evaluation, extras, atoms)

    def _first_block(self, state: AtomState) -> Evaluation | None:
        """The atoms that the problem proposes at M = 0, at their best scale; None without a proposal or if M ≠ 0."""
        wanted = self.rule == "bilgo" and self.searched and self.eigenvectors == 0
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

    def _directions(self, state: AtomState) -> list[Array]:
        """Unit vectors to try, the best first."""
        Y = state.evaluation.factor
        if self.rule == "random-conic":
            rng = np.random.default_rng([self.seed, state.iteration])
            x = Y @ rng.standard_normal(Y.shape[1]) + rng.standard_normal(Y.shape[0])
            return [x / np.linalg.norm(x)]
        return list(state.vectors.T)

    def _with_eigenvectors(
        self, state: AtomState, evaluation: Evaluation, extras: dict[str, float], atoms: int = 0, few: bool = False
    ) -> AtomState:
        """The state at `evaluation` with the least eigenvectors of S: all that lead downhill, or else only the first.

        Without `eigenvectors` given, their number is `every` if `few`, else at least the number of columns of M. The
        eigensolver starts from the eigenvectors of `state`. If no eigenvalue is negative, the solver is restarted from
        random columns whenever stationarity has fallen to a minor part, since a warm start may miss a direction.
        """
        Y = ensure_finite(evaluation).factor
        SY, size = 0.5 * evaluation.factor_gradient(), norm(Y)
        residual, per_size = norm(SY), norm(SY) / max(size, EPS)
        several = self.every if few else max(self.every - atoms, Y.shape[1])
        count = min(self.eigenvectors or several, len(Y))
        find = partial(least_eigenpairs, evaluation.gradient, count=count, backend=self.backend)
        scale = abs(state.smallest) if math.isfinite(state.smallest) else per_size
        pair = find(tol=SLIGHT * scale, start=state.vectors, seed=self.seed)
        products, proven_at = pair.products, state.proven_at
        level = residual / max(stationarity_scale(state.problem, evaluation.value, size), np.finfo(float).tiny)
        if -pair.value * size <= residual and level <= MINOR * min(proven_at, 1.0):
            guess, seed = pair.vectors[:, :1], self.seed + state.iteration
            pair = find(tol=max(abs(pair.value), per_size), start=guess, proven=True, seed=seed)
            products += pair.products
            # the warm start missed a direction and may miss others: the next check starts from random columns again
            proven_at = level if -pair.value * size <= residual else math.inf
        # flatter directions are not used: the gain is proportional to the square of the slope, and on the kernel of S
        # the sign of an eigenvalue is rounding
        descending = int(np.sum(pair.values < ROOT_EPS * min(pair.value, 0.0)))
        slack = math.sqrt(max(inner(SY.T @ SY, Y.T @ Y), 0.0))
        return AtomState(
            state.problem,
            state.geometry,
            Y,
            evaluation,
            # at M = 0 a negative eigenvalue is a direction of descent, and |Y| = 1 is used as the scale
            gradient_norm=2.0 * max(residual, max(0.0, -pair.value) * (size or 1.0)),
            step=state.step,
            extras={**extras, "lambda_max": -pair.value, "slack": slack, "eigensolve_products": float(products)},
            vectors=pair.vectors[:, : max(1, descending)],
            smallest=pair.value,
            atoms=atoms,
            iteration=state.iteration + 1,
            proven_at=proven_at,
        )


def _search_due(state: AtomState, evaluation: Evaluation, extras: dict[str, float], block: bool = False) -> AtomState:
    """The state at `evaluation`, from which a local search begins."""
    return replace(
        state,
        evaluation=evaluation,
        point=evaluation.factor,
        extras=extras,
        due=True,
        block=block,
        atoms=0,
        iteration=state.iteration + 1,
        outcome=Outcome.RUNNING,
    )
