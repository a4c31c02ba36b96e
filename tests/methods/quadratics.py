"""Small quadratic problems on which update rules are compared with textbook steps in dense algebra."""

import numpy as np

from psdopt import FlatQuotient, Outcome, QuadraticSDP

from ..instances import psd

N = 12


def residual_after(method, steps, condition=10.0):
    """|gradient| / |first gradient| on F = tr(Yᵀ C Y), a pure quadratic in Y."""
    rng = np.random.default_rng(0)
    problem = QuadraticSDP(C=psd(rng, N, condition=condition))
    geometry = FlatQuotient(N, 1)
    state = method.init(problem, geometry, rng.standard_normal((N, 1)))
    first = state.gradient_norm
    for _ in range(steps):
        if state.outcome is not Outcome.RUNNING:
            break
        state = method.step(state)
    return state.gradient_norm / first


def dense_quadratic(rng, n, condition=20.0):
    """(A, B, C) of F = ⟨A M A, M⟩ + ⟨B, M²⟩ + 2 ⟨C, M⟩ with a negative eigenvalue of C, dense."""
    A = rng.standard_normal((n, n)) * np.geomspace(1.0, condition**-0.25, n)
    C = rng.standard_normal((n, n))
    return A @ A.T / n, 0.3 * np.eye(n), 0.5 * (C + C.T) - 0.5 * np.eye(n)


def quadratic_value(data, Y):
    A, B, C = data
    M = Y @ Y.T
    return float(np.sum((A @ M @ A) * M) + np.sum(B * (M @ M)) + 2.0 * np.sum(C * M))


def quadratic_gradient(data, Y):
    """2 S Y."""
    A, B, C = data
    M = Y @ Y.T
    return 2.0 * (2.0 * A @ M @ A + B @ M + M @ B + 2.0 * C) @ Y


def exact_step(value, Y, D):
    """The mu > 0 of least F(Y + mu D), F of degree 2 in M: a quartic, from its values at five points."""
    scale = np.linalg.norm(Y) / np.linalg.norm(D)
    at = scale * np.arange(-2.0, 3.0)
    quartic = np.polynomial.Polynomial.fit(at, [value(Y + mu * D) for mu in at], 4)
    roots = quartic.deriv().roots()
    found = roots[np.abs(roots.imag) < 1e-8 * np.abs(roots)].real
    return min(found[found > 0.0], key=quartic)
