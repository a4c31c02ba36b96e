"""Preconditioners of the system of derivatives: simpler curvatures of F, with which it is solved exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.constrained_fit import constrained_fit_of
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import PROBES, SPECTRUM_ORDER
from psdopt.linalg.tolerances import MINOR, ROOT_EPS
from psdopt.methods.lagrange_newton.system import damped_inverse
from psdopt.running.derivatives.conditions import Conditions
from psdopt.running.derivatives.multiplier_system import MultiplierSystem
from psdopt.running.derivatives.spectral import Spectral, curvature
from psdopt.running.derivatives.system import ACCURACY, AdjointSystem, Inverse


def system_at(at: Conditions, near: AdjointSystem | None = None) -> AdjointSystem:
    """The system at a point, with the preconditioner that suits the problem.

    Under constraints the system of the multipliers where the curvature of F is a multiple of I, else :func:`tied`;
    without constraints the fastest of several. What the system `near` this point has serves again where it can.
    """
    if at.Y.size == 0:  # M = 0
        return AdjointSystem(at, lambda at: lambda R, q: (R, q))
    if at.model is None:
        return fastest(at, candidates(at)) if near is None else AdjointSystem(at, near.make)
    if at.model.conic is None and curvature(at)[1]:
        system = MultiplierSystem(at, Spectral, tied, near.weigh if isinstance(near, MultiplierSystem) else None)
        if system.inverse.exact:
            return system
    return AdjointSystem(at, tied)


def candidates(at: Conditions) -> Iterator[Callable[[Conditions], Inverse]]:
    """Preconditioners for an F without constraints, as functions of the conditions."""
    if Ability.DIAGONAL_FORM in at.problem.abilities:
        form: Any = offered(at.problem, Ability.DIAGONAL_FORM, "psdopt.problems.diagonal_form.DiagonalForm")
        inverse = form.basis / np.sum(form.basis**2, axis=0)
        yield partial(Spectral, C=np.linalg.cholesky(inverse @ inverse.T))
    yield Spectral
    for each in at.evaluation.curvatures():
        if each.root is not None:
            yield partial(Spectral, C=each.root)
    if Ability.PRECONDITIONER in at.problem.abilities:
        yield own


def own(at: Conditions) -> Inverse:
    """The preconditioner of the problem itself."""
    apply = at.evaluation.preconditioner()
    return lambda R, q: (apply(R), q)


def tied(at: Conditions) -> Inverse:
    """The system with a multiple of I for ∇²F and the d_j of :class:`Spectral` in steps; for a linear F
    :func:`deflated`. Exact but for that."""
    held, k, Y = constrained_fit_of(at.problem).tied(at.evaluation, at.rows), len(at.rows), at.Y
    linear = at.model is not None and at.model.conic is not None
    inverse, (first, *more) = deflated(at) if linear else Spectral(at).stepped()
    weigh = held.solver(*first, np.empty((k, k)), *more)

    def apply(R: Array, q: Array) -> tuple[Array, Array]:
        X, _ = inverse(R, q)
        v = weigh(0.5 * q + at.values(Y, X))
        return X - inverse(at.force(v, Y), q)[0], v

    return apply


def deflated(at: Conditions) -> tuple[Inverse, list[tuple[Array, Array]]]:
    """X ↦ G X and the pair Y Yᵀ, G, where G is the inverse of S beyond the range of Y and 1/δ on it, δ = √eps |S|.

    S maps the range to 0. With δ in place of that zero a solution is wrong by δ/|S| in the range, and by eps |S|/δ
    from rounding. For an orthonormal basis Q of the range G is the inverse of S + |S| Q Qᵀ + δ I and a multiple of
    Q Qᵀ; where this is not definite, as S has negative eigenvalues at a point that is not polished, δ is larger.
    n³ flops; 2 n² r a use.
    """
    Q, delta = np.linalg.qr(at.Y)[0], ROOT_EPS * at.unit
    P = Q @ Q.T
    _, G = damped_inverse(at.slack + at.unit * P, delta)
    G += (1.0 / delta - 1.0 / at.unit) * P
    # for few columns in half the time of the product from the left
    return lambda R, q: ((R.T @ G).T, q), [(at.Y @ at.Y.T, G)]


def fastest(at: Conditions, found: Iterator[Callable[[Conditions], Inverse]]) -> AdjointSystem:
    """The first preconditioner that solves for a fixed right-hand side in a few steps, or the best of all.

    :func:`assembled` where the best needs more steps for one derivative than that has unknowns.
    """
    R, q, best, least = at.horizontal(at.probe), np.zeros_like(at.y), None, np.inf
    for make in found:
        system = AdjointSystem(at, make)
        X, _ = system.corrected(R, q, MINOR, PROBES)
        left = norm(at.horizontal(R - at.product(X))) / norm(R)
        if best is None or left < least:
            best, least = system, left
        if left <= MINOR:
            break
    assert best is not None
    rate = min(least, 1.0) ** (1.0 / PROBES)
    if at.Y.size <= SPECTRUM_ORDER and rate**at.Y.size > ACCURACY:
        return AdjointSystem(at, assembled)
    return best


def assembled(at: Conditions) -> Inverse:
    """The matrix of the system, from n r products, factorised."""
    K = np.empty((at.Y.size, at.Y.size))
    for row, unit in zip(K, np.eye(at.Y.size), strict=True):
        E = unit.reshape(at.Y.shape)
        level = at.horizontal(E)
        row[:] = (at.horizontal(at.product(level)) + at.unit * (E - level)).ravel()
    factor = scipy.linalg.lu_factor(0.5 * (K + K.T), overwrite_a=True)
    return lambda R, q: (scipy.linalg.lu_solve(factor, R.ravel()).reshape(R.shape), q)
