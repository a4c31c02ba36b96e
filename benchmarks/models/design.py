"""Models of the design of experiments, structures, ellipsoids, chains and channels."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

PENTAGON = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (1, 4)]


def _information(shares: cp.Variable, seed: int) -> cp.Expression:
    rows = np.random.default_rng(seed).standard_normal((shares.size, 4))
    return rows.T @ cp.diag(shares) @ rows


def a_optimal_design() -> cp.Problem:
    """A-optimal design: least trace of the inverse information."""
    shares = cp.Variable(12, nonneg=True)
    return cp.Problem(cp.Minimize(cp.tr_inv(_information(shares, 1))), [cp.sum(shares) == 1])


def d_optimal_design() -> cp.Problem:
    """D-optimal design: largest determinant of the information."""
    shares = cp.Variable(12, nonneg=True)
    return cp.Problem(cp.Maximize(cp.log_det(_information(shares, 2))), [cp.sum(shares) == 1])


def e_optimal_design() -> cp.Problem:
    """E-optimal design: largest least eigenvalue of the information."""
    shares = cp.Variable(12, nonneg=True)
    return cp.Problem(cp.Maximize(cp.lambda_min(_information(shares, 3))), [cp.sum(shares) == 1])


def truss() -> cp.Problem:
    """Truss topology: least compliance at a given volume."""
    nodes = np.array([(x, y) for x in range(3) for y in range(2)], dtype=float)
    free = [k for k in range(len(nodes)) if nodes[k, 0] > 0.0]
    bars = [(i, j) for i in range(6) for j in range(i) if nodes[i, 0] > 0.0 or nodes[j, 0] > 0.0]
    lengths, directions = [], []
    for i, j in bars:
        way = nodes[i] - nodes[j]
        lengths.append(np.linalg.norm(way))
        column = np.zeros((6, 2))
        column[i], column[j] = way / lengths[-1], -way / lengths[-1]
        directions.append(column[free].ravel() / np.sqrt(lengths[-1]))
    b, load = np.array(directions).T, np.zeros(2 * len(free))
    load[2 * free.index(4) + 1] = -1.0
    areas, compliance = cp.Variable(len(bars), nonneg=True), cp.Variable((1, 1))
    stiffness = b @ cp.diag(areas) @ b.T
    force = load[:, None]
    equilibrium = cp.bmat([[compliance, force.T], [force, stiffness]]) >> 0
    return cp.Problem(cp.Minimize(cp.sum(compliance)), [equilibrium, np.array(lengths) @ areas <= 10.0])


def smallest_ellipsoid() -> cp.Problem:
    """Löwner–John ellipsoid: the smallest one around given points."""
    points = np.random.default_rng(4).standard_normal((15, 3))
    a, b = cp.Variable((3, 3), PSD=True), cp.Variable(3)
    return cp.Problem(cp.Maximize(cp.log_det(a)), [cp.norm(a @ point + b) <= 1 for point in points])


def largest_ellipsoid() -> cp.Problem:
    """Largest ellipsoid within a polyhedron."""
    rows = np.random.default_rng(5).standard_normal((12, 3))
    b, d = cp.Variable((3, 3), PSD=True), cp.Variable(3)
    rows = np.vstack([rows, np.eye(3), -np.eye(3)])
    return cp.Problem(cp.Maximize(cp.log_det(b)), [cp.norm(b @ row) + row @ d <= 1 for row in rows])


def ellipsoid_intersection() -> cp.Problem:
    """Largest ellipsoid within an intersection of ellipsoids, by the S-procedure."""
    rng = np.random.default_rng(6)
    b, d, constraints = cp.Variable((2, 2), PSD=True), cp.Variable((2, 1)), []
    for _ in range(3):
        root = rng.standard_normal((2, 2))
        shape, centre = root @ root.T + 0.5 * np.eye(2), 0.3 * rng.standard_normal((2, 1))
        t = cp.Variable((1, 1))
        gap = cp.bmat(
            [
                [1 - t, np.zeros((1, 2)), (d - centre).T],
                [np.zeros((2, 1)), cp.kron(t, np.eye(2)), b],
                [d - centre, b, shape],
            ]
        )
        constraints.append((gap + gap.T) / 2 >> 0)
    return cp.Problem(cp.Maximize(cp.log_det(b)), constraints)


def ellipsoid_least_axes() -> cp.Problem:
    """Ellipsoid around given points with the least sum of squared axes."""
    points = np.random.default_rng(7).standard_normal((10, 3))
    shape, centre = cp.Variable((3, 3), symmetric=True), cp.Variable((3, 1))
    ways = [point[:, None] - centre for point in points]
    around = [cp.bmat([[shape, way], [way.T, np.ones((1, 1))]]) >> 0 for way in ways]
    return cp.Problem(cp.Minimize(cp.trace(shape)), around)


def fastest_mixing_chain() -> cp.Problem:
    """Fastest mixing symmetric Markov chain on a graph."""
    p = cp.Variable((5, 5), symmetric=True)
    near = np.eye(5)
    for i, j in PENTAGON:
        near[i, j] = near[j, i] = 1.0
    constraints = [cp.sum(p, axis=1) == 1, p >= 0, cp.multiply(1.0 - near, p) == 0]
    return cp.Problem(cp.Minimize(cp.norm(p - np.full((5, 5), 0.2), 2)), constraints)


def fastest_averaging() -> cp.Problem:
    """Fastest distributed averaging: edge weights of either sign."""
    incidence = np.zeros((5, len(PENTAGON)))
    for k, (i, j) in enumerate(PENTAGON):
        incidence[i, k], incidence[j, k] = 1.0, -1.0
    weights, rate = cp.Variable(len(PENTAGON)), cp.Variable()
    step = np.eye(5) - incidence @ cp.diag(weights) @ incidence.T - np.full((5, 5), 0.2)
    return cp.Problem(cp.Minimize(rate), [step << rate * np.eye(5), step >> -rate * np.eye(5)])


def condition_number() -> cp.Problem:
    """Least condition number of AᵀDA over diagonal D."""
    a = np.random.default_rng(8).standard_normal((8, 4)) * np.geomspace(1.0, 8.0, 8)[:, None]
    scale, bound = cp.Variable(8, nonneg=True), cp.Variable()
    scaled = a.T @ cp.diag(scale) @ a
    return cp.Problem(cp.Minimize(bound), [scaled >> np.eye(4), scaled << bound * np.eye(4)])


def channel_capacity() -> cp.Problem:
    """Capacity of a Gaussian channel with several antennas at bounded power."""
    h = np.random.default_rng(9).standard_normal((3, 4))
    q = cp.Variable((4, 4), PSD=True)
    return cp.Problem(cp.Maximize(cp.log_det(np.eye(3) + h @ q @ h.T)), [cp.trace(q) <= 2])
