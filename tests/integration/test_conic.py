"""QuadraticSDP against a conic interior-point solver: other mathematics, other code."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP, solve

from ..instances import psd, spectrum_matrix

cvxpy = pytest.importorskip("cvxpy")


def conic_optimum(A, B, C):
    """min |RMRᵀ|² + |TM|² + 2<C, M> with A = RᵀR, B = TᵀT."""
    n = len(A)

    def root(P):
        values, vectors = np.linalg.eigh(P)
        return (vectors * np.sqrt(np.maximum(values, 0))).T

    M = cvxpy.Variable((n, n), PSD=True)
    R, T = root(A), root(B)
    objective = cvxpy.sum_squares(R @ M @ R.T) + cvxpy.sum_squares(T @ M) + 2 * cvxpy.trace(C @ M)
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    problem.solve(solver=cvxpy.CLARABEL)
    assert problem.status == cvxpy.OPTIMAL
    return float(problem.value), np.asarray(M.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 4, 6])
def test_random_instances(n, seed):
    rng = np.random.default_rng([n, seed])
    A = psd(rng, n, rank=max(1, n - seed % 2), condition=10.0)
    B = psd(rng, n, condition=10.0)
    C = spectrum_matrix(rng, n, np.linspace(-1.5, 1.0, n))  # the optimum is rank-deficient
    best, M = conic_optimum(A, B, C)
    result = solve(QuadraticSDP(A, B, C), tol=1e-8)
    assert result.optimal
    assert result.value == pytest.approx(best, rel=1e-5)
    assert result.value <= best + 1e-7 * abs(best)  # ours is the more accurate one
    assert np.linalg.norm(result.matrix.to_dense() - M) <= 1e-2 * np.linalg.norm(M)
    assert result.matrix.compress(1e-5).rank < n
    # the comparison is not vacuous: a rank below the optimal one misses the value
    rank = result.matrix.compress(1e-5).rank
    if rank > 1:
        below = solve(QuadraticSDP(A, B, C), FlatQuotient(n, rank - 1), ConjugateGradient(), tol=1e-8)
        assert below.value > best + 1e-6 * abs(best)
        assert not below.optimal
