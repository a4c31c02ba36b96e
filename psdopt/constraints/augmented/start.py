"""The first penalty of an augmented Lagrangian: the size of the multipliers over the size of the bounds."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.feasible import moved_measurements
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.abilities import Ability
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import beside, norm
from psdopt.linalg.least_squares import lsqr
from psdopt.linalg.tolerances import ROOT_EPS
from psdopt.problems.term_sum import TermSum
from psdopt.terms.measured import MeasuredTerm

#: The first penalty of an augmented Lagrangian is at least this many times the curvature of F.
STIFF = 30.0
#: Steps of LSQR. Few are enough, as only the size of the multipliers is used.
LSQR_STEPS = 10


def first_multipliers(problem: ConstrainedModel, evaluation: Evaluation) -> tuple[float, float]:
    """(sigma, size): the y that makes |(∇F + A*(y)) Y| small has size |y|, in units of 1/|A_t|; sigma = size / |b|.

    Both numbers follow the scales of F, of M and of each constraint. Where ∇F(M) Y is 0 up to rounding, |∇F(M) v| of a
    random unit v takes the place of |y|. Cost: a few passes over the constraints.
    """
    Y, scale = evaluation.factor, problem.scale
    GY = evaluation.gradient @ Y
    v = np.random.default_rng(0).standard_normal((problem.n, 1))
    typical = float(norm(evaluation.gradient @ beside(v / norm(v), Y)))
    if not float(norm(GY)) > ROOT_EPS * typical * float(norm(Y)):
        size = typical
    else:
        push, pull = moved_measurements(problem.measurement, Y, scale)
        size = float(norm(lsqr(pull, push, -GY, LSQR_STEPS)))
    a = problem.measured(Y)
    bounds = norm(scale * problem.allowed.nearest(a)) or norm(scale * a)
    if not (size > 0.0 and bounds > 0.0):
        size = size or float(norm(GY)) / max(float(norm(Y)), np.finfo(float).tiny) or 1.0
        bounds = bounds or 1.0
    return size / bounds, size


def stiff_penalty(problem: ConstrainedModel) -> float:
    """30 F'' along a random v vᵀ of length one, for a quadratic F of entries; 0 for other F. O(entries of F's A_t).

    A round of an augmented Lagrangian with penalty sigma leaves F''/(F'' + sigma) of the infeasibility. A single
    measurement of F may be far stiffer than those that matter, so its share is capped at the share of all others
    together.
    """
    F = problem.problem
    known = problem.objective_by_entries if Ability.QUADRATIC in F.abilities else None
    if known is None or known.forms is None or not isinstance(F, TermSum):
        return 0.0
    measured = [term for term in F.terms if isinstance(term, MeasuredTerm)]
    c = np.concatenate([term.weight * term.loss.second(np.zeros(term.measurement.size)) for term in measured])
    v = np.random.default_rng(0).standard_normal((problem.n, 1))
    images = Images((), v / norm(v))
    shares = np.sort(c * known.forms.pair(images, images) ** 2)
    others = float(shares[:-1].sum())
    bend = others + min(float(shares[-1]), others)
    return STIFF * max(0.0, bend) if np.isfinite(bend) else 0.0
