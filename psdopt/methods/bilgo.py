"""Bilateral greedy optimisation on the PSD cone: atoms, exact two-variable search, local search on the factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from psdopt.capability import Ability, Requires
from psdopt.certificate import stationarity_scale
from psdopt.errors import InvalidInputError, InvalidTypeError, unknown_name
from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.geometries.psd_cone import CONIC_ORACLE
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.method import Method, Outcome, Residual, State, ensure_finite
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.factor_moves import compressed, with_block
from psdopt.oracles import BACKENDS, least_eigenpairs
from psdopt.problem import Evaluation, Problem

#: Bounds on alpha by rule: Journée et al. keep M, Laue shrinks it, BILGO and random conic pursuit do either.
ALPHA_BOUNDS = {
    "bilgo": (0.0, math.inf),
    "journee": (1.0, 1.0),
    "random-conic": (0.0, math.inf),
    "laue": (0.0, 1.0),
}
#: Accuracy of an eigenvector relative to the eigenvalue it is for: a direction of descent needs no more.
ORACLE_ACCURACY = 0.3
#: A local search ends when |S Y| is this fraction of |λ_min(S)| |Y|, as far as that was known at its start.
SEARCH_FRACTION = 0.3
#: The same once few directions of descent are left, relative to the columns at hand: the rank is about right then.
LAST_FRACTION, FEW = 0.001, 0.25
#: Where inexact stationarity explains what λ_min(S) lacks, the search goes on to this fraction of its residual.
RESTART = 0.1
#: A warm-started eigensolve is checked from random columns each time relative stationarity has fallen this much.
PROOF_RATIO = 1e-2
#: Eigenvectors asked for at a time, per column of M.
GROWTH = 1.0
#: Directions along which F falls by less than this fraction of the steepest descent are not taken: what they win goes
#: like the square, and where S has a kernel the sign of its eigenvalues there is rounding.
SLIGHT = math.sqrt(EPS)
#: Steps after which a local search ends in any case, and as long as many directions of descent are left.
SEARCH_STEPS, GROWING_STEPS = 300, 8


@dataclass
class BILGOState(State):
    """The iterate, the least eigenvectors of S there, and the local search that is under way, if one is.

    `gradient_norm` is 2 max(|S Y|, max(0, −λ_min(S)) |Y|): the residual of *both* optimality conditions, in
    the units of the factor gradient, so that a small one means optimal and not only stationary.
    """

    vectors: Array | None = None
    smallest: float = math.nan
    atoms: int = 0
    iteration: int = 0
    search: State | None = None
    search_goal: float = 0.0
    search_steps: int = 0
    growing: bool = False
    proven_at: float = math.inf


@dataclass(frozen=True)
class BILGO(Method):
    """M⁺ = alpha M + Σ beta_i v_i v_iᵀ, v the leading eigenvectors of −∇F(M) (Hao et al., algorithm 1).

    Both weights are found exactly: the minimiser over alpha, beta >= 0 of a quadratic in two variables, or
    by projected Newton steps when F is not quadratic. alpha <= 1 is *not* imposed: it does not hold in
    general, and cripples warm starts. M stays factored; columns that M does not need are dropped without
    applying a map. From the start on, every step of the local search is a step of the method.

    By itself the greedy rule is sublinear (O(1/k)), with a local search it is as fast as that search, and
    global: the certificate fails at a stationary point of too low a rank, and atoms lead out of it.

    Parameters
    ----------
    local_search : method for the factor between atoms (ConjugateGradient(), LBFGS(), ...); "default" is
        ConjugateGradient(), None is the plain greedy method of the paper.
    every : number of atoms (at least) between local searches.
    eigenvectors : most atoms taken from one eigensolve; 0 means as many as the next local search waits for,
        or as many as M has columns if that is more. The paper has 1. Each has its own bilateral search,
        except those beyond `every` when a local search follows: they enter as one block.
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
    residual: ClassVar[Residual] = Residual.OPTIMALITY

    def __post_init__(self) -> None:
        if isinstance(self.local_search, str) and self.local_search != "default":
            raise InvalidInputError(f"local_search must be a method, None or 'default'; found {self.local_search!r}")
        if not (self.local_search is None or isinstance(self.local_search, (str, Method))):
            raise InvalidTypeError(f"local_search must be a method, None or 'default'; found {self.local_search!r}")
        for name, least in (("every", 1), ("eigenvectors", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < least:
                raise InvalidInputError(f"{name} must be an integer of at least {least}; found {value!r}")
        if self.rule not in ALPHA_BOUNDS:
            raise unknown_name("rule", self.rule, ALPHA_BOUNDS)
        if self.backend not in BACKENDS:
            raise unknown_name("backend", self.backend, BACKENDS)

    @property
    def searcher(self) -> Method | None:
        """The local search as a method, or None."""
        return ConjugateGradient() if isinstance(self.local_search, str) else self.local_search

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BILGOState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        blank = BILGOState(problem, geometry, evaluation.factor, evaluation)
        return self._looked_at(blank, compressed(evaluation), {})

    def step(self, state: Any) -> BILGOState:
        return self._greedy(state) if state.search is None else self._local(state)

    def _greedy(self, state: BILGOState) -> BILGOState:
        """One bilateral search per eigenvector at hand."""
        assert state.vectors is not None
        evaluation, before = state.evaluation, state.evaluation.value
        alphas, betas = [], []
        directions = self._directions(state)
        alone = self.every if self.searcher is not None else len(directions)
        for v in directions[:alone]:
            plane = evaluation.along_atom(v)
            alpha, beta = plane.minimize(alpha=ALPHA_BOUNDS[self.rule])
            if math.isinf(alpha) or math.isinf(beta):
                return _with(state, outcome=Outcome.UNBOUNDED)
            trial = ensure_finite(plane.step(alpha, beta))
            if trial.value <= evaluation.value:
                evaluation = trial
                alphas.append(alpha)
                betas.append(beta)
        if len(directions) > alone:
            evaluation = with_block(evaluation, np.column_stack(directions[alone:]), float(np.mean(betas or [0.0])))
        moved = evaluation.value < before
        evaluation = compressed(evaluation)
        extras = {"alpha": float(np.prod(alphas)) if alphas else 1.0, "beta": float(sum(betas))}
        atoms = state.atoms + len(directions)
        due = self.searcher is not None and (atoms >= self._every or not moved)
        if due and norm(evaluation.factor) > 0.0:
            return self._search_begun(state, evaluation, extras)
        if not moved and self.rule != "random-conic":
            return _with(state, outcome=Outcome.STALLED)
        return self._looked_at(state, evaluation, extras, atoms)

    @property
    def _every(self) -> int:
        return 1 if self.rule == "laue" else self.every

    def _directions(self, state: BILGOState) -> list[Array]:
        """Unit vectors to be tried, the best first."""
        Y = state.evaluation.factor
        if self.rule == "random-conic":
            rng = np.random.default_rng([self.seed, state.iteration])
            x = Y @ rng.standard_normal(Y.shape[1]) + rng.standard_normal(Y.shape[0])
            return [x / np.linalg.norm(x)]
        assert state.vectors is not None
        return list(state.vectors.T)

    def _search_begun(self, state: BILGOState, evaluation: Evaluation, extras: dict[str, float]) -> BILGOState:
        searcher = self.searcher
        assert searcher is not None
        Y = evaluation.factor
        # a column of zeros would stay one: its factor gradient vanishes
        quotient = FlatQuotient(Y.shape[0], min(Y.shape[1], Y.shape[0]))
        search = searcher.init(state.problem, quotient, Y, evaluation)
        assert state.vectors is not None
        growing = state.vectors.shape[1] >= FEW * Y.shape[1]
        goal = (SEARCH_FRACTION if growing else LAST_FRACTION) * max(0.0, -state.smallest)
        return _with(
            state, evaluation=evaluation, point=Y, search=search, search_goal=goal, search_steps=0, growing=growing,
            extras=extras,
            gradient_norm=max(search.gradient_norm, 2.0 * max(0.0, -state.smallest) * norm(Y)),
            iteration=state.iteration + 1, atoms=0, outcome=Outcome.RUNNING,
        )  # fmt: skip

    def _local(self, state: BILGOState) -> BILGOState:
        """One step of the local search; at its end the eigenvectors are found anew."""
        searcher, search = self.searcher, state.search
        assert searcher is not None
        assert search is not None
        search = searcher.step(search)
        evaluation = search.evaluation
        if search.outcome is Outcome.UNBOUNDED:
            return _with(state, outcome=Outcome.UNBOUNDED)
        size = norm(evaluation.factor)
        steps = state.search_steps + 1
        residual = 0.5 * search.gradient_norm
        limit = GROWING_STEPS if state.growing else SEARCH_STEPS
        ended = search.outcome is not Outcome.RUNNING or steps >= limit or residual <= state.search_goal * size
        if not ended:
            return _with(
                state, evaluation=evaluation, point=evaluation.factor, search=search, search_steps=steps,
                gradient_norm=max(search.gradient_norm, 2.0 * max(0.0, -state.smallest) * size), step=search.step,
                extras={}, iteration=state.iteration + 1,
            )  # fmt: skip
        after = self._looked_at(state, compressed(evaluation), {})
        stationary = search.outcome is Outcome.RUNNING and residual <= state.search_goal * size
        if stationary and after.smallest * size > -residual:
            # what λ_min(S) lacks is explained by inexact stationarity: atoms would not help, precision does
            return _with(after, search=_restarted(searcher, after), search_goal=RESTART * residual / size)
        return after

    def _looked_at(
        self, state: BILGOState, evaluation: Evaluation, extras: dict[str, float], atoms: int = 0
    ) -> BILGOState:
        """The state at `evaluation`, with the least eigenvectors of S there."""
        Y = ensure_finite(evaluation).factor
        SY = 0.5 * evaluation.factor_gradient()
        count = min(self.eigenvectors or max(self._every - atoms, math.ceil(GROWTH * Y.shape[1])), Y.shape[0])
        scale = abs(state.smallest) if math.isfinite(state.smallest) else norm(SY) / max(norm(Y), EPS)
        pair = least_eigenpairs(
            evaluation.gradient, tol=ORACLE_ACCURACY * scale, start=state.vectors, count=count,
            backend=self.backend, seed=self.seed,
        )  # fmt: skip
        products, proven_at = pair.products, state.proven_at
        level = norm(SY) / max(stationarity_scale(state.problem, evaluation.value, norm(Y)), np.finfo(float).tiny)
        if -pair.value * norm(Y) <= norm(SY) and level <= PROOF_RATIO * min(proven_at, 1.0):
            # nothing is wrong along the guesses: only random columns can tell whether it is so everywhere
            pair = least_eigenpairs(
                evaluation.gradient, tol=max(abs(pair.value), norm(SY) / max(norm(Y), EPS)), start=pair.vectors[:, :1],
                backend=self.backend if not self.backend.startswith("newton") else "lanczos", proven=True,
                count=count, seed=self.seed + state.iteration,
            )  # fmt: skip
            products += pair.products
            # where a direction had been missed, more may be: the next rest is looked at anew
            proven_at = level if -pair.value * norm(Y) <= norm(SY) else math.inf
        descending = int(np.sum(pair.values < SLIGHT * min(pair.value, 0.0)))
        vectors = pair.vectors[:, : max(1, descending)]
        residual = max(norm(SY), max(0.0, -pair.value) * norm(Y))
        slack = math.sqrt(max(inner(SY.T @ SY, Y.T @ Y), 0.0))
        return BILGOState(
            state.problem, state.geometry, Y, evaluation, 2.0 * residual, state.step, Outcome.RUNNING,
            {**extras, "lambda_max": -pair.value, "slack": slack, "eigensolve_products": float(products)},
            vectors=vectors, smallest=pair.value, atoms=atoms, iteration=state.iteration + 1,
            proven_at=proven_at,
        )  # fmt: skip


def _restarted(searcher: Method, state: BILGOState) -> State:
    Y = state.evaluation.factor
    return searcher.init(state.problem, FlatQuotient(*Y.shape), Y, state.evaluation)


def _with(state: BILGOState, **changes: Any) -> BILGOState:
    fields = {**state.__dict__, **changes}
    return BILGOState(**fields)


__all__ = ["BILGO", "BILGOState"]
