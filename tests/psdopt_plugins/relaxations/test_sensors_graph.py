"""Matrices of a sensor network against dense ones, and bounds that no places undercut, whatever the tensions."""

import numpy as np
import pytest

from psdopt import certify, solve
from psdopt.errors import InvalidInputError
from psdopt_plugins.relaxations.sensors_problem import SENSOR_NETWORK, Tensions, sensor_problem
from tests.psdopt_plugins.relaxations.graphs import CORNERS, network


def noisy(n=12, reach=0.75, seed=0, noise=0.05):
    _, pairs, lengths = network(n, reach, seed)
    return pairs, lengths * (1.0 + noise * np.random.default_rng(seed + 1).standard_normal(len(lengths)))


def twice():
    """A sensor in no pair, and a pair that was measured twice, with different results."""
    pairs, lengths = noisy()
    pairs = np.where(pairs >= 12, pairs + 1, pairs)
    return sensor_problem(13, np.concatenate([pairs, pairs[:1]]), np.append(lengths, 1.1 * lengths[0]), CORNERS)


def laplacian(graph, weights):
    E = graph.E.toarray()
    return E.T @ (weights[:, None] * E)


def test_places_of_a_factor_and_back_in_any_rotation():
    problem, rng = twice(), np.random.default_rng(0)
    graph = problem.graph
    assert graph.seen.tolist() == list(range(12))
    Z = rng.standard_normal((12, 5))
    Y = graph.factor(Z)
    np.testing.assert_allclose(problem.measured(Y), [1.0, 0.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(problem.at(Y).value, np.sum(graph.excess(graph.differences(Z)) ** 2))
    turned = graph.factor(graph.places(Y @ np.linalg.qr(rng.standard_normal((5, 5)))[0]))
    np.testing.assert_allclose(turned @ turned.T, Y @ Y.T, atol=1e-12)


def test_the_factors_solve_the_dense_system():
    graph, rng = twice().graph, np.random.default_rng(0)
    roots, R = rng.standard_normal((len(graph.squares), 3, 3)), rng.standard_normal((12, 3))
    blocks = roots @ roots.transpose(0, 2, 1)
    E = graph.E.toarray()
    dense = sum(np.kron(np.outer(e, e), block) for e, block in zip(E, blocks, strict=True))
    np.testing.assert_allclose(dense @ graph.factors(blocks)(R).ravel(), R.ravel(), atol=1e-9)


def test_conjugate_gradient_solves_what_factors_solve(monkeypatch):
    graph, rng = twice().graph, np.random.default_rng(0)
    steps, tension = rng.standard_normal((len(graph.squares), 5)), rng.random(len(graph.squares)) + 0.1
    R = rng.standard_normal((12, 5))
    exact = graph.hessian(steps, tension, 0.0)(R)
    monkeypatch.setattr("psdopt_plugins.relaxations.sensors_graph.factorises", lambda matrices, k: False)
    np.testing.assert_allclose(graph.hessian(steps, tension, 1e-20)(R), exact, atol=1e-7)


def test_lifted_sensors_make_unstable_modes_stable():
    graph, rng = twice().graph, np.random.default_rng(0)
    w = rng.standard_normal(len(graph.squares))
    _, theta = graph.feasible(w)
    U = graph.lifted(w, theta)
    L = laplacian(graph, w + np.sum((graph.E @ U) ** 2, axis=1))
    assert U.shape[1] > 0
    assert np.linalg.eigvalsh(L)[0] > np.linalg.eigvalsh(laplacian(graph, w))[0]
    assert np.einsum("ij,ij->j", U, L @ U).min() > -1e-9


@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("signs", ["positive", "negative", "mixed"])
def test_no_places_undercut_the_bound_of_any_tensions(size, signs):
    problem, rng = twice(), np.random.default_rng(0)
    graph = problem.graph
    w = size * rng.standard_normal(len(graph.squares))
    w = {"positive": np.abs(w), "negative": -np.abs(w), "mixed": w}[signs]
    feasible, theta = graph.feasible(w)
    assert np.linalg.eigvalsh(laplacian(graph, feasible))[0] > 0.0
    assert (theta == 0.0) == (signs == "positive")
    best = solve(problem, rng=0)
    least = best.certificate.dual_value
    assert graph.bound(feasible) <= least + 1e-6 * best.certificate.unit
    assert certify(problem, best.matrix, dual=Tensions(w)).dual_value <= best.value


def test_the_bound_is_the_least_value_of_the_lagrangian():
    graph, rng = twice().graph, np.random.default_rng(0)
    w = rng.random(len(graph.squares))

    def lagrangian(Z):
        return np.sum(w * (2.0 * graph.excess(graph.differences(Z)) - w))

    bound = graph.bound(w)
    P = np.linalg.solve(laplacian(graph, w), -graph.adjoint @ (w[:, None] * graph.fixed))
    np.testing.assert_allclose(bound, lagrangian(P), rtol=1e-10)
    assert bound <= lagrangian(P)
    for k in (2, 3):
        Z = np.column_stack([P, np.zeros((12, k - 2))]) + 1e-3 * rng.standard_normal((12, k))
        assert lagrangian(Z) > bound
    assert graph.bound(0.0 * w) == 0.0


def test_tensions_that_make_no_sense_are_refused():
    problem = twice()
    M = problem.graph.factor(np.zeros((12, 2)))
    for weights in (np.ones(3), np.full(len(problem.graph.squares), np.nan)):
        with pytest.raises(InvalidInputError, match="tensions"):
            certify(problem, M, dual=Tensions(weights))


def test_networks_with_bounds_or_loose_sensors_have_no_tensions():
    pairs, lengths = noisy()
    assert SENSOR_NETWORK in sensor_problem(12, pairs, lengths, CORNERS).abilities
    assert SENSOR_NETWORK not in sensor_problem(12, pairs, lengths, CORNERS, upper=2.0).abilities
    assert SENSOR_NETWORK not in sensor_problem(14, [(0, 14), (12, 13)], 0.5, CORNERS).abilities
