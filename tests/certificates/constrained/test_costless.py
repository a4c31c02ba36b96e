"""Feasible matrices that cost nothing, to which iterates and their units fall together."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, constraints, solve
from psdopt.certificates.constrained.costless import costless
from psdopt.linalg.arrays import Array


def below(C: Array, T: Array) -> Constrained:
    """min ⟨C, X⟩ over 0 ⪯ X ⪯ T, as the blocks X and T − X of M."""
    n = len(C)
    i, j = np.triu_indices(n)
    forms = np.zeros((len(i), 2 * n, 2 * n))
    for A, a, b in zip(forms, i, j, strict=True):
        A[[a, b, n + a, n + b], [b, a, n + b, n + a]] = 0.5 + 0.5 * (a == b)
    cost = np.zeros((2 * n, 2 * n))
    cost[:n, :n] = 0.5 * C
    return Constrained(QuadraticSDP(C=cost), constraints.sparse_forms(list(forms), T[i, j]))


def dense(n: int) -> Array:
    R = np.random.default_rng(n).standard_normal((n, n))
    return np.asarray(R @ R.T + 0.1 * np.eye(n))


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e9])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_block_that_is_zero_at_the_solution_is_proven_exactly(n: int, unit: float) -> None:
    """The value of X falls to 0 with its unit: no gap is small relative to it, unless X is 0."""
    scales = np.diag(10.0 ** np.arange(n))
    for C in (np.diag(np.arange(1.0, n + 1.0)), dense(n)):
        result = solve(below(unit * C, scales))
        assert result.status is Status.OPTIMAL, result.message
        assert result.certificate is not None
        assert result.value == result.certificate.gap == 0.0
        assert not result.matrix.to_dense()[:n, :n].any()


def test_multipliers_that_prove_a_higher_value_refute_an_M_without_cost() -> None:
    """C has an eigenvalue of −1e-15, and X up to 1e18: y = 0 misses C ⪰ 0 only within its digits."""
    C = np.array([[1.0, 1e-3], [1e-3, 1e-6 - 1e-15]])
    problem = below(C + 2e-15 * np.eye(2), np.eye(2))
    at = problem.at(1e-7 * np.eye(4))
    assert costless(problem, at, at.value, tol=1.0) is None
    assert costless(problem, at, 0.0, tol=1.0) is not None
    assert costless(below(-C, np.eye(2)), at, -1.0, tol=1.0) is None


def test_only_a_small_part_of_M_is_left_out() -> None:
    problem = below(np.eye(2), np.eye(2))
    for share in (1e-3, 1e-5):
        at = problem.at(np.diag([share, share, 1.0, 1.0]))
        found = costless(problem, at, -at.value, tol=1e-8)
        assert (found is None) == (share > 1e-4)


def test_a_cost_that_is_singular_keeps_its_null_space() -> None:
    v = np.array([[1.0], [-2.0], [1.0]]) / np.sqrt(6.0)
    problem = below(v @ v.T, np.eye(3))
    at = problem.at(np.eye(6))
    Y = costless(problem, at, -1.0, tol=1.0)
    assert Y is not None
    np.testing.assert_allclose(Y[:3, :3], np.eye(3) - v @ v.T, atol=1e-15)
    np.testing.assert_array_equal(Y[3:], np.eye(6)[3:])
