"""Models of quantum information, signals, power and networks."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np


def _complex(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def _state(n: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    root = _complex(rng, n, rank)
    rho = root @ root.conj().T
    return rho / np.trace(rho).real


def phase_lift() -> cp.Problem:
    """PhaseLift: a signal from magnitudes, by the least trace."""
    rng = np.random.default_rng(1)
    signal, rows = _complex(rng, 5), _complex(rng, 24, 5)
    x = cp.Variable((5, 5), hermitian=True)
    seen = [cp.real(cp.trace(np.outer(a, a.conj()) @ x)) == abs(a.conj() @ signal) ** 2 for a in rows]
    return cp.Problem(cp.Minimize(cp.real(cp.trace(x))), [x >> 0, *seen])


def _effects(n: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [_state(n, 1, rng) for _ in range(count)]


def tomography_squares() -> cp.Problem:
    """Quantum state tomography by least squares."""
    rng = np.random.default_rng(2)
    effects, truth = _effects(4, 20, rng), _state(4, 1, rng)
    seen = np.array([np.trace(e @ truth).real for e in effects]) + 0.05 * rng.standard_normal(20)
    rho = cp.Variable((4, 4), hermitian=True)
    predicted = cp.hstack([cp.real(cp.trace(e @ rho)) for e in effects])
    return cp.Problem(cp.Minimize(cp.sum_squares(predicted - seen)), [rho >> 0, cp.real(cp.trace(rho)) == 1])


def tomography_likelihood() -> cp.Problem:
    """Quantum state tomography by maximum likelihood."""
    rng = np.random.default_rng(3)
    effects, truth = _effects(3, 12, rng), _state(3, 2, rng)
    counts = rng.poisson([100.0 * np.trace(e @ truth).real for e in effects])
    rho = cp.Variable((3, 3), hermitian=True)
    predicted = cp.hstack([cp.real(cp.trace(e @ rho)) for e in effects])
    return cp.Problem(cp.Maximize(counts @ cp.log(predicted)), [rho >> 0, cp.real(cp.trace(rho)) == 1])


def beamforming() -> cp.Problem:
    """Multicast beamforming: least power that reaches every receiver, relaxed."""
    channels = _complex(np.random.default_rng(4), 8, 4)
    x = cp.Variable((4, 4), hermitian=True)
    reached = [cp.real(cp.trace(np.outer(h, h.conj()) @ x)) >= 1 for h in channels]
    return cp.Problem(cp.Minimize(cp.real(cp.trace(x))), [x >> 0, *reached])


def diamond_norm() -> cp.Problem:
    """Diamond norm of the difference of two channels of a qubit."""
    rng = np.random.default_rng(5)
    choi = np.zeros((4, 4), dtype=complex)
    for sign in (1.0, -1.0):
        isometry = np.linalg.qr(_complex(rng, 4, 2))[0].reshape(2, 2, 2)  # output, environment, input
        vectors = isometry.transpose(1, 0, 2).reshape(2, 4)
        choi += sign * vectors.T @ vectors.conj()
    first, second = cp.Variable((4, 4), hermitian=True), cp.Variable((4, 4), hermitian=True)
    larger = [cp.lambda_max(cp.partial_trace(each, (2, 2), 0)) for each in (first, second)]
    dominated = cp.bmat([[first, -choi], [-choi.conj().T, second]]) >> 0
    return cp.Problem(cp.Minimize(sum(larger) / 2), [dominated])


def largest_entropy() -> cp.Problem:
    """State of largest von Neumann entropy with given expectations."""
    rho = cp.Variable((3, 3), PSD=True)
    observable = np.diag([1.0, 0.0, -1.0]) + 0.3 * (np.ones((3, 3)) - np.eye(3))
    expected = [cp.trace(rho) == 1, cp.trace(observable @ rho) == 0.5]
    return cp.Problem(cp.Maximize(cp.von_neumann_entr(rho)), expected)


def optimal_power_flow() -> cp.Problem:
    """Optimal power flow of a ring of five buses, relaxed to W = VVᴴ."""
    lines = [(0, 1, 0.02, 0.10), (1, 2, 0.03, 0.12), (2, 3, 0.02, 0.09), (3, 4, 0.04, 0.15), (4, 0, 0.03, 0.11)]
    admittance = np.zeros((5, 5), dtype=complex)
    for i, j, resistance, reactance in lines:
        y = 1.0 / (resistance + 1j * reactance)
        admittance[i, i] += y
        admittance[j, j] += y
        admittance[i, j] -= y
        admittance[j, i] -= y
    load = np.array([0.0, 0.6, 0.5, 0.0, 0.4]) + 1j * np.array([0.0, 0.2, 0.15, 0.0, 0.1])
    w = cp.Variable((5, 5), hermitian=True)
    active, reactive = cp.Variable(5), cp.Variable(5)
    flow = cp.diag(w @ admittance.conj().T)
    largest = np.array([1.5, 0.0, 0.0, 1.0, 0.0])
    constraints = [w >> 0, cp.real(flow) == active - load.real, cp.imag(flow) == reactive - load.imag]
    constraints += [active >= 0, active <= largest, cp.abs(reactive) <= largest]
    constraints += [cp.real(cp.diag(w)) >= 0.95**2, cp.real(cp.diag(w)) <= 1.05**2]
    cost = active[0] ** 2 + active[0] + 2 * active[3] ** 2 + 0.5 * active[3]
    return cp.Problem(cp.Minimize(cost), constraints)


def sensor_network() -> cp.Problem:
    """Sensor network localisation in absolute deviations, with three anchors."""
    rng = np.random.default_rng(6)
    anchors, sensors = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]), rng.random((6, 2))
    z, deviations = cp.Variable((8, 8), PSD=True), []

    def deviation(vector: np.ndarray, distance: float) -> cp.Expression:
        return cp.abs(cp.trace(np.outer(vector, vector) @ z) - (distance * (1.0 + 0.05 * rng.standard_normal())) ** 2)

    unit = np.eye(6)
    for i, j in combinations(range(6), 2):
        if (distance := float(np.linalg.norm(sensors[i] - sensors[j]))) < 0.6:
            deviations.append(deviation(np.concatenate([np.zeros(2), unit[i] - unit[j]]), distance))
    for i, anchor in ((i, anchor) for i in range(6) for anchor in anchors):
        if (distance := float(np.linalg.norm(sensors[i] - anchor))) < 0.8:
            deviations.append(deviation(np.concatenate([anchor, -unit[i]]), distance))
    return cp.Problem(cp.Minimize(sum(deviations)), [z[:2, :2] == np.eye(2)])


def mixed_cones() -> cp.Problem:
    """Second-order cones beside a linear matrix inequality: a robust portfolio with an LMI on its factors."""
    rng = np.random.default_rng(7)
    root, returns = rng.standard_normal((6, 6)) / 3.0, 0.05 + 0.1 * rng.random(6)
    parts = rng.standard_normal((6, 4, 4))
    parts = (parts + parts.transpose(0, 2, 1)) / 2.0
    x, risk = cp.Variable(6, nonneg=True), cp.Variable()
    exposed = sum(x[k] * parts[k] for k in range(6))
    constraints = [cp.sum(x) == 1, cp.norm(root @ x) <= risk, exposed << 0.8 * np.eye(4)]
    robust = returns @ x - 0.1 * cp.norm(np.diag(returns) @ x)
    return cp.Problem(cp.Maximize(robust - risk), constraints)


def p_norm() -> cp.Problem:
    """Least 3-norm of a residual on a spectrahedron."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((8, 4)), 2.0 * rng.standard_normal(8)
    parts = rng.standard_normal((4, 3, 3))
    x = cp.Variable(4)
    inside = np.eye(3) + sum(x[k] * (parts[k] + parts[k].T) for k in range(4)) >> 0
    return cp.Problem(cp.Minimize(cp.pnorm(a @ x - b, 3)), [inside])
