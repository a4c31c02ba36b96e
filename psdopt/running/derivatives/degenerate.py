"""Numbers that show that a stationary point does not move smoothly with the data."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.fit import ModelFit
from psdopt.contracts.constrained_fit import constrained_fit_of
from psdopt.errors import NotDifferentiableError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.definite import factor_above
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, SLIGHT, VANISHED
from psdopt.running.derivatives.conditions import Conditions
from psdopt.running.derivatives.system import AdjointSystem, UnsettledError

#: A residual of Lagrange's conditions that counts as rounding.
SETTLED = 64.0 * EPS


def refuse_degenerate(at: Conditions, columns: int, system: AdjointSystem) -> None:
    """NotDifferentiableError for a rank, multipliers or inequalities that may change, and for a loss at a corner.

    `columns` : those that Y may have, if its rank is limited. Proofs are Cholesky factors, n³/3 and k³/3.
    """
    error = max(at.residual, SETTLED)
    try:
        error = max(error, _error_of_slack(at, system))
    except NotDifferentiableError:
        _check(at, columns, error / MINOR)  # which may know the reason
        raise
    _check(at, columns, error / MINOR)


def _check(at: Conditions, columns: int, known: float) -> None:
    _check_rank(at, columns, known)
    _check_rows(at)
    corner = at.evaluation.corner()
    if corner <= ROOT_EPS:
        text = f"a loss is at a corner of its derivative, at a distance of {corner:.1e} of its data"
        raise NotDifferentiableError(text)


def distances(at: Conditions) -> tuple[Array, Array]:
    """(slack of all constraints beside |A_t| tr M, multipliers that push towards M beside |S|), (m,) each.

    Negative for a violated bound, and for a multiplier of the wrong sign; that of an equation is infinite.
    """
    model = at.model
    assert model is not None
    norms, a = constrained_fit_of(model).norms, model.measured(at.Y)
    slack = np.minimum(a - model.lower, model.upper - a) / (norms * (norm(at.Y) ** 2 or 1.0))
    push = at.multipliers * norms / at.unit
    push = np.where(at.spread(at.bound) == model.upper, push, -push)
    return slack, np.where(model.lower == model.upper, np.inf, push)


def _error_of_slack(at: Conditions, system: AdjointSystem) -> float:
    """The error of S beside |S| from that of the point; NotDifferentiableError where that spoils the derivative.

    The residual of the point, at least 64 eps of |S| |Y|, is put in a fixed direction, as that of the error is not
    known, and the system turns it into errors of Y and S. A thousandfold, for the same reason, they must be less than
    the axes of M and than the eigenvalues of S beyond its range. The derivative has the relative error |dS| |K⁻¹|,
    which is the ratio that was found, not enlarged, and must be at most 1e-7. Also refuses a singular system.
    """
    if at.Y.size == 0:
        return 0.0
    probe, size, left = at.probe, norm(at.Y), max(at.residual, SETTLED)
    X, v = system.solve(probe, np.zeros_like(at.y), accuracy=MINOR)
    norms = at.model.norms[at.rows] if at.model is not None else at.y
    extent = max(norm(X) / size, norm(norms * v) / at.unit)
    if extent == 0.0:
        return 0.0
    advice = "a run with a smaller tol may help"
    share = left * at.unit * size / norm(probe)
    reached = share * norm(at.by_axes(X))
    if reached > MINOR:
        text = f"the rank of M may change with the data: the error of Y is {reached:.1e} of its shortest axes; {advice}"
        raise UnsettledError(text)
    step = ROOT_EPS / extent
    error = norm(at.moved(step * X, step * v).slack - at.slack) * (share / step) / at.unit
    amplified = error * at.unit * norm(X) / norm(probe)
    if amplified > SLIGHT * VANISHED:
        text = f"S is known to {error:.1e} of |S|, and the derivative to {amplified:.1e} of itself only; {advice}"
        raise UnsettledError(text)
    return float(error)


def _check_rank(at: Conditions, columns: int, known: float) -> None:
    """Refuses an M whose rank may change with the data: strict complementarity, and a rank within its limit.

    An eigenvalue of S of at most `known` times |S| counts as 0. One that is negative, yet above −1e-6 |S|, shows a
    rank that is too low rather than one at its limit.
    """
    n, r = at.Y.shape
    if r:
        lengths = np.linalg.svd(at.Y, compute_uv=False) ** 2
        if not lengths[-1] > VANISHED * lengths[0]:
            share = lengths[-1] / lengths[0]
            text = f"the rank of M may change with the data: its eigenvalue {r} is {share:.1e} of the first"
            raise NotDifferentiableError(text)
    if r == n:
        return
    Q = np.linalg.qr(at.Y)[0]
    beyond = at.slack + (at.unit * Q) @ Q.T
    if factor_above(beyond, known * at.unit) is not None:
        return
    values = np.linalg.eigvalsh(beyond) / at.unit
    least = float(values[np.argmin(np.abs(values))])
    if abs(least) <= known:
        raise NotDifferentiableError(
            f"strict complementarity fails: S has an eigenvalue of {least:.1e} of its largest beyond the range of M"
        )
    if columns > r or values[0] > -VANISHED:
        raise UnsettledError(f"M is no minimiser: S has an eigenvalue of {values[0]:.1e} of its largest")


def _check_rows(at: Conditions) -> None:
    """Refuses multipliers that are not unique, and inequalities that neither hold M nor are away from it."""
    model = at.model
    if model is None:
        return
    fit, (slack, push) = constrained_fit_of(model), distances(at)
    free = np.setdiff1d(np.arange(model.m), at.rows)
    for t in free[slack[free] <= VANISHED]:
        raise NotDifferentiableError(
            f"the multiplier of constraint {t} is 0, and so is its slack: {slack[t]:.1e} of |A_t| tr M"
        )
    for t in at.rows[push[at.rows] <= VANISHED]:
        raise NotDifferentiableError(
            f"constraint {t} holds M at its bound with a multiplier of {push[t]:.1e} of |S|, which is 0"
        )
    k = len(at.rows)
    if k == 0:
        return
    gram = np.zeros((k, k))
    assert isinstance(fit, ModelFit)  # made by every Constrained
    fit.coupled(at.rows).add(gram, at.Y @ at.Y.T, np.eye(model.n), fresh=True)
    gram = np.triu(gram) + np.triu(gram, 1).T
    sizes = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
    if not sizes.min() > VANISHED * norm(at.Y):
        t = int(at.rows[np.argmin(sizes)])
        raise NotDifferentiableError(
            f"constraint {t} does not change with Y: |A_t Y| is {sizes.min() / (norm(at.Y) or 1.0):.1e} of |A_t| |Y|"
        )
    gram /= sizes * sizes[:, None]
    if factor_above(gram, VANISHED**2) is None:
        least = max(float(np.linalg.eigvalsh(gram)[0]), 0.0) ** 0.5
        raise NotDifferentiableError(
            f"multipliers are not unique: the matrices A_t Y are dependent, with a singular value of {least:.1e}"
        )
