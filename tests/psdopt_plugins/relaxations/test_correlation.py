"""NearestCorrelation: optimality against alternating projections, weights, fixed entries, low rank."""

import numpy as np
import pytest

from psdopt import Status
from psdopt_plugins.relaxations.correlation import NearestCorrelation

TIGHT = {"tol": 1e-10}


def wrong(n: int, seed: int = 0) -> np.ndarray:
    G = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, n))
    G = np.triu(G, 1)
    return G + G.T + np.eye(n)


def projected(G: np.ndarray, w: np.ndarray, rounds: int = 3000) -> np.ndarray:
    """Higham's alternating projections with Dykstra's correction, in the norm of W = w wᵀ."""
    N, correction = (w[:, None] * G) * w, np.zeros_like(G)
    for _ in range(rounds):
        R = N - correction
        values, V = np.linalg.eigh(R)
        X = (V * np.maximum(values, 0.0)) @ V.T
        correction = X - R
        N = X.copy()
        np.fill_diagonal(N, w**2)
    return N / w[:, None] / w


@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_alternating_projections(weighted):
    G = wrong(15)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 15) if weighted else np.ones(15)
    model = NearestCorrelation(weights=w if weighted else None, solver_options=TIGHT).fit(G)
    M = model.correlation_.to_dense()
    np.testing.assert_allclose(M, projected(G, w), atol=1e-5)
    np.testing.assert_allclose(np.diagonal(M), 1.0, atol=1e-14)
    assert model.distance_bound_ <= model.distance_ <= model.distance_bound_ * (1 + 1e-7)
    assert model.distance_ == pytest.approx(np.linalg.norm((w[:, None] * (M - G)) * w))


def test_weights_of_entries_agree_with_weights_of_variables():
    G, w = wrong(10, 3), np.linspace(0.7, 1.4, 10)
    one = NearestCorrelation(weights=w, solver_options=TIGHT).fit(G)
    two = NearestCorrelation(weights=np.outer(w, w), solver_options={"tol": 1e-8}).fit(G)
    np.testing.assert_allclose(two.correlation_.to_dense(), one.correlation_.to_dense(), atol=1e-4)
    assert two.distance_ == pytest.approx(one.distance_, rel=1e-6)


def test_entries_without_weight_do_not_count():
    G, W = wrong(8, 4), np.ones((8, 8))
    W[0, 1:4] = W[1:4, 0] = 0.0
    other = G.copy()
    other[0, 1:4] = other[1:4, 0] = 0.9
    distances = [NearestCorrelation(weights=W).fit(each).distance_ for each in (G, other)]
    assert distances[0] == pytest.approx(distances[1], rel=1e-5)
    assert distances[0] < NearestCorrelation().fit(G).distance_


def test_fixed_entries_are_kept_and_cost():
    G = wrong(12, 5)
    free = NearestCorrelation(solver_options=TIGHT).fit(G)
    kept = NearestCorrelation(fixed=[(0, 1), (7, 3)], solver_options=TIGHT).fit(G)
    M = kept.correlation_.to_dense()
    np.testing.assert_allclose([M[0, 1], M[3, 7]], [G[0, 1], G[3, 7]], atol=1e-7)
    assert kept.distance_ > free.distance_
    assert kept.distance_bound_ <= kept.distance_ * (1 + 1e-9)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_low_rank_is_feasible_and_stationary(rank):
    G = wrong(12, 6)
    model = NearestCorrelation(rank=rank).fit(G)
    M = model.correlation_.to_dense()
    assert np.linalg.matrix_rank(M, tol=1e-8) <= rank
    np.testing.assert_allclose(np.diagonal(M), 1.0, atol=1e-14)
    assert model.distance_bound_ <= model.distance_
    # no small rotation of a row comes nearer
    Y, rng = model.correlation_.factor, np.random.default_rng(0)
    for _ in range(50):
        Z = Y + 1e-3 * rng.standard_normal(Y.shape)
        Z /= np.linalg.norm(Z, axis=1)[:, None]
        assert np.linalg.norm(Z @ Z.T - G) >= model.distance_ * (1 - 1e-6)


def test_a_rank_that_does_not_bind_changes_nothing():
    G = wrong(10, 7)
    full = NearestCorrelation().fit(G)
    again = NearestCorrelation(rank=full.correlation_.rank).fit(G)
    assert again.distance_ == full.distance_


@pytest.mark.parametrize("seed", range(2))
def test_entrywise_weights_are_solved_with_few_columns(seed) -> None:
    n, rng = 60, np.random.default_rng(seed)
    W = rng.uniform(0.1, 1.0, (n, n))
    model = NearestCorrelation(weights=0.5 * (W + W.T)).fit(wrong(n, seed))
    assert model.result_.status is Status.OPTIMAL
    assert model.result_.rank <= n // 2
