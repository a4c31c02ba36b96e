"""Relaxations of combinatorial problems, and of polynomials."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np


def _weights(n: int, density: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < density, 1) * rng.integers(1, 5, (n, n))
    return (upper + upper.T).astype(float)


def _cut(weights: np.ndarray, x: cp.Variable) -> cp.Expression:
    return cp.trace((np.diag(np.sum(weights, axis=0)) - weights) @ x) / 4


def max_cut() -> cp.Problem:
    """Goemans–Williamson relaxation of the largest cut."""
    x = cp.Variable((15, 15), PSD=True)
    return cp.Problem(cp.Maximize(_cut(_weights(15, 0.4, 1), x)), [cp.diag(x) == 1])


def max_cut_triangles() -> cp.Problem:
    """Relaxation of the largest cut with all triangle inequalities."""
    x, triangles = cp.Variable((7, 7), PSD=True), []
    for i, j, k in combinations(range(7), 3):
        triangles += [x[i, j] + x[i, k] + x[j, k] >= -1, x[i, j] - x[i, k] - x[j, k] >= -1]
        triangles += [x[i, k] - x[i, j] - x[j, k] >= -1, x[j, k] - x[i, j] - x[i, k] >= -1]
    return cp.Problem(cp.Maximize(_cut(_weights(7, 0.8, 2), x)), [cp.diag(x) == 1, *triangles])


def theta_prime() -> cp.Problem:
    """Schrijver's θ′: the Lovász number with nonnegative entries."""
    edges = _weights(9, 0.4, 3) > 0
    x = cp.Variable((9, 9), PSD=True)
    apart = [x[i, j] == 0 for i, j in combinations(range(9), 2) if edges[i, j]]
    return cp.Problem(cp.Maximize(cp.sum(x)), [cp.trace(x) == 1, x >= 0, *apart])


def lifted_binary() -> cp.Problem:
    """Lifted binary quadratic program, with the products of the bounds 0 ≤ x ≤ 1."""
    rng = np.random.default_rng(4)
    q = rng.integers(-5, 6, (7, 7)).astype(float)
    q = (q + q.T) / 2.0
    lifted = cp.Variable((8, 8), PSD=True)
    x, product = lifted[:7, 7:], lifted[:7, :7]
    ones = np.ones((1, 7))
    constraints = [lifted[7, 7] == 1, cp.diag(product) == x[:, 0], product >= 0, product <= x @ ones]
    return cp.Problem(cp.Minimize(cp.trace(q @ product)), [*constraints, product >= x @ ones + ones.T @ x.T - 1])


def sum_of_squares() -> cp.Problem:
    """Least value of a polynomial of one variable by a sum of squares."""
    coefficients = np.array([0.0, 1.0, -4.0, 1.0, -2.0, 0.5, 1.0])
    gram, least = cp.Variable((4, 4), PSD=True), cp.Variable()
    constraints = []
    for degree, value in enumerate(coefficients):
        entries = sum(gram[i, degree - i] for i in range(4) if 0 <= degree - i < 4)
        constraints.append(entries == (value - least if degree == 0 else value))
    return cp.Problem(cp.Maximize(least), constraints)


def sum_of_squares_of_two() -> cp.Problem:
    """Least value of a polynomial of two variables by a sum of squares: the six-hump camel."""
    monomials = [(i, j) for i in range(4) for j in range(4 - i)]
    camel = {(2, 0): 4.0, (4, 0): -2.1, (6, 0): 1.0 / 3.0, (1, 1): 1.0, (0, 2): -4.0, (0, 4): 4.0}
    gram, least, sums = cp.Variable((10, 10), PSD=True), cp.Variable(), {}
    for r, (i, j) in enumerate(monomials):
        for s, (k, m) in enumerate(monomials):
            sums.setdefault((i + k, j + m), []).append(gram[r, s])
    constraints = [
        sum(entries) == camel.get(degrees, 0.0) - (least if degrees == (0, 0) else 0.0)
        for degrees, entries in sums.items()
    ]
    return cp.Problem(cp.Maximize(least), constraints)


def moment_relaxation() -> cp.Problem:
    """Lasserre's moment relaxation of second order: a quadratic on the unit disc cut by a half-plane."""
    monomials = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    degrees = [(i, j) for i in range(5) for j in range(5 - i)]
    place = {degree: k for k, degree in enumerate(degrees)}
    y = cp.Variable(len(degrees))

    def localising(terms: dict[tuple[int, int], float], size: int) -> cp.Expression:
        return cp.bmat(
            [
                [sum(c * y[place[p[0] + q[0] + i, p[1] + q[1] + j]] for (i, j), c in terms.items()) for q in some]
                for some in [monomials[:size]]
                for p in some
            ]
        )

    disc = localising({(0, 0): 1.0, (2, 0): -1.0, (0, 2): -1.0}, 3)
    half = localising({(0, 0): 0.4, (1, 0): -1.0, (0, 1): -0.5}, 3)
    aim = -2.0 * y[place[2, 0]] + 3.0 * y[place[1, 1]] - y[place[0, 2]] + 0.5 * y[place[1, 0]]
    sets = [localising({(0, 0): 1.0}, 6) >> 0, disc >> 0, half >> 0]
    return cp.Problem(cp.Minimize(aim), [y[0] == 1, *sets])
