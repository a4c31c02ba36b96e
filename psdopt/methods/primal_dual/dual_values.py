"""Dual values that the multipliers of a primal-dual iterate prove, or nearly prove, at the cost of a step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psdopt.certificates.constrained.best_bound import SHRUNK
from psdopt.certificates.constrained.definite_slack import proven_semidefinite
from psdopt.certificates.constrained.log_det_bound import log_det_bound
from psdopt.constraints.central_path.interior_steps import Iterate
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.constraints.problem import Constrained
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import MINOR, SLIGHT, rounding


class Proven(NamedTuple):
    """The largest dual value that was proven in a run, and the multipliers y (m,) that proved it."""

    bound: float = -math.inf
    y: Array | None = None


class Inexact(NamedTuple):
    """C = A*(v) + Z holds in the limit only; no eigenvalue of Z is below −`short`."""

    short: float = 0.0


class Reach(NamedTuple):
    """`trace` : what tr M counts for in a bound; `held` : whether matrices of a larger trace are known to be no better;
    `capped` : whether F of these exceeds its value here, so that no bound is above that."""

    trace: float
    held: bool
    capped: bool


def dual_value(
    problem: Constrained,
    form: StandardForm,
    at: Iterate,
    evaluation: Evaluation,
    before: Proven,
    late: bool,
    inexact: Inexact | None = None,
) -> tuple[float, Proven]:
    """The dual value of `at` less its rounding, or the largest proven one, and the latter.

    Where no bound on tr M is known, S = C + A*(y) proves one only if it is definite entry by entry. That is looked at
    once the run is `late`, as all goes well before; until then the multipliers are handed on without a proof.
    """
    y, bound = form.multipliers(at.v), form.dual_value(at.v, at.Z)
    large = max((part.largest(S) for part, S in zip(form.parts, at.Z, strict=True)), default=0.0)
    near = inexact is not None or at.dual <= MINOR * NEGLIGIBLE + rounding(large, 1)
    better = near and bound > before.bound
    if problem.central is not None and problem.central.weights is not None:
        proven = log_det_bound(problem, problem.admissible(y)) if better else -math.inf
        found = Proven(proven, y) if proven > before.bound else before
        return max(bound, found.bound), found
    reach = _reach(problem, form, evaluation, inexact is not None)
    lost = _lost(problem, form, at, reach.trace, large, inexact)
    if not better:
        return max(bound - lost, before.bound), before
    value, found = evaluation.value, before
    coarse = not reach.held or lost > SLIGHT * abs(value - bound)
    definite = coarse and late and not (reach.held and inexact is not None) and _definite(form, at.v)
    lost = 0.0 if definite else lost
    if bound - lost > before.bound and (definite or reach.held):
        found = Proven(min(bound - lost, value) if reach.capped else bound - lost, y)
    elif not reach.held and not late:
        found = before._replace(y=y)
    return max(bound - lost, found.bound), found


def _reach(problem: Constrained, form: StandardForm, evaluation: Evaluation, inexact: bool) -> Reach:
    """That of the bound on tr M, of the part of C that is definite, or of M itself."""
    trace, limit = evaluation.size**2, problem.trace_limit
    part = problem.definite_part if inexact and limit is None and form.W is None else 0.0
    reach = trace if limit is None else limit.value
    if part > 0.0 and problem.central is not None:
        reach = max(evaluation.value - problem.central.constant, 0.0) / part
    if form.units is not None:  # the same multiple of the trace in the units of the form
        reach *= form.trace(evaluation.factor) / trace if trace > 0.0 else float(np.max(form.units**-2.0))
    return Reach(reach, limit is not None or part > 0.0, part > 0.0)


def _lost(
    problem: Constrained, form: StandardForm, at: Iterate, trace: float, large: float, inexact: Inexact | None
) -> float:
    """What the bound loses to the rounding of S, which grows with the multipliers, and where Z is not S."""
    cut = SHRUNK[-1] if problem.homogeneous.any() else 1.0
    rounded = problem.trace_limit is not None or form.W is None
    lost = rounding(form.gamma * trace * large * cut, 1) if rounded else 0.0
    return lost if inexact is None else lost + form.gamma * trace * (form.below(at.Z, at.R) + inexact.short)


def _definite(form: StandardForm, v: Array) -> bool:
    """Whether C − A*(v) is positive definite beyond rounding; without a bound on tr M, a dual bound needs this."""
    if form.W is None:
        return proven_semidefinite(form.whole, form.multipliers(v))
    return all(part.definite(v) for part in form.parts)
