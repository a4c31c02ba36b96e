"""Optimal power flow as a semidefinite program, for published networks and for many of them tied together.

Least cost of generation Σ c₂ p² + c₁ p over voltages v = e + jf, with limits of p, q, |v| and of |S| of the branches.
Powers are quadratic forms of x = [e; f], so with M ⪰ 0 for x xᵀ all but the cost is linear (J. Lavaei, S. Low, IEEE
Transactions on Power Systems 27, 2012). A bound p² ≤ t is a block [[t, p], [p, 1]], a bound |S|² ≤ s² a block
[[s, P, Q], [P, s, 0], [Q, 0, s]]. M has the order 2 n + 2 g + 3 times the limited ends of branches, and two buses meet
in its forms only if a branch joins them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.data import Array
from benchmarks.papers.power_networks import BASE, Network
from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.terms import embedded

#: Impedance of the branches that tie copies of a network together.
TIE = (0.02, 0.1)


def tiled(network: Network, copies: int, seed: int = 0) -> Network:
    """`copies` of it, demands times factors in (0.9, 1), the last bus of each tied to the first of the next."""
    rng, n = np.random.default_rng(seed), len(network.buses)
    buses, generators, branches = [], [], []
    for k in range(copies):
        share = np.ones((n, 6))
        share[:, :2] = rng.uniform(0.9, 1.0, (n, 1)) if copies > 1 else 1.0
        buses.append(network.buses * share)
        generators.append(network.generators + np.eye(1, 7) * n * k)
        branches.append(network.branches + (np.eye(1, 7) + np.eye(1, 7, 1)) * n * k)
        if k:
            branches.append(np.array([[n * k - 1, n * k, *TIE, 0.0, 0.0, 0.0]]))
    known = network.known if copies == 1 else np.nan
    return Network(np.vstack(buses), np.vstack(generators), np.vstack(branches), copies * network.constant, known)


def currents(network: Network) -> tuple[sp.csr_array, sp.csr_array, Array, Array]:
    """Rows y of currents yᵀv, per unit: at each bus, (n, n), and into both ends of each limited branch, (2 q, n); the
    buses of these ends, and their limits of |S|."""
    n, (first, last, r, x, charge, limit, ratio) = len(network.buses), network.branches.T
    first, last = first.astype(int), last.astype(int)
    y, turns = 1.0 / (r + 1j * x), np.where(ratio > 0.0, ratio, 1.0)
    own, far, mutual = (y + 0.5j * charge) / turns**2, y + 0.5j * charge, -y / turns
    e = np.arange(len(y))
    entries, at = np.r_[own, mutual, far, mutual], np.r_[first, last, last, first]
    ends = sp.csr_array((entries, (np.r_[e, e, e + len(e), e + len(e)], at)), shape=(2 * len(e), n))
    buses, k = np.r_[first, last], np.arange(2 * len(e))
    incidence = sp.csr_array((np.ones(len(k)), (buses, k)), shape=(n, len(k)))
    shunt = sp.diags_array((network.buses[:, 2] + 1j * network.buses[:, 3]) / BASE)
    held = np.flatnonzero(np.tile(limit, 2) > 0.0)
    return sp.csr_array(incidence @ ends + shunt), ends[held], buses[held], np.tile(limit, 2)[held] / BASE


def power_flow(network: Network) -> Constrained:
    """The relaxation; F(M) + `network.constant` is the cost in dollars per hour."""
    n = len(network.buses)
    admittance, ends, at, s = currents(network)
    bus, low_p, high_p, low_q, high_q, square, linear = network.generators.T
    bus, g = bus.astype(int), len(bus)
    size = 2 * n + 2 * g + 3 * len(at)
    cost, arrow = 2 * n + 2 * np.arange(g), 2 * n + 2 * g + 3 * np.arange(len(at))
    p, q = _powers(admittance, np.arange(n), size)
    flow_p, flow_q = _powers(ends, at, size)
    produced = np.zeros((4, n))
    produced[:, bus] = low_p, high_p, low_q, high_q
    demand = network.buses[:, :2].T
    lower_p, upper_p, lower_q, upper_q = (produced - demand[[0, 0, 1, 1]]) / BASE
    voltages = [_entries([k, k + n], [k, k + n], [1.0, 1.0], size) for k in range(n)]
    own = [_entries([k], [k + 1], [1.0], size) for k in cost]
    groups = [
        constraints.sparse_forms(p, lower=lower_p, upper=upper_p),
        constraints.sparse_forms(q, lower=lower_q, upper=upper_q),
        constraints.sparse_forms(voltages, lower=network.buses[:, 5] ** 2, upper=network.buses[:, 4] ** 2),
        constraints.sparse_forms([p[b] - own[k] for k, b in enumerate(bus)], -demand[0, bus] / BASE),
        constraints.entries(cost + 1, cost + 1, size, 1.0),
    ]
    if len(at):
        beside = [
            flow - _entries([k], [k + column], [1.0], size)
            for column, flows in ((1, flow_p), (2, flow_q))
            for k, flow in zip(arrow, flows, strict=True)
        ]
        corner = [constraints.entries(arrow + k, arrow + k, size, s) for k in range(3)]
        groups += [constraints.sparse_forms(beside, 0.0), *corner, constraints.entries(arrow + 1, arrow + 2, size, 0.0)]
    C = _entries(cost, cost, square * BASE**2, size) + _entries(cost, cost + 1, linear * BASE, size)
    return Constrained(QuadraticSDP(C=0.5 * C), groups)


def _entries(i: Any, j: Any, numbers: Any, size: int) -> sp.csr_array:
    """The symmetric A with ⟨A, M⟩ = Σ numbers M_ij."""
    half = sp.csr_array((0.5 * np.asarray(numbers, dtype=float), (i, j)), shape=(size, size))
    return sp.csr_array(half + half.T)


def _powers(rows: sp.csr_array, at: Array, size: int) -> tuple[list[sp.csr_array], list[sp.csr_array]]:
    """Forms of P and Q, v_k conj(yᵀv) = v* C v = P + jQ, for each row y and its bus k, over x = [Re v; Im v]."""
    n = rows.shape[1]
    P: list[sp.csr_array] = []
    Q: list[sp.csr_array] = []
    for t, k in enumerate(at):
        y = sp.coo_array(rows[[t]])
        C = sp.csr_array((y.data.conj(), (y.coords[1], np.full(y.nnz, k))), shape=(n, n))
        for forms, part in ((P, C + C.conj().T), (Q, -1j * (C - C.conj().T))):
            form = embedded(0.5 * part)
            form.resize(size, size)
            forms.append(form)
    return P, Q
