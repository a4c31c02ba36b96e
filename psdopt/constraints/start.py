"""The first penalty of an augmented Lagrangian: how large multipliers are, over how large the bounds are."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from psdopt.capability import Ability
from psdopt.constraints.model import ConstrainedModel
from psdopt.images import Images
from psdopt.linalg.arrays import norm
from psdopt.problem import Evaluation
from psdopt.terms.base import combine

#: The first penalty of an augmented Lagrangian is at least so many times the curvature of F.
STIFF = 30.0
#: Steps of LSQR: the size of the multipliers is wanted, not the multipliers.
STEPS = 10


def first_multipliers(problem: ConstrainedModel, evaluation: Evaluation) -> tuple[float, float]:
    """(sigma, size): size is |y| in units of 1/|A_t| for the y that makes |(∇F + A*(y)) Y| small, sigma size over |b|.

    Both scale as they should with F, with M and with each constraint. Cost: a few passes over the constraints.
    """
    Y, measurement = evaluation.factor, problem.measurement
    images = Images(measurement.maps, Y)
    scale = 1.0 / np.where(problem.norms > 0.0, problem.norms, 1.0)

    def pull(x: np.ndarray) -> np.ndarray:
        return combine(measurement.adjoint(scale * x.ravel(), images), Y.shape).ravel()

    def push(D: np.ndarray) -> np.ndarray:
        return scale * measurement.pair(images, Images(measurement.maps, D.reshape(Y.shape)))

    A = LinearOperator((Y.size, problem.m), matvec=pull, rmatvec=push, dtype=np.float64)
    GY = np.asarray(evaluation.gradient @ Y)
    x = lsqr(A, -GY.ravel(), iter_lim=STEPS)[0]
    size = norm(x)
    a = problem.measured(Y)
    bounds = norm(scale * np.clip(a, problem.lower, problem.upper)) or norm(scale * a)
    if not (size > 0.0 and bounds > 0.0):
        size = size or norm(GY) / max(norm(Y), np.finfo(float).tiny) or 1.0
        bounds = bounds or 1.0
    return size / bounds, size


def stiff_penalty(problem: ConstrainedModel, evaluation: Evaluation) -> float:
    """30 F'' along a random v vᵀ of length one, for a quadratic F of single entries; else 0. One product of the maps.

    Multipliers of a curved F are its change under a change of the bounds. With a penalty sigma a round of an augmented
    Lagrangian leaves F''/(F'' + sigma) of the infeasibility. Of another F one direction may be far
    stiffer than all that matter.
    """
    known = problem.objective_by_entries if Ability.QUADRATIC in problem.problem.abilities else None
    if known is None or known.forms is None or np.any(np.diff(known.forms.B.indptr) > 1):
        return 0.0
    v = np.random.default_rng(0).standard_normal(problem.n)
    _, H = evaluation.along_atom(v / norm(v)).derivatives(1.0, 0.0)
    bend = float(H[1, 1])
    return STIFF * max(0.0, bend) if np.isfinite(bend) else 0.0
