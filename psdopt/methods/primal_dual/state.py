"""State of a primal-dual method on the standard form, and the candidates for proofs that it hands to certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers, multipliers_at_zero
from psdopt.certificates.constrained.recession import proven_ray
from psdopt.certificates.constrained.refutation import proven_infeasible
from psdopt.certificates.constrained.scales import GapUnits, relative_gap, relative_violation
from psdopt.certificates.constrained.slack import slack_eigenpair
from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints.central_path.interior_steps import Iterate
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.limits import FEASIBLE, NEGLIGIBLE
from psdopt.constraints.problem import Constrained, constrained_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import Array, inner, length_of, norm
from psdopt.linalg.limits import ITERATED_ORDER
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT
from psdopt.methods.augmented_lagrangian.phase_one import phase_one
from psdopt.methods.primal_dual.dual_values import Inexact, Proven, dual_value
from psdopt.methods.primal_dual.progress import Nearest, Progress


@dataclass(kw_only=True)
class PrimalDualState(State):
    """X and Z by parts of the standard form, v; `dual` holds multipliers and candidates for certificates.

    `progress` : of the relative residual, of that with the violation of all constraints together, relative to |b|, and
    of |F − bound| among iterates whose largest residual is a relative gap of one or more. `widest` : the largest such
    |F − bound|. `bound` : the largest proven dual value. `nearest` : the iterate of least error so far, at which a
    stalled run ends, since rounding may spoil later iterates where multipliers are not bounded. `anew` :
    whether the run was restarted; a restarted run shows `nearest` until it has a better iterate. `at` : X, Z and v with
    their factors and residuals, if already computed. `careful` : whether steps factor the roots of their systems,
    because rounding spoils the systems. `warm` : whether the run began at a solution of another problem and
    has not begun again. `refuted`, `fallen` : at the last attempt at a proof, the relative residuals of
    v as a proof that no M is feasible and of X as a ray; the next attempt follows at a tenth of them.
    """

    form: StandardForm
    X: list[Array]
    Z: list[Array]
    v: Array
    dual: Multipliers
    progress: Progress = Progress()
    widest: float = 0.0
    bound: float = -math.inf
    nearest: Nearest | None = None
    anew: bool = False
    at: Iterate | None = None
    careful: bool = False
    warm: bool = False
    refuted: float = math.inf
    fallen: float = math.inf


State_ = TypeVar("State_", bound=PrimalDualState)


def constrained(problem: Problem) -> tuple[Constrained, Conic]:
    """`problem` with its objective, linear but for log dets, and constraints by entries; IncompatibleError where it has
    none."""
    known = constrained_of(problem)
    if known.central is None:
        raise IncompatibleError(f"{type(problem).__name__} has no linear objective with constraints by entries")
    return known, known.central


def begun(
    problem: Problem,
    geometry: Geometry,
    start: Any,
    evaluation: Evaluation | None,
    form: StandardForm,
    X: list[Array],
    Z: list[Array],
) -> PrimalDualState:
    """The state at v = 0; finished at once if constraints contradict each other or only M = 0 may be feasible.

    Where F is infinite, for a log det of a singular block, the state shows X in the place of `start`.
    """
    known = constrained(problem)[0].shown
    evaluation = evaluation or problem.at(geometry.factor(start))
    if form.conic.weights is not None and not math.isfinite(evaluation.value):
        evaluation = problem.at(form.factor(X))
        start = geometry.from_factor(evaluation.factor)
    v, dual = np.zeros(form.m), multipliers_at_zero(known)
    state = PrimalDualState(
        problem, geometry, start, evaluation, gradient_norm=math.inf, form=form, X=X, Z=Z, v=v, dual=dual
    )
    return _ended(state, known) or state


def settled(state: State_) -> State_ | None:
    """The final state where the face that a search finds decides the problem; else None."""
    known, _ = constrained(state.problem)
    known.rule_out_face(state.dual.inside)
    return _ended(state, known)


def _ended(state: State_, known: Constrained) -> State_ | None:
    """The final state where constraints contradict each other or M = 0 is a solution; else None."""
    zero = known.only_zero or _zero_is_best(known)
    if not zero and known.contradiction is None:
        return None
    ended = replace(state, dual=multipliers_at_zero(known), outcome=Outcome.FINISHED)
    if not zero or state.form.conic.weights is not None:  # F is infinite at M = 0
        return ended
    at = state.problem.at(np.zeros((state.problem.n, 1)))
    return replace(ended, point=state.geometry.from_factor(at.factor), evaluation=at)


def _zero_is_best(problem: Constrained) -> bool:
    """Whether M = 0 is feasible and C ⪰ 0. Then no step is needed, and no gap is divided by the value, which is 0."""
    if problem.conic is None or not problem.allows_zero:
        return False
    C = problem.conic.C
    return bool(slack_eigenpair(C, 0.0, blocks=problem.conic.blocks).lower_bound >= 0.0) if C.nnz else True


def moved(
    old: State_,
    at: Iterate,
    *,
    step: float,
    outcome: Outcome,
    patience: int,
    inexact: Inexact | None = None,
    factor: Array | None = None,
) -> State_:
    """The state at `at`, with its residuals, its multipliers and candidates for proofs.

    `patience` : the run stalls after this number of steps in which no residual fell by a tenth.
    `inexact` : where the dual equation C = A*(v) + Z holds only in the limit, so that its residual is subtracted from
    the dual bound. `factor` : Y of X, if already computed.
    """
    known, form = constrained_of(old.problem), old.form
    problem = known if old.anew else known.shown
    Y = form.factor(at.X) if factor is None else factor
    evaluation: Evaluation = problem.at(Y)
    y = form.multipliers(at.v)
    value, infeasibility = evaluation.value, relative_violation(problem, problem.measured(Y), Y)
    ended, refuted, fallen = _proven(old, at, problem, evaluation, y)
    if ended is not None:
        return ended
    slack, proven = at.dual, Proven(old.bound, old.dual.best)
    if form.flat:  # multipliers of the least trace are none of F; without a feasible M, M outgrows what it misses
        y, slack, bound = np.zeros_like(y), at.primal if infeasibility > 0.0 else 0.0, form.conic.constant
        proven = Proven(bound, y)
    else:
        late = old.progress.since > 0 or old.extras.get("gap", math.inf) <= MINOR
        bound, proven = dual_value(problem, form, at, evaluation, proven, late, inexact)
    units = GapUnits(problem, evaluation)
    gap = relative_gap(problem, evaluation, bound, units)
    relative = max(gap, infeasibility, slack)
    # if the optimal value is zero, F and its bound differ in sign: the relative gap stays at one while the gap falls
    width = abs(value - bound) if gap >= max(1.0, infeasibility, slack) else math.inf
    # one row may keep a large violation, relative to entries of M that vanish, while all others improve
    together = max(gap, at.primal, slack)
    progress = old.progress.after(relative, together, width if width > EPS * old.widest else math.inf)
    if progress.since >= patience and outcome is Outcome.RUNNING:
        outcome = Outcome.STALLED
    here, nearest = Nearest(evaluation, infeasibility, relative), old.nearest
    if nearest is not None and math.isfinite(proven.bound):
        unit = units(proven.bound) or 1.0
        here, nearest = here.above(proven.bound, unit), nearest.above(proven.bound, unit)
    if nearest is None or not nearest.error <= here.error:
        nearest = here
    elif outcome is Outcome.STALLED or old.anew:
        relative, evaluation, infeasibility = nearest.error, nearest.evaluation, nearest.violation
    scale = stationarity_scale(problem, evaluation.value, evaluation.size)
    return replace(
        old,
        point=old.geometry.from_factor(evaluation.factor),
        evaluation=evaluation,
        gradient_norm=2.0 * relative * (scale or 1.0),
        step=step,
        outcome=outcome,
        X=at.X,
        Z=at.Z,
        v=at.v,
        progress=progress,
        widest=max(old.widest, width if math.isfinite(width) else 0.0),
        bound=proven.bound,
        nearest=nearest,
        dual=Multipliers(y, proven.y, inside=_inside(old, at, inexact)),
        refuted=refuted,
        fallen=fallen,
        extras={"infeasibility": infeasibility, "dual_residual": slack, "dual_bound": bound, "gap": gap},
    )


def _inside(old: PrimalDualState, at: Iterate, inexact: Inexact | None) -> Array | None:
    """The matrix of X, if it is definite, until one nearly is feasible; the first such one is kept."""
    form, kept = old.form, old.dual.inside
    better = kept is None or old.at is None or old.at.primal > NEGLIGIBLE
    if not better or form.cliques is not None or inexact is not None or old.problem.n > ITERATED_ORDER:
        return kept
    M = form.matrix(at.X)
    return M if form.W is None else np.asarray(form.W @ (form.W @ M).T)


def _proven(
    old: State_, at: Iterate, problem: Constrained, evaluation: Evaluation, y: Array
) -> tuple[State_ | None, float, float]:
    """The final state if v proves that no M is feasible, or X that F is unbounded; the residuals of both attempts.

    An attempt follows once v or X is ten times nearer to such a proof than at the last one.
    """
    off_dual, off_primal = _rays(old.form, at, evaluation.value)
    refutes = off_dual <= min(NEGLIGIBLE, SLIGHT * old.refuted)
    falls = off_primal <= SLIGHT * min(SLIGHT, old.fallen)  # near is enough: rays are moved onto the constraints
    ended = None
    if refutes and proven_infeasible(problem, [y]) is not None:
        dual = replace(old.dual, y=y, ray=y)
        ended = replace(old, dual=dual, gradient_norm=math.inf, outcome=Outcome.FINISHED)
    elif falls and (R := proven_ray(problem, evaluation.factor)) is not None:
        ended = _with_direction(old, R, y)
    return ended, off_dual if refutes else old.refuted, off_primal if falls else old.fallen


def _with_direction(old: State_, R: Array, y: Array) -> State_ | None:
    """The final state for a falling ray R Rᵀ, if a feasible M is found or proven not to exist; else None."""
    problem, _ = constrained(old.problem)
    Y, refutation = phase_one(problem)
    evaluation = problem.at(Y)
    infeasibility = relative_violation(problem, problem.measured(Y), Y)
    if infeasibility > FEASIBLE and proven_infeasible(problem, [refutation]) is None:
        return None
    return replace(
        old,
        point=old.geometry.from_factor(Y),
        evaluation=evaluation,
        gradient_norm=math.inf,
        outcome=Outcome.FINISHED,
        dual=replace(old.dual, y=y, ray=refutation, direction=R),
        extras={**old.extras, "infeasibility": infeasibility},
    )


def _rays(form: StandardForm, at: Iterate, value: float) -> tuple[float, float]:
    """|A*(v) + Z| / bᵀv and |A(X)| / −⟨C, X⟩, where F has this `value` at X.

    The first is small if v nearly proves that no M is feasible, the second if X is nearly a ray along which F falls.
    Infinite if the divisor is not positive. Log dets fall with |X|.
    """
    falls = float(form.b @ at.v)
    cost = (value - form.conic.constant) / (form.beta * form.gamma)
    if form.conic.weights is not None:
        cost = sum(inner(part.C, P) for part, P in zip(form.parts, at.X, strict=True))
    apart = [part.C - R for part, R in zip(form.parts, at.R, strict=True)]
    off = math.hypot(length_of(apart), form.held) if falls > 0.0 else math.inf
    gain = max(-cost, length_of(at.X)) if form.conic.weights is not None and cost <= 0.0 else -cost
    return off / falls if falls > 0.0 else math.inf, norm(form.b - at.rp) / gain if gain > 0.0 else math.inf
