"""State of a primal-dual method on the standard form, and the candidates for proofs that it hands to certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from psdopt.certificates.constrained.certify import SHRUNK, Multipliers, multipliers_at_zero
from psdopt.certificates.constrained.definite_slack import proven_semidefinite
from psdopt.certificates.constrained.log_det_bound import log_det_bound
from psdopt.certificates.constrained.recession import proven_ray
from psdopt.certificates.constrained.refutation import proven_infeasible
from psdopt.certificates.constrained.scales import GapUnits, relative_gap, relative_violation
from psdopt.certificates.constrained.slack import slack_eigenpair
from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints.central_path.interior_steps import Iterate
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.limits import FEASIBLE, GAIN, NEGLIGIBLE
from psdopt.constraints.problem import Constrained, constrained_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import Array, inner, length_of, norm
from psdopt.linalg.limits import ITERATED_ORDER
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT, rounding
from psdopt.methods.augmented_lagrangian.phase_one import phase_one


@dataclass(kw_only=True)
class PrimalDualState(State):
    """X and Z by parts of the standard form, v; `dual` holds multipliers and candidates for certificates.

    `least` : the relative residual when it last fell by a tenth; `least_off` : that residual with the violation of all
    constraints together, relative to |b|. `narrowest` : |F − bound| when it last fell by a tenth, among iterates whose
    largest residual is a relative gap of one or more. `widest` : the largest such
    |F − bound|. `since` : steps since one of the three fell. `nearest` : F at the best iterate so far, that of least
    `nearest_error`. This error is what a certificate would report: the larger of the violation of the constraints,
    `nearest_violation`, and the gap to the best proven bound; before any bound is proven, the relative residual. A
    stalled run ends at `nearest`, since rounding may spoil later iterates where multipliers are not bounded. `anew` :
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
    least: float = math.inf
    least_off: float = math.inf
    narrowest: float = math.inf
    widest: float = 0.0
    since: int = 0
    bound: float = -math.inf
    nearest: Evaluation | None = None
    nearest_violation: float = math.inf
    nearest_error: float = math.inf
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
    splits: bool = False,
    short: float = 0.0,
    factor: Array | None = None,
) -> State_:
    """The state at `at`, with its residuals, its multipliers and candidates for proofs.

    `patience` : the run stalls once `since` of the state has reached this number of steps.
    `splits` : whether the dual equation C = A*(v) + Z holds only in the limit; if so, its residual is subtracted from
    the dual bound, as is `short`, how far below zero Z may be. `factor` : Y of X, if already computed.
    """
    (problem, conic), form, X, Z, v = constrained(old.problem), old.form, at.X, at.Z, at.v
    rest, slack = at.primal, at.dual
    inside = old.dual.inside
    whole = form.cliques is None  # then the matrix of X is definite
    better = inside is None or old.at is None or old.at.primal > NEGLIGIBLE  # the first one that nearly is feasible
    if whole and not splits and better and problem.n <= ITERATED_ORDER:
        inside = form.matrix(X)
        inside = inside if form.W is None else np.asarray(form.W @ (form.W @ inside).T)
    problem = problem if old.anew else problem.shown
    Y = form.factor(X) if factor is None else factor
    evaluation: Evaluation = problem.at(Y)
    y = form.multipliers(v)
    value, infeasibility = evaluation.value, relative_violation(problem, problem.measured(Y), Y)
    off_dual, off_primal = _rays(form, at, value)
    refutes = off_dual <= min(NEGLIGIBLE, SLIGHT * old.refuted)
    if refutes and proven_infeasible(problem, [y]) is not None:
        dual = replace(old.dual, y=y, ray=y)
        return replace(old, dual=dual, gradient_norm=math.inf, outcome=Outcome.FINISHED)
    falls = off_primal <= SLIGHT * min(SLIGHT, old.fallen)  # near is enough: rays are moved onto the constraints
    if falls and (R := proven_ray(problem, Y)) is not None and (ended := _with_direction(old, R, y)) is not None:
        return ended
    bound = form.dual_value(v, Z)
    if form.flat:  # multipliers of the least trace are none of F; without a feasible M, M outgrows what it misses
        y, slack, bound = np.zeros_like(y), rest if infeasibility > 0.0 else 0.0, conic.constant
    # a bound on λ_min(S) is not sharper than the rounding of S, which grows with the multipliers
    limit = problem.trace_limit
    definite = problem.definite_part if splits and limit is None and form.W is None else 0.0
    held = limit is not None or definite > 0.0
    reach = evaluation.size**2 if limit is None else limit.value
    if definite > 0.0:
        reach = max(value - conic.constant, 0.0) / definite  # F of a matrix of a larger trace exceeds its value here
    if form.units is not None:  # the same multiple of the trace in the units of the form
        reach *= form.trace(Y) / evaluation.size**2 if evaluation.size > 0.0 else float(np.max(form.units**-2.0))
    large = max((part.largest(S) for part, S in zip(form.parts, Z, strict=True)), default=0.0)
    cut = SHRUNK[-1] if problem.homogeneous.any() else 1.0
    lost = rounding(form.gamma * reach * large * cut, 1) if limit is not None or form.W is not None else 0.0
    if splits:
        lost += form.gamma * reach * (form.below(at.Z, at.R) + short)
    best, provable = (y, bound) if form.flat else (old.dual.best, old.bound)
    near = splits or slack <= MINOR * NEGLIGIBLE + rounding(large, 1)
    if conic.weights is not None:
        lost = 0.0
        proven = log_det_bound(problem, problem.admissible(y)) if near and bound > provable else -math.inf
        if proven > provable:
            best, provable = y, proven
    elif bound > provable and near:
        coarse = not held or lost > SLIGHT * abs(value - bound)  # then S has to be definite entry by entry
        # far from the end, while all goes well, the certificate may prove it
        late = old.since > 0 or old.extras.get("gap", math.inf) <= MINOR
        proven = coarse and late and not (held and splits) and _definite(form, v)
        lost = 0.0 if proven else lost
        if bound - lost > provable and (proven or held):
            best, provable = y, min(bound - lost, value) if definite > 0.0 else bound - lost
        elif not held and not late:
            best = y
    bound = max(bound - lost, provable)
    units = GapUnits(problem, evaluation)
    gap = relative_gap(problem, evaluation, bound, units)
    relative = max(gap, infeasibility, slack)
    # if the optimal value is zero, F and its bound differ in sign: the relative gap stays at one while the gap falls
    width = abs(value - bound) if gap >= max(1.0, infeasibility, slack) else math.inf
    lower, narrower = relative < GAIN * old.least, EPS * old.widest < width < GAIN * old.narrowest
    least = relative if lower else old.least
    # one row may keep a large violation, relative to entries of M that vanish, while all others improve
    off = max(gap, rest, slack)
    nearer_all = off < GAIN * old.least_off
    since = 0 if lower or narrower or nearer_all else old.since + 1
    if since >= patience and outcome is Outcome.RUNNING:
        outcome = Outcome.STALLED
    seen, seen_violation, seen_error, error = old.nearest, old.nearest_violation, old.nearest_error, relative
    if seen is not None and math.isfinite(provable):
        unit = units(provable) or 1.0
        seen_error = max(abs(seen.value - provable) / unit, seen_violation)
        error = max(abs(evaluation.value - provable) / unit, infeasibility)
    nearer = seen is None or not seen_error <= error
    nearest, violation, nearest_error = (
        (evaluation, infeasibility, error) if seen is None or nearer else (seen, seen_violation, seen_error)
    )
    if not nearer and (outcome is Outcome.STALLED or old.anew):
        relative, evaluation, infeasibility = nearest_error, nearest, violation
        value, Y = evaluation.value, evaluation.factor
    scale = stationarity_scale(problem, value, evaluation.size)
    return replace(
        old,
        point=old.geometry.from_factor(Y),
        evaluation=evaluation,
        gradient_norm=2.0 * relative * (scale or 1.0),
        step=step,
        outcome=outcome,
        X=X,
        Z=Z,
        v=v,
        least=least,
        least_off=off if nearer_all else old.least_off,
        narrowest=width if narrower else old.narrowest,
        widest=max(old.widest, width if math.isfinite(width) else 0.0),
        since=since,
        bound=provable,
        nearest=nearest,
        nearest_violation=violation,
        nearest_error=nearest_error,
        dual=Multipliers(y, best, inside=inside),
        refuted=off_dual if refutes else old.refuted,
        fallen=off_primal if falls else old.fallen,
        extras={"infeasibility": infeasibility, "dual_residual": slack, "dual_bound": bound, "gap": gap},
    )


def _definite(form: StandardForm, v: Array) -> bool:
    """Whether C − A*(v) is positive definite beyond rounding; without a bound on tr M, a dual bound needs this."""
    if form.W is None:
        return proven_semidefinite(form.whole, form.multipliers(v))
    return all(part.definite(v) for part in form.parts)


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
