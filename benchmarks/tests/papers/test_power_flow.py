"""Power flow: powers against currents of each branch, published costs, and tied copies."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.papers.power_flow import currents, power_flow, tiled
from benchmarks.papers.power_networks import BASE, FOURTEEN, NINE, THIRTY, Network
from psdopt import solve

NETWORKS = {"9": NINE, "14": FOURTEEN, "30": THIRTY}
named = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def injected(network: Network, v: np.ndarray) -> np.ndarray:
    """The power that each bus sends into branches and shunt, branch by branch."""
    power = np.abs(v) ** 2 * np.conj((network.buses[:, 2] + 1j * network.buses[:, 3]) / BASE)
    for first, last, r, x, charge, _, ratio in network.branches:
        f, t, y, turns = int(first), int(last), 1.0 / (r + 1j * x), ratio or 1.0
        inside = v[f] / turns  # behind the transformer
        into = y * (inside - v[t]) + 0.5j * charge * inside
        power[f] += inside * np.conj(into)
        power[t] += v[t] * np.conj(y * (v[t] - inside) + 0.5j * charge * v[t])
    return power


@named
def test_the_forms_are_the_powers_of_the_branches(network) -> None:
    problem, n = power_flow(network), len(network.buses)
    rng = np.random.default_rng(0)
    v = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    Y = np.zeros((problem.n, 1))
    Y[: 2 * n, 0] = np.concatenate([v.real, v.imag])
    a, wanted = problem.measured(Y), injected(network, v)
    np.testing.assert_allclose(a[:n], wanted.real, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a[n : 2 * n], wanted.imag, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a[2 * n : 3 * n], np.abs(v) ** 2, rtol=1e-10)


@named
def test_the_ends_of_limited_branches_have_their_powers_and_limits(network) -> None:
    rng = np.random.default_rng(1)
    v = rng.standard_normal(len(network.buses)) + 1j * rng.standard_normal(len(network.buses))
    _, ends, at, limits = currents(network)
    limited = network.branches[network.branches[:, 5] > 0.0]
    wanted = []
    for branch in limited:  # alone in a network without shunts
        buses = network.buses * [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
        power = injected(replace(network, buses=buses, branches=branch[None]), v)
        wanted.append(power[branch[:2].astype(int)])
    found = (v[at] * np.conj(ends @ v)).reshape(2, len(limited)).T
    np.testing.assert_allclose(found, np.reshape(wanted, (len(limited), 2)), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(limits, np.tile(limited[:, 5], 2) / BASE)


@named
def test_the_published_cost_is_reached_and_proven(network) -> None:
    result = solve(power_flow(network))
    assert result.optimal
    assert result.value + network.constant == pytest.approx(network.known, abs=0.02)


def test_copies_are_tied_and_cost_about_as_much_each() -> None:
    grid = tiled(NINE, 3, seed=1)
    assert len(grid.buses) == 27
    assert len(grid.branches) == 3 * len(NINE.branches) + 2
    assert np.any(np.all(grid.branches[:, :2] == [8, 9], axis=1))
    assert np.array_equal(tiled(NINE, 1).buses, NINE.buses)
    cost = solve(power_flow(grid)).value + grid.constant
    assert 0.85 * 3 * NINE.known < cost < 3 * NINE.known
