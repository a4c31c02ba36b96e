"""What Ritz pairs and a bound on the rest prove of the sum of the leading eigenvalues."""

import numpy as np
import pytest

from psdopt.linalg.leading import ceilings


def with_rest(theta: np.ndarray, R: np.ndarray, c: float) -> np.ndarray:
    """K with Ritz values theta on the first unit vectors, residuals R, and c I on the rest: the worst of its kind."""
    return np.block([[np.diag(theta), R.T], [R, c * np.eye(len(R))]])


def excess(K: np.ndarray, theta: np.ndarray, k: int) -> float:
    return float(np.maximum(np.linalg.eigvalsh(K)[::-1][:k], 0.0).sum() - theta[:k].sum())


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("size", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("crowded", [0.0, 1.0])
def test_the_sum_is_right_to_the_goal_below_the_ceiling(k: int, size: float, crowded: float) -> None:
    rng = np.random.default_rng(0)
    for goal in (1e-6, 1e-3):
        for _ in range(20):
            theta = np.sort(1.0 + rng.random(8) * (1e-3 if crowded else 1.0))[::-1]
            R = size * rng.standard_normal((9, 8)) * np.geomspace(1e-3, 1.0, 8)
            if rng.random() < 0.5:  # those of one Lanczos run are parallel
                R = np.outer(rng.standard_normal(9), np.linalg.norm(R, axis=0)) / 3.0
            c = ceilings(theta, np.linalg.norm(R, axis=0), k, goal)
            for j in range(9):
                if c[j] > -1.0:
                    assert excess(with_rest(theta[:j], R[:, :j], c[j]), theta[:j], k) <= goal * (1.0 + 1e-9) + 1e-14


def test_the_ceiling_is_not_low() -> None:
    """One residual reaches the ceiling; an eigenvalue well above it breaks the sum."""
    theta, r, goal = np.array([2.0, 1.0]), np.array([0.0, 1e-2]), 1e-3
    c = ceilings(theta, r, 2, goal)
    assert c[2] == pytest.approx(0.9)
    R = np.array([[0.0, 1e-2]])
    assert excess(with_rest(theta, R, 0.9), theta, 2) == pytest.approx(goal, rel=0.05)
    assert excess(with_rest(theta, R, 0.95), theta, 2) > 1.5 * goal


def test_pairs_behind_count_by_their_own_distances() -> None:
    """Their residual may be large: the ceiling is reached to first order, and one above it breaks the sum."""
    theta, r, goal = np.array([2.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.5]), 1e-6
    c = ceilings(theta, r, 1, goal)
    assert c[3] == pytest.approx(2.0 - 0.25 / 2.0)
    R = np.array([[0.0, 0.0, 0.5]])
    assert excess(with_rest(theta, R, float(c[3])), theta, 1) <= goal
    assert excess(with_rest(theta, R, 1.88), theta, 1) > goal


def test_few_pairs_and_none() -> None:
    c = ceilings(np.array([1.0]), np.array([0.0]), 3, 1e-3)
    np.testing.assert_allclose(c, [1e-3 / 6, 1e-3 / 4])
    np.testing.assert_allclose(ceilings(np.empty(0), np.empty(0), 2, 1e-3), [1e-3 / 4])


def test_a_cluster_at_the_kth_value_needs_small_residuals_alone() -> None:
    theta, goal = np.ones(4), 1e-3
    assert ceilings(theta, np.full(4, 1e-5), 2, goal)[2:] == pytest.approx(1.0 + goal / 4)
    assert np.all(ceilings(theta, np.full(4, 1e-3), 2, goal)[2:] < 1.0)
