"""Augmented Lagrangian of linear constraints around any method on the factor."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers, multipliers_at_zero
from psdopt.certificates.constrained.refutation import proven_infeasible, suspected_ray
from psdopt.certificates.constrained.scales import relative_gap, relative_violation
from psdopt.certificates.constrained.slack import slack_eigenpair, slack_operator
from psdopt.certificates.scales import stationarity_scale
from psdopt.checks import integer, integer_or_none, number, positive
from psdopt.constraints.augmented.problem import augmented, weights
from psdopt.constraints.augmented.start import first_multipliers, stiff_penalty
from psdopt.constraints.limits import FEASIBLE
from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Ability, Requires, missing_needs, on_factors, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, VANISHED
from psdopt.methods.augmented_lagrangian.columns import narrowed, widened
from psdopt.methods.augmented_lagrangian.phase_one import unbounded_along
from psdopt.methods.augmented_lagrangian.state import LONG, AugmentedLagrangianState, complementarity, unit_of
from psdopt.methods.lbfgs import LBFGS
from psdopt.methods.on_face import OnFace, takes_face
from psdopt.methods.truncated_newton import TruncatedNewton


@dataclass(frozen=True)
class AugmentedLagrangian(Method[AugmentedLagrangianState]):
    """min F(M) + Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]) by rounds of an inner method.

    A round ends when |S Y| |Y|, S = ∇F + A*(y⁺), is small for the multipliers y⁺ = w (a + y/w − Π(a + y/w)), which then
    replace y. The penalty grows where infeasibility falls too slowly and is larger than the gap, up to what rounding
    allows. When M is nearly feasible, or comes no nearer, a dual bound is computed. If λ_min(S) < 0 spoils the bound,
    eigenvectors become columns of Y; in a long round they do so where −λ_min(S) |Y| > |S Y|. Near the end one
    Gauss–Newton step on Y removes what is left of the violation.

    A round ends after 60 steps even if it has missed its aim, and then counts as five rounds without a gain. Where a
    linear F falls along a ray that the constraints do not bound, a feasible point is sought
    (:func:`~psdopt.methods.augmented_lagrangian.phase_one.phase_one`).

    Parameters
    ----------
    inside : a method on the factor; default :class:`TruncatedNewton` where F has a Hessian, else :class:`LBFGS`.
    inside_steps : steps of the inner method in one step of this method, at least 1.
    grow : whether the rank grows (solve() passes its `escape`). max_rank : the largest rank, default n.
    penalty_threshold : share of the infeasibility, in (0, 1). If a round leaves more of it than this, the penalty is
        divided by the share.
    tightening : the aim of a round is this share of the relative stationarity of the last round, in (0, 1).
    bounds_from : infeasibility at which a dual bound is computed, and again whenever it has fallen to the share
        `penalty_threshold`.
    patience : after this many rounds in a row that reduce infeasibility and gap by less than a tenth, the run stalls.

    Cost per step: `inside_steps` steps of `inside`, at O(n r + entries of the A_t) each beyond what F costs; at the end
    of a round now and then an extreme eigenvalue of S. Data on a device stay there: of what is long, A(M) and the
    diagonal of M come to the host at the ends of rounds, and S up to order 500.
    """

    inside: Method | None = None
    inside_steps: int = 5
    grow: bool = True
    max_rank: int | None = None
    penalty_threshold: float = 0.25
    tightening: float = 0.2
    bounds_from: float = 1e-2
    patience: int = 25

    requires: ClassVar[Requires] = on_factors(Ability.CONSTRAINTS)
    ranks_by_value: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.CERTIFICATE
    takes_device_arrays: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.inside_steps, "inside_steps")
        integer_or_none(self.max_rank, "max_rank")
        number(self.penalty_threshold, "penalty_threshold", above=0.0, below=1.0)
        number(self.tightening, "tightening", above=0.0, below=1.0)
        positive(self.bounds_from, "bounds_from")
        integer(self.patience, "patience")

    def on(self, problem: Problem) -> Method:
        return OnFace(self) if takes_face(self, problem) else self

    def with_escape(self, escape: bool, max_rank: int) -> AugmentedLagrangian:
        return replace(self, grow=self.grow and escape, max_rank=min(max_rank, self.max_rank or max_rank))

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> AugmentedLagrangianState:
        problem = constrained_of(problem)
        evaluation = evaluation or problem.at(geometry.factor(start))
        evaluation = problem.at(0.0 * evaluation.factor) if problem.only_zero else evaluation
        sigma, size = first_multipliers(problem, evaluation)
        sigma = max(sigma, stiff_penalty(problem))
        state = AugmentedLagrangianState(
            problem,
            geometry,
            evaluation.factor,
            evaluation,
            gradient_norm=math.inf,
            y=np.zeros(problem.m),
            sigma=sigma,
            base=sigma,
            dual=multipliers_at_zero(problem),
            first_size=size,
            first_length=evaluation.size or 1.0,
        )
        w = weights(problem, sigma)
        if problem.contradiction is not None or problem.only_zero:
            state.outcome = Outcome.FINISHED  # the certificate proves that no M is feasible, or none but M = 0
        elif not np.all((w > 0.0) & np.isfinite(w)):
            state.outcome = Outcome.STALLED  # Y is so large or small that the penalty overflows or vanishes
        else:
            state.inside = self._begin(state)
        return state

    def warmed(self, state: AugmentedLagrangianState, multipliers: Array) -> AugmentedLagrangianState:
        """The first round with these multipliers, and the penalty of the start."""
        y = constrained_of(state.problem).admissible(multipliers)
        warm = replace(state, y=y, dual=Multipliers(y))
        return replace(warm, inside=self._begin(warm))

    def continued(self, state: State) -> AugmentedLagrangianState:
        """The first state after another constrained method: its point, multipliers and penalty are taken over."""
        own = self.init(state.problem, state.geometry, state.point, state.evaluation)
        known, near = state.dual, 2.0 * SLIGHT * unit_of(own.problem, own.evaluation)
        if isinstance(known, Multipliers) and state.gradient_norm <= near:
            own.y, own.dual, own.sigma = known.y, known, state.extras.get("sigma", own.sigma)
            own.inside = self._begin(own)
        return own

    def _begin(self, state: AugmentedLagrangianState) -> State:
        """The inner method begun at the current Y, with the current multipliers and penalty."""
        problem = constrained_of(state.problem)
        inner_problem = augmented(problem, state.y, weights(problem, state.sigma))
        method = self._method(inner_problem, state.geometry)
        start = state.geometry.from_factor(state.evaluation.factor)
        begun: State = method.init(inner_problem, state.geometry, start)
        return begun

    def _method(self, problem: Problem, geometry: Geometry) -> Method:
        if self.inside is not None:
            require_inner("inside", self.inside, problem, geometry)
            return self.inside
        auto = Ability.PRECONDITIONER in problem.abilities
        newton = TruncatedNewton(share=SLIGHT, preconditioner="auto" if auto else "none")
        return LBFGS() if missing_needs(newton.requires, "problem", problem.abilities) else newton

    def step(self, state: AugmentedLagrangianState) -> AugmentedLagrangianState:
        problem = constrained_of(state.problem)
        inside = state.inside or self._begin(state)
        method = self._method(inside.problem, state.geometry)
        taken, reached, first = 0, self._reached(state, inside), norm(inside.evaluation.factor_gradient())
        while taken < self.inside_steps and inside.outcome is Outcome.RUNNING and not reached:
            inside, taken = method.step(inside), taken + 1
            reached = self._reached(state, inside)
        fine = state.aim < SLIGHT**2 * MINOR * FEASIBLE and state.infeasibility <= MINOR * FEASIBLE
        if fine and norm(inside.evaluation.factor_gradient()) > 0.5 * first:
            reached = True  # what is left of the gradient is rounding
        evaluation = problem.at(inside.evaluation.factor)
        new = replace(
            state,
            point=inside.evaluation.factor,
            evaluation=evaluation,
            inside=inside,
            steps=state.steps + taken,
            outcome=Outcome.RUNNING,
            waited=state.waited + 1,
        )
        if inside.outcome is Outcome.UNBOUNDED:
            self._falls_without_end(new, inside.ray)
        elif VANISHED * evaluation.size > max(state.first_length, 1.0):
            self._falls_without_end(new, evaluation.factor)
        elif reached or inside.outcome is not Outcome.RUNNING or new.waited >= MOST_STEPS:
            self._end_round(new)
        elif new.waited % LONG == 0 and self._resizes(new, beyond=new.point.shape[1]):
            self._grow(new, inside.evaluation)
        counts = {"rounds": float(new.rounds), "inside_steps": float(new.steps)}
        new.extras = {"sigma": new.sigma, "infeasibility": new.infeasibility, **counts, "dual_bound": new.bound}
        # in units of 2 |S Y|, and small only where the certificate will hold
        relative, scale = self._relative(new), stationarity_scale(problem, new.evaluation.value, new.evaluation.size)
        new.gradient_norm = 2.0 * relative * scale if scale > 0.0 else relative
        return new

    def _falls_without_end(self, state: AugmentedLagrangianState, ray: Array | None) -> None:
        """F falls along a ray faster than the penalty grows: either F is unbounded, or the penalty is too small."""
        if self._unbounded(state, ray):
            return
        state.sigma *= 10.0
        if EPS * state.sigma > MINOR * state.base:  # the violation would be mere rounding
            state.outcome = Outcome.STALLED
        else:
            state.inside = self._begin(state)

    @staticmethod
    def _unbounded(state: AugmentedLagrangianState, ray: Array | None) -> bool:
        problem = constrained_of(state.problem)
        proof = unbounded_along(problem, ray, state.y)
        if proof is not None:
            state.point, state.dual = proof
            state.evaluation, state.outcome = problem.at(state.point), Outcome.FINISHED
        return proof is not None

    def _reached(self, state: AugmentedLagrangianState, inside: State) -> bool:
        if inside.evaluation.size <= VANISHED * state.first_length:
            return True  # M = 0 is the minimum for these multipliers, or the next ones lead away from it
        scale = unit_of(state.problem, inside.evaluation)
        return 0.5 * norm(inside.evaluation.factor_gradient()) <= state.aim * scale

    def _relative(self, state: AugmentedLagrangianState) -> float:
        """The larger of gap and infeasibility, both relative."""
        problem = constrained_of(state.problem)
        gap = math.inf
        if math.isfinite(state.bound):
            gap = relative_gap(problem, state.evaluation, state.bound)
        if self._binds(state) and state.inside is not None:
            # with a fixed rank the gap need not close: the run can only reach a stationary point
            still = 0.5 * float(norm(state.inside.evaluation.factor_gradient())) / unit_of(problem, state.evaluation)
            gap = min(gap, still)
        return max(gap, state.infeasibility)

    def _binds(self, state: AugmentedLagrangianState) -> bool:
        """Whether the rank has to stay below n: certificates then use the multipliers of the current point."""
        columns = int(state.evaluation.factor.shape[1])
        return columns < state.problem.n and (not self.grow or columns >= (self.max_rank or columns + 1))

    def _end_round(self, state: AugmentedLagrangianState) -> None:
        """Update the multipliers, compute a bound, enlarge penalty or rank, and begin the next round."""
        problem, share = constrained_of(state.problem), self.penalty_threshold
        w = weights(problem, state.sigma)
        a = problem.measured(state.evaluation.factor)
        y = w * problem.allowed.violation(a + state.y / w)
        if not np.all(np.isfinite(y)):
            state.outcome = Outcome.STALLED
            return
        infeasibility = max(
            relative_violation(problem, a, state.evaluation.factor), complementarity(problem, a, state.y, y, w)
        )
        last, state.infeasibility = state.infeasibility, infeasibility
        state.y, state.rounds = y, state.rounds + 1
        best = state.dual.best if state.dual is not None and not self._binds(state) else None
        ray = suspected_ray(problem, y, state.first_size, infeasibility)
        state.dual = Multipliers(y, best, ray)
        if ray is not None and proven_infeasible(problem, [ray]) is not None:
            state.outcome = Outcome.FINISHED
            return
        grown = MINOR * state.evaluation.size > max(state.first_length, 1.0)
        if grown and self._unbounded(state, state.evaluation.factor):
            return
        state.grown = False
        waiting = state.idle % LONG == LONG - 1 or state.vanished
        near = infeasibility <= self.bounds_from
        # more columns may bring M nearer to the constraints
        stuck = not near and infeasibility > share * last and self._resizes(state, state.evaluation.factor.shape[1])
        if waiting or stuck or (near and (infeasibility <= share * state.bounded or state.rounds % LONG == 0)):
            self._bound(state)
        settled = MINOR * FEASIBLE  # less is minor beside what is feasible
        low = near and not self._binds(state) and -math.inf < state.bound < state.evaluation.value
        # a gap that is larger than the violation is due to S: a larger penalty would only make its errors larger
        gap = relative_gap(problem, state.evaluation, state.bound) if low else 0.0
        gone = state.vanished and problem.allows_zero
        if infeasibility > max(share * last, settled, gap) and not state.grown and not gone:
            state.sigma = min(state.sigma / share, MINOR / EPS * state.base)
        if self._relative(state) <= FEASIBLE / SLIGHT:
            state.meet()
        state.note_progress(self._relative(state), self.patience)
        if self._resizes(state) and not state.grown and not state.vanished and near:
            narrower = narrowed(problem, state.evaluation.factor, SLIGHT * infeasibility, state.fewest)
            if narrower is not None:
                self._put(state, narrower)
                violation = relative_violation(problem, problem.measured(narrower), narrower)
                state.infeasibility = max(state.infeasibility, violation)
        if not state.grown:
            off = max(infeasibility, settled)
            least, state.aim = min(SLIGHT**2 * off, state.aim), self.tightening * state.aim
            if not state.idle or off > settled:  # else errors of Y alone keep S from being semidefinite
                state.aim = max(min(state.aim, SLIGHT * off), least)
        state.inside = self._begin(state)

    def _bound(self, state: AugmentedLagrangianState) -> None:
        """A dual bound from y; if λ_min(S) < 0 spoils the bound, the eigenvector becomes a column."""
        problem, evaluation = constrained_of(state.problem), state.evaluation
        state.bounded = state.infeasibility
        y = problem.admissible(state.y)
        S, limit = slack_operator(problem, evaluation, y), problem.trace_limit
        trace = limit.value if limit is not None else max(evaluation.size, VANISHED * state.first_length) ** 2
        unit = problem.duality.value_unit(evaluation.value, trace) or 1.0
        explained = max(state.infeasibility, math.sqrt(EPS)) * unit / max(trace, np.finfo(float).tiny)
        slackness = SLIGHT * explained
        blocks = () if problem.conic is None else problem.conic.blocks
        pair = slack_eigenpair(S, slackness, seed=state.rounds, blocks=blocks)
        low, Y, conic = pair.lower_bound, evaluation.factor, problem.conic
        offset = evaluation.value - float(inner(evaluation.gradient @ Y, Y)) if conic is None else conic.constant
        base = offset - problem.support(y)
        bound = base + low * (trace if low < 0.0 else 0.0 if limit is None else limit.least)
        if limit is None or bound > state.bound:  # without a trace limit the bound uses tr M, and holds for this M only
            state.bound = bound
            state.dual = replace(state.dual or Multipliers(y), best=None if self._binds(state) else y)
        clearly = 0.0 if state.vanished else explained / SLIGHT
        if self._resizes(state) and -pair.value > clearly:
            self._widen(state, S, pair.vectors)

    def _grow(self, state: AugmentedLagrangianState, here: Evaluation) -> None:
        """Columns within a round, where they promise more than those `here` have still to gain."""
        problem, w = constrained_of(state.problem), weights(constrained_of(state.problem), state.sigma)
        y = w * problem.allowed.violation(problem.measured(here.factor) + state.y / w)
        S = slack_operator(problem, state.evaluation, problem.admissible(y))
        left = 0.5 * float(norm(here.factor_gradient())) / here.size
        pair = slack_eigenpair(S, left, seed=state.steps)
        if -pair.value > left:
            self._widen(state, S, pair.vectors)
            state.inside = self._begin(state)

    def _resizes(self, state: AugmentedLagrangianState, beyond: int = 0) -> bool:
        """Whether this method may choose the number of columns, more than `beyond`."""
        return self.grow and state.geometry.can_grow and beyond < (self.max_rank or state.problem.n)

    def _widen(self, state: AugmentedLagrangianState, S: Any, vectors: Array) -> None:
        """Y with columns along eigenvectors of negative eigenvalues of S."""
        problem, columns = constrained_of(state.problem), state.evaluation.factor.shape[1]
        here = augmented(problem, state.y, weights(problem, state.sigma)).at(state.evaluation.factor)
        wider = widened(here, S, vectors, self.max_rank or problem.n, state.first_length, seed=state.rounds)
        if wider is None:
            return
        state.fewest = max(state.fewest, min(columns + 1, wider.shape[1]))
        self._put(state, wider)
        # the new columns have not converged: multipliers and penalty stay until they have
        # columns may replace others again and again: such rounds count as idle
        state.aim = max(state.aim, SLIGHT**2 * min(self.bounds_from, state.infeasibility))
        state.bounded, state.grown = math.inf, wider.shape[1] > columns

    @staticmethod
    def _put(state: AugmentedLagrangianState, Y: Array) -> None:
        state.geometry = state.geometry.with_rank(Y.shape[1])
        state.evaluation = state.problem.at(Y)
        state.point = state.evaluation.factor
