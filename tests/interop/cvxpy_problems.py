"""Small problems in CVXPY's words, each made anew when it is asked for."""

from collections.abc import Callable

import cvxpy as cp
import numpy as np


def symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    A = rng.standard_normal((n, n))
    return (A + A.T) / 2.0


def max_cut(rng: np.random.Generator) -> cp.Problem:
    n = 12
    W = np.triu(rng.random((n, n)), 1)
    W += W.T
    X = cp.Variable((n, n), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace((np.diag(W.sum(1)) - W) @ X) / 4), [cp.diag(X) == 1])


def nearest_correlation(rng: np.random.Generator) -> cp.Problem:
    n = 8
    C = symmetric(rng, n)
    np.fill_diagonal(C, 1.0)
    X = cp.Variable((n, n), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - C)), [cp.diag(X) == 1])


def bounded_correlation(rng: np.random.Generator) -> cp.Problem:
    n = 6
    C, W = symmetric(rng, n), rng.random((n, n)) + 0.5
    X = cp.Variable((n, n), PSD=True)
    fit = cp.sum_squares(cp.multiply(W + W.T, X - C))
    return cp.Problem(cp.Minimize(fit), [cp.diag(X) == 1, X[0, 1] >= 0.1, X[2, 3] <= 0.05])


def theta(rng: np.random.Generator) -> cp.Problem:
    """The 5-cycle with three more vertices: no edge of it is redundant."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 5), (5, 6), (6, 7)]
    X = cp.Variable((8, 8), PSD=True)
    return cp.Problem(cp.Maximize(cp.sum(X)), [cp.trace(X) == 1, *(X[i, j] == 0 for i, j in edges)])


def theta_of_the_complement(rng: np.random.Generator) -> cp.Problem:
    """min t, t I + Σ x_ij E_ij ⪰ J over the edges of the 5-cycle: √5, an inequality between matrices."""
    x, t = cp.Variable(5), cp.Variable()
    E = []
    for k in range(5):
        A = np.zeros((5, 5))
        A[k, (k + 1) % 5] = A[(k + 1) % 5, k] = 1.0
        E.append(A)
    return cp.Problem(cp.Minimize(t), [t * np.eye(5) + sum(x[k] * E[k] for k in range(5)) >> np.ones((5, 5))])


def covariance(rng: np.random.Generator) -> cp.Problem:
    n = 6
    A = rng.standard_normal((n, n))
    S = A @ A.T
    X = cp.Variable((n, n), PSD=True)
    constraints = [cp.trace(X) == 0.5 * np.trace(S), cp.trace(S @ X) >= 1.0, X[0, 0] <= 1]
    return cp.Problem(cp.Minimize(cp.sum_squares(X - S)), constraints)


def matrix_inequality(rng: np.random.Generator) -> cp.Problem:
    x = cp.Variable(4)
    total = sum(x[k] * symmetric(rng, 6) for k in range(4))
    return cp.Problem(
        cp.Minimize(rng.standard_normal(4) @ x), [total + np.eye(6) >> 0, cp.sum(x) == 0.1, x <= 3, x >= -3]
    )


def smallest_eigenvalue(rng: np.random.Generator) -> cp.Problem:
    t = cp.Variable()
    return cp.Problem(cp.Maximize(t), [symmetric(rng, 7) - t * np.eye(7) >> 0])


def largest_eigenvalue(rng: np.random.Generator) -> cp.Problem:
    A = symmetric(rng, 5)
    X = cp.Variable((5, 5), symmetric=True)
    return cp.Problem(cp.Minimize(cp.lambda_max(X)), [X[0, 0] == 1, X[0, 1] == A[0, 1], cp.trace(X) == 2])


def two_matrices_and_scalars(rng: np.random.Generator) -> cp.Problem:
    A = symmetric(rng, 5)
    X, Y = cp.Variable((5, 5), PSD=True), cp.Variable((3, 3), PSD=True)
    t, s = cp.Variable(), cp.Variable(2, nonneg=True)
    cost = cp.trace(A @ X) + cp.sum(Y) + 2 * t + s[0] + 3 * s[1]
    constraints = [
        cp.trace(X) + s[0] == 2, X[0, 1] + Y[0, 1] == 0.3 + t, t >= -1, cp.trace(Y) <= 4, Y[2, 2] >= 0.2 + s[1],
    ]  # fmt: skip
    return cp.Problem(cp.Minimize(cost), constraints)


def nuclear_norm(rng: np.random.Generator) -> cp.Problem:
    A = rng.standard_normal((4, 5))
    X = cp.Variable((4, 5))
    return cp.Problem(cp.Minimize(cp.norm(X, "nuc")), [X[0, :] == A[0, :], X[1, 2] == A[1, 2]])


def quadratic_under_a_matrix_inequality(rng: np.random.Generator) -> cp.Problem:
    x = cp.Variable(3)
    P = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    total = sum(x[k] * symmetric(rng, 5) for k in range(3))
    return cp.Problem(cp.Minimize(cp.sum_squares(x - 3) + cp.quad_form(x, P)), [total + np.eye(5) >> 0])


def frobenius_norm(rng: np.random.Generator) -> cp.Problem:
    """A second-order cone, which CVXPY brings to a PSD one."""
    A = symmetric(rng, 4)
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.norm(X - A, "fro")), [cp.trace(X) == 1])


def squares_beside_a_free_slack(rng: np.random.Generator) -> cp.Problem:
    """Nothing bounds a trace here: of W, or of the slack of the inequality."""
    X, W = cp.Variable((3, 3), PSD=True), cp.Variable((3, 3), symmetric=True)
    fit = cp.sum_squares(X - symmetric(rng, 3)) + cp.trace(W)
    return cp.Problem(cp.Minimize(fit), [W >> X, cp.trace(symmetric(rng, 3) @ X) <= 1])


def zero_is_best(rng: np.random.Generator) -> cp.Problem:
    X = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 1] >= -1, cp.trace(X) <= 2])


def nothing_but_zero(rng: np.random.Generator) -> cp.Problem:
    X = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum(X) + 1), [cp.trace(X) == 0])


def projection(rng: np.random.Generator) -> cp.Problem:
    X = cp.Variable((5, 5), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum_squares(X - symmetric(rng, 5))))


def feasibility(rng: np.random.Generator) -> cp.Problem:
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(0), [cp.trace(X) == 1, X[0, 1] == 0.1])


#: Those with one optimal multiplier for each constraint, which two solvers must then agree on.
UNIQUE: list[Callable[[np.random.Generator], cp.Problem]] = [
    max_cut, nearest_correlation, bounded_correlation, theta_of_the_complement, covariance, matrix_inequality,
    smallest_eigenvalue, largest_eigenvalue, two_matrices_and_scalars, nuclear_norm,
    quadratic_under_a_matrix_inequality,
]  # fmt: skip
QUADRATIC = [
    nearest_correlation, bounded_correlation, covariance, projection, quadratic_under_a_matrix_inequality,
]  # fmt: skip
SOLVABLE = [
    *UNIQUE, theta, frobenius_norm, projection, feasibility, squares_beside_a_free_slack, zero_is_best,
    nothing_but_zero,
]  # fmt: skip


def negative_diagonal() -> cp.Problem:
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == -1])


def entry_too_large() -> cp.Problem:
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum(X)), [cp.diag(X) == 1, X[0, 1] == 2])


def two_traces() -> cp.Problem:
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(cp.sum(X)), [cp.trace(X) == 1, cp.trace(X) == 2])


def matrices_of_both_signs() -> cp.Problem:
    x = cp.Variable(2)
    total = x[0] * np.diag([1, -1, 0, 0]) + x[1] * np.diag([0, 0, 1, 1])
    return cp.Problem(cp.Minimize(x[0]), [total - np.eye(4) >> 0])


def contradicting_scalars() -> cp.Problem:
    X, t = cp.Variable((2, 2), PSD=True), cp.Variable()
    return cp.Problem(cp.Minimize(cp.trace(X)), [t == 1, t == 2])


def falling_trace() -> cp.Problem:
    X = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Minimize(-cp.trace(X)), [X[0, 0] == 1])


def falling_scalar() -> cp.Problem:
    X, t = cp.Variable((3, 3), PSD=True), cp.Variable()
    return cp.Problem(cp.Minimize(cp.trace(X) + t), [cp.trace(X) == 1])


def falling_along_matrices() -> cp.Problem:
    x = cp.Variable(2)
    total = x[0] * np.diag([1, 1, 0, 0]) + x[1] * np.diag([0, 0, 1, 1])
    return cp.Problem(cp.Minimize(-x[0]), [total - np.eye(4) >> 0])


def falling_where_nothing_is_curved() -> cp.Problem:
    """Convex quadratic in one entry, and falling along another."""
    X = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Minimize(cp.square(X[0, 0] - 1) - X[1, 1]), [X[2, 2] == 1, X[0, 1] <= 2])


def contradiction_on_a_face() -> cp.Problem:
    X = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == 0, 2 * X[0, 1] + X[1, 1] == -1])


def falling_without_constraints() -> cp.Problem:
    X = cp.Variable((2, 2), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(np.diag([1.0, -1.0]) @ X)))


INFEASIBLE = [
    negative_diagonal, entry_too_large, two_traces, matrices_of_both_signs, contradicting_scalars,
    contradiction_on_a_face,
]  # fmt: skip
UNBOUNDED = [
    falling_trace, falling_scalar, falling_along_matrices, falling_where_nothing_is_curved,
    falling_without_constraints,
]  # fmt: skip
