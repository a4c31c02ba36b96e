"""The interior point where no bound has to hold: ⟨C, M⟩ and squares of what measurements of M miss their bounds by."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psdopt.certificates.scales import stationarity_scale, unit_on_the_cone
from psdopt.constraints.central_path.interior_steps import Iterate, first_iterate, newton_step
from psdopt.constraints.central_path.semidefinite import Semidefinite
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.constraints.soft import soft_conic
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Outcome, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.tolerances import MINOR, SLIGHT, VANISHED
from psdopt.methods.primal_dual.progress import Progress


@dataclass(kw_only=True)
class SoftState(State):
    """`at`, X, Z and v of the standard form. `careful` : whether steps factor the roots of their systems. `progress` :
    of the largest of mu and the residuals of both equations, and of |F − bound|."""

    form: StandardForm
    at: Iterate
    careful: bool = False
    progress: Progress = Progress()


def begun(problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None) -> SoftState:
    """The state at `start`; the path begins at a multiple of I. Raises IncompatibleError where the entries of the A_t
    are unknown or too many."""
    conic = soft_conic(problem)
    if conic is None:
        raise IncompatibleError(f"{type(problem).__name__} has measurements of unknown entries, or of too many")
    form = StandardForm(conic)
    at = Iterate.of(form, *first_iterate(form), np.zeros(form.m))
    evaluation = evaluation or problem.at(geometry.factor(start))
    return SoftState(problem, geometry, start, evaluation, gradient_norm=math.inf, form=form, at=at)


def stepped(state: SoftState, share: float, patience: int) -> SoftState:
    """The next state; stalled where there is no step, or none that gains within `patience` steps."""
    try:
        with np.errstate(over="raise"):
            last = state.progress.since > 0
            return _moved(state, *newton_step(state.form, state.at, share, state.careful, last), patience)
    except (np.linalg.LinAlgError, FloatingPointError):
        return replace(state, step=0.0, outcome=Outcome.STALLED)


def _moved(state: SoftState, at: Iterate, step: float, careful: bool, patience: int) -> SoftState:
    """The state at `at`. F(X) less the value of v is a gap, up to what C − A*(v) differs from Z.

    It is measured in the geometric mean of F(0) − F and F: F(0) may be 10^4 times F, of which users expect digits too.
    Of an F that vanishes, as where all hinges can be met, it counts down to a share VANISHED of F(0).
    """
    problem, form = state.problem, state.form
    evaluation, bound = problem.at(form.assembled(at.Lx)), form.dual_value(at.v, at.Z)
    unit = unit_on_the_cone(problem, evaluation)
    if abs(evaluation.value - bound) <= SLIGHT * unit:
        evaluation = _shorter(state, at, evaluation, bound)
    slack = at.dual
    unit = math.sqrt(unit * min(unit, max(abs(evaluation.value), VANISHED * unit))) if unit > 0.0 else 0.0
    width = abs(evaluation.value - bound)
    gap = width / unit if unit > 0.0 else math.inf
    relative = gap if slack <= MINOR * NEGLIGIBLE else math.inf
    progress = state.progress.after(max(form.mean_product(at.X, at.Z), slack, at.primal), width)
    scale = stationarity_scale(problem, evaluation.value, evaluation.size)
    geometry = state.geometry
    if geometry.can_grow and geometry.rank != evaluation.factor.shape[1]:
        geometry = geometry.with_rank(evaluation.factor.shape[1])
    return replace(
        state,
        geometry=geometry,
        point=geometry.from_factor(evaluation.factor),
        evaluation=evaluation,
        gradient_norm=2.0 * relative * (scale or 1.0),
        step=step,
        outcome=Outcome.STALLED if step < NEGLIGIBLE or progress.since >= patience else Outcome.RUNNING,
        dual=form.multipliers(at.v),
        at=at,
        careful=careful,
        progress=progress,
        extras={"dual_residual": slack, "gap": gap},
    )


def _shorter(state: SoftState, at: Iterate, whole: Evaluation, bound: float) -> Evaluation:
    """F at few columns for `whole`, the X of `at`, or `whole` itself.

    The eigenvectors whose eigenvalue in X exceeds that in Z come first, as the others vanish at a solution, where X Z =
    0; then twice as many, until the gap is at most doubled.
    """
    form, k = state.form, 1
    roots = [part.root(P) for part, P in zip(form.parts, at.X, strict=True)]
    for part, H, S in zip(form.parts, roots, at.Z, strict=True):
        if isinstance(part, Semidefinite):
            own = np.einsum("kij,kij->kj", H, S @ H) < np.einsum("kij,kij->kj", H, H) ** 2
            k = max(k, int(np.max(np.count_nonzero(own, axis=1))))
    while k < whole.factor.shape[1]:
        pairs = zip(form.parts, roots, strict=True)
        kept = [H[:, :, :k] if isinstance(part, Semidefinite) else H for part, H in pairs]
        there = state.problem.at(form.assembled(kept))
        if there.value - bound <= 2.0 * abs(whole.value - bound):
            return there
        k *= 2
    return whole
