"""Textbook steps in dense algebra, against which methods are compared step by step."""

import numpy as np


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
