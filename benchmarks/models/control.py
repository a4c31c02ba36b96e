"""Models of control and of robust estimation."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def _stable(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a - (np.max(np.linalg.eigvals(a).real) + 0.5) * np.eye(n)


def lyapunov() -> cp.Problem:
    """Lyapunov inequality with the least trace."""
    a = _stable(5, 1)
    p = cp.Variable((5, 5), symmetric=True)
    return cp.Problem(cp.Minimize(cp.trace(p)), [p >> np.eye(5), a.T @ p + p @ a << -np.eye(5)])


def common_lyapunov() -> cp.Problem:
    """Common Lyapunov function of a polytope of systems, of least condition number."""
    rng = np.random.default_rng(2)
    systems = [-np.eye(4) + 1.5 * np.triu(rng.standard_normal((4, 4)), 1) for _ in range(3)]
    p, bound = cp.Variable((4, 4), symmetric=True), cp.Variable()
    decays = [a.T @ p + p @ a + 0.2 * p << 0 for a in systems]
    return cp.Problem(cp.Minimize(bound), [p >> np.eye(4), p << bound * np.eye(4), *decays])


def h_infinity_norm() -> cp.Problem:
    """H∞ norm by the bounded real lemma."""
    rng = np.random.default_rng(3)
    a, b, c = _stable(4, 3), rng.standard_normal((4, 2)), rng.standard_normal((2, 4))
    p, squared = cp.Variable((4, 4), PSD=True), cp.Variable()
    lemma = cp.bmat([[a.T @ p + p @ a + c.T @ c, p @ b], [b.T @ p, -squared * np.eye(2)]])
    return cp.Problem(cp.Minimize(squared), [(lemma + lemma.T) / 2 << 0])


def state_feedback() -> cp.Problem:
    """Linear quadratic state feedback u = Y Q⁻¹ x by linear matrix inequalities."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((4, 4)), rng.standard_normal((4, 2))
    q, y = cp.Variable((4, 4), symmetric=True), cp.Variable((2, 4))
    effort = cp.Variable((2, 2), symmetric=True)
    closed = a @ q + q @ a.T + b @ y + y.T @ b.T + np.eye(4)
    cost = cp.bmat([[effort, y], [y.T, q]])
    return cp.Problem(cp.Minimize(cp.trace(q) + cp.trace(effort)), [closed << 0, cost >> 0])


def s_procedure() -> cp.Problem:
    """Trust-region problem by the S-procedure: least value of an indefinite quadratic on a ball."""
    rng = np.random.default_rng(5)
    root = rng.standard_normal((5, 5))
    quadratic, linear = (root + root.T) / 2.0, rng.standard_normal((5, 1))
    least, multiplier = cp.Variable((1, 1)), cp.Variable(nonneg=True)
    lifted = cp.bmat([[quadratic + multiplier * np.eye(5), linear], [linear.T, -least - multiplier]])
    return cp.Problem(cp.Maximize(cp.sum(least)), [(lifted + lifted.T) / 2 >> 0])


def moment_bound() -> cp.Problem:
    """Chebyshev bound: largest chance of leaving a polyhedron, with mean and second moment known."""
    second, mean = np.array([[0.5, 0.1], [0.1, 0.4]]), np.array([0.1, -0.1])
    rows = np.array([[1.0, 0.0], [-1.0, 0.3], [0.2, 1.0], [0.1, -1.0]])
    limits = np.array([1.2, 1.4, 1.1, 1.5])
    p, q, r = cp.Variable((2, 2), symmetric=True), cp.Variable((2, 1)), cp.Variable((1, 1))
    constraints = [cp.bmat([[p, q], [q.T, r]]) >> 0]
    for row, limit in zip(rows, limits, strict=True):
        t = cp.Variable(nonneg=True)
        column = row[:, None] / 2.0
        constraints.append(cp.bmat([[p, q - t * column], [(q - t * column).T, r - 1 + t * limit]]) >> 0)
    moments = cp.trace((second + np.outer(mean, mean)) @ p) + 2 * cp.sum(mean @ q) + cp.sum(r)
    return cp.Problem(cp.Minimize(moments), constraints)


def robust_least_squares() -> cp.Problem:
    """Robust least squares under an ellipsoid of perturbations."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((8, 3)), rng.standard_normal(8)
    changes = [0.3 * rng.standard_normal((8, 3)) for _ in range(2)]
    x, t, multiplier = cp.Variable(3), cp.Variable((1, 1)), cp.Variable((1, 1))
    moved = cp.vstack([change @ x for change in changes]).T
    nominal = cp.reshape(a @ x - b, (8, 1), order="F")
    worst = cp.bmat(
        [
            [np.eye(8), moved, nominal],
            [moved.T, cp.kron(multiplier, np.eye(2)), np.zeros((2, 1))],
            [nominal.T, np.zeros((1, 2)), t],
        ]
    )
    return cp.Problem(cp.Minimize(cp.sum(t + multiplier)), [(worst + worst.T) / 2 >> 0])


def spectral_fit() -> cp.Problem:
    """Least spectral norm of an affine family of matrices."""
    rng = np.random.default_rng(7)
    first, others = rng.standard_normal((6, 5)), rng.standard_normal((4, 6, 5))
    x = cp.Variable(4)
    return cp.Problem(cp.Minimize(cp.sigma_max(first + sum(x[k] * others[k] for k in range(4)))))
