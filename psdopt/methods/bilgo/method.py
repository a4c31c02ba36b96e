"""Bilateral greedy optimisation on the PSD cone: atoms and local search on the factor take turns."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.scales import stationarity_scale
from psdopt.checks import integer, is_name, number, one_of
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State, ensure_finite
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.geometries.flat_quotient import FlatQuotient
from psdopt.geometries.psd_cone import CONIC_ORACLE
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.least import BACKENDS, least_eigenpairs
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, SLIGHT
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.methods.factor_moves import compressed, outside, with_block

#: Bounds on alpha by rule: Journée et al. keep M, Laue shrinks it, BILGO and random conic pursuit do either.
ALPHA_BOUNDS = {
    "bilgo": (0.0, math.inf),
    "journee": (1.0, 1.0),
    "random-conic": (0.0, math.inf),
    "laue": (0.0, 1.0),
}
#: The rank has settled if S has fewer directions of descent than this share of r.
FEW = 0.25


@dataclass(frozen=True)
class Search:
    """A local search by `searcher`: its state `inner`, on the factor of M at its rank, and the `steps` made.

    It is over at the residual `goal` (|S Y| / |Y|), after `limit` steps, or when its method ends. `growing` : whether
    the rank is still far too low.
    """

    searcher: Method
    inner: State
    goal: float
    limit: int
    growing: bool
    steps: int = 0


@dataclass(kw_only=True)
class BILGOState(State):
    """The iterate, the least eigenvectors of S when they were last computed, and the local search under way.

    `gradient_norm` is 2 max(|S Y|, max(0, −λ_min(S)) |Y|): the residual of *both* optimality conditions, in
    the units of the factor gradient, so that a small value means optimal, not only stationary.
    `smallest` : the estimate of λ_min(S). `atoms` : their number since the last search. `waiting` : whether more atoms
    follow before the next one. `proven_at` : the stationarity at which no eigenvalue was negative, for random columns.
    """

    vectors: Array
    smallest: float = math.nan
    atoms: int = 0
    iteration: int = 0
    waiting: bool = True
    proven_at: float = math.inf
    search: Search | None = None


@dataclass(frozen=True)
class BILGO(Method[BILGOState]):
    """M⁺ = alpha M + Σ beta_i v_i v_iᵀ, v the leading eigenvectors of −∇F(M) (Hao et al., algorithm 1).

    Both weights are found exactly: the minimiser over alpha, beta >= 0 of a quadratic in two variables, or
    by projected Newton steps if F is not quadratic. alpha <= 1 is *not* imposed: the best alpha may be larger, and the
    bound makes warm starts slow. M stays factored; columns that M does not need are dropped without applying a map.
    Every step of the local search is a step of the method.

    Without a local search the greedy rule is sublinear (O(1/k)). With a local search the method is as fast as
    that search, and still global: at a stationary point of too low a rank the certificate fails, and atoms lower F
    further. After a search only directions outside the span of M become atoms; otherwise the same search continues.
    From M = 0 the first step takes the block of atoms that the problem proposes, if it proposes one
    (:meth:`psdopt.contracts.roles.Starts.first_atoms`), since growing a nearly full rank block by block costs more
    than a whole search at that rank.

    Parameters
    ----------
    local_search : method for the factor between atoms (ConjugateGradient(), LBFGS(), ...); "default" is
        ConjugateGradient(), None is the plain greedy method of the paper.
    every : least number of atoms between local searches, unless S offers fewer.
    eigenvectors : largest number of atoms from one eigensolve; 1 in the paper. 0 means the number still missing before
        the next local search or the number of columns of M, whichever is larger, and at M = 0 the problem's block. Each
        atom has its own bilateral search; if a local search follows, atoms beyond `every` enter as one block.
    rule : "bilgo"; or, for comparison, "journee" (alpha = 1), "random-conic" (random conic pursuit: v is
        drawn from N(0, (M + I)/2)), "laue" (0 <= alpha <= 1, local search after every atom).
    backend : eigensolver, see :func:`psdopt.linalg.least_eigenpairs`.
    seed : for the random rule and starting vectors.
    search_fraction : in (0, 1); while the rank grows, a local search ends when |S Y| is this fraction of
        |λ_min(S)| |Y|.
    first_steps : most steps of a local search before the eigenvectors of S are computed again; half of them while the
        rank grows, and twice as many each time that a search continues, up to 200.

    While the rank grows, a search ends when |S Y| is `search_fraction` |λ_min(S)| |Y|, λ_min(S) as estimated at its
    start; the fraction is far smaller once the rank has settled (FEW directions of descent), and for the first block of
    atoms at M = 0, where λ_min(S) does not measure the error. In steps of the search the history's column `phase` is 1.

    Start it from M = 0 (``start=np.zeros((n, 1))``) or from any M, of any rank.

    Cost of an atom: one eigensolve with S, warm-started, one application of the maps to one column, O(n r).
    """

    local_search: Method | str | None = "default"
    every: int = 5
    eigenvectors: int = 0
    rule: str = "bilgo"
    backend: str = "auto"
    seed: int = 0
    search_fraction: float = 0.3
    first_steps: int = 16

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
        if is_name(self.backend, "lobpcg"):
            warnings.warn("BILGO(backend='lobpcg') is deprecated: 'auto' is used", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "backend", "auto")
        one_of(self.backend, "backend", BACKENDS)
        number(self.search_fraction, "search_fraction", above=0.0, below=1.0)
        integer(self.first_steps, "first_steps")

    @property
    def searcher(self) -> Method | None:
        """The local search as a method, or None."""
        return ConjugateGradient() if isinstance(self.local_search, str) else self.local_search

    @property
    def _least(self) -> int:
        """The least number of atoms between local searches."""
        return 1 if self.rule == "laue" else self.every

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BILGOState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        blank = BILGOState(problem, geometry, Y, evaluation, vectors=np.zeros((len(Y), 0)))
        return self._looked(blank, compressed(evaluation), {"phase": 0.0})

    def step(self, state: BILGOState) -> BILGOState:
        """A step of the local search under way, else one bilateral search per eigenvector of the state."""
        if state.search is not None:
            return self._searched(state, state.search)
        evaluation, before, searcher = state.evaluation, state.evaluation.value, self.searcher
        first = self._first_block(state)
        if searcher is not None and first is not None:
            return self._begun(state, searcher, first, _weights([1.0], [norm(first.factor) ** 2]), block=True)
        alphas, betas = [], []
        directions = self._directions(state)
        alone = len(directions) if searcher is None else self._least
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
        atoms = state.atoms + len(directions)
        due = atoms >= self._least or not moved or not state.waiting
        if searcher is not None and due and norm(evaluation.factor) > 0.0:
            return self._begun(state, searcher, evaluation, _weights(alphas, betas))
        if not moved and self.rule != "random-conic":
            return replace(state, outcome=Outcome.STALLED)
        return self._looked(state, evaluation, _weights(alphas, betas), atoms)

    def _first_block(self, state: BILGOState) -> Evaluation | None:
        """The atoms that the problem proposes at M = 0, at their best scale; None without a proposal or if M ≠ 0."""
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

    def _directions(self, state: BILGOState) -> list[Array]:
        """Unit vectors to try, the best first."""
        Y = state.evaluation.factor
        if self.rule == "random-conic":
            rng = np.random.default_rng([self.seed, state.iteration])
            x = Y @ rng.standard_normal(Y.shape[1]) + rng.standard_normal(Y.shape[0])
            return [x / np.linalg.norm(x)]
        return list(state.vectors.T)

    def _begun(
        self, state: BILGOState, searcher: Method, evaluation: Evaluation, extras: dict[str, float], block: bool = False
    ) -> BILGOState:
        """The state at `evaluation`, where a local search begins. `block` : whether the problem proposed the atoms."""
        Y, infeasible = evaluation.factor, max(0.0, -state.smallest)
        growing = block or state.vectors.shape[1] >= FEW * Y.shape[1]
        goal = infeasible * (self.search_fraction if growing and not block else MINOR)
        inner, limit = _restarted(searcher, evaluation), -(-self.first_steps // 2) if growing else self.first_steps
        return replace(
            state,
            evaluation=evaluation,
            point=Y,
            gradient_norm=max(inner.gradient_norm, 2.0 * infeasible * norm(Y)),
            extras=extras,
            atoms=0,
            iteration=state.iteration + 1,
            search=Search(searcher, inner, goal, limit, growing),
        )

    def _searched(self, state: BILGOState, search: Search) -> BILGOState:
        """A step of the search. When it is over: the eigenvectors of S there as atoms, or the same search once more."""
        inner: State = search.searcher.step(search.inner)
        if inner.outcome is Outcome.UNBOUNDED:
            return replace(state, outcome=Outcome.UNBOUNDED, ray=inner.ray)
        evaluation, size = inner.evaluation, norm(inner.evaluation.factor)
        search = replace(search, inner=inner, steps=search.steps + 1)
        residual, ended = 0.5 * inner.gradient_norm, inner.outcome is not Outcome.RUNNING
        stationary = residual <= search.goal * size
        if not (ended or stationary or search.steps >= search.limit):
            return replace(
                state,
                evaluation=evaluation,
                point=evaluation.factor,
                gradient_norm=max(inner.gradient_norm, 2.0 * max(0.0, -state.smallest) * size),
                step=inner.step,
                extras={"phase": 1.0},
                iteration=state.iteration + 1,
                search=search,
            )
        compact = compressed(evaluation)
        known = replace(state, step=inner.step, search=None)
        after = self._looked(known, compact, {"phase": 1.0}, few=not search.growing)
        # a search of so many steps, a few products each, gives way to new eigenvectors
        if ended or (search.steps >= MOST_PRODUCTS and not stationary):
            return after
        lacking = max(0.0, -after.smallest)
        new = outside(after.vectors, compact.factor)
        if np.any(new) and not (stationary and lacking * size < residual):
            return replace(after, vectors=after.vectors[:, new], waiting=self.eigenvectors > 0)
        # λ_min(S) < 0 comes from inexact stationarity, or M contains the directions: more search helps, atoms do not
        inner = inner if compact is evaluation else _restarted(search.searcher, compact)
        goal, limit = SLIGHT * min(residual / size, lacking or math.inf), min(2 * search.limit, MOST_PRODUCTS)
        return replace(after, search=Search(search.searcher, inner, goal, limit, growing=False))

    def _looked(
        self, state: BILGOState, evaluation: Evaluation, extras: dict[str, float], atoms: int = 0, few: bool = False
    ) -> BILGOState:
        """The state at `evaluation` with the least eigenvectors of S: all that lead downhill, or else only the first.

        Without `eigenvectors` given, their number is `every` if `few`, else at least the number of columns of M. The
        eigensolver starts from the eigenvectors of `state`. If no eigenvalue is negative, the solver is restarted from
        random columns whenever stationarity has fallen to a minor part, since a warm start may miss a direction.
        """
        Y = ensure_finite(evaluation).factor
        SY, size = 0.5 * evaluation.factor_gradient(), norm(Y)
        residual, per_size = norm(SY), norm(SY) / max(size, EPS)
        several = self._least if few else max(self._least - atoms, Y.shape[1])
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
        return BILGOState(
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


def _weights(alphas: list[float], betas: list[float]) -> dict[str, float]:
    """The extras of a step of atoms."""
    return {"alpha": float(np.prod(alphas)), "beta": float(sum(betas)), "phase": 0.0}


def _restarted(searcher: Method, evaluation: Evaluation) -> State:
    """The first state of a search from `evaluation`, on a factor of its rank."""
    n, r = evaluation.factor.shape
    # a column of zeros would stay zero: its factor gradient vanishes
    begun: State = searcher.init(evaluation.problem, FlatQuotient(n, min(r, n)), evaluation.factor, evaluation)
    return begun
