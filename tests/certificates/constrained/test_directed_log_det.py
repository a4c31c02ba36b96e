"""log det of Σ y_t d_t d_tᵀ from the vectors: never above that of exact arithmetic, and near it for far points."""

import math
from fractions import Fraction

import numpy as np
import pytest

from psdopt import Constrained, Status, TermSum, constraints, solve
from psdopt.certificates.constrained.directed_log_det import directed_log_det
from psdopt.linalg.arrays import Array
from psdopt.terms import LogDet


def enclosing(D: Array) -> Constrained:
    """min −log det M with dᵀM d <= 1 for the rows d of D: the smallest ellipsoid around 0 with these points."""
    return Constrained(TermSum([LogDet(D.shape[1])]), constraints.quadratic_forms(D, upper=1.0))


def exact(D: Array, y: Array) -> float:
    """log det Σ y_t d_t d_tᵀ by Gaussian elimination in rational numbers."""
    rows = [[Fraction(float(a)) for a in row] for row in D]
    weights, n, det = [Fraction(float(a)) for a in y], D.shape[1], Fraction(1)
    S = [[sum(w * d[i] * d[j] for w, d in zip(weights, rows, strict=True)) for j in range(n)] for i in range(n)]
    for k in range(n):
        det *= S[k][k]
        for i in range(k + 1, n):
            share = S[i][k] / S[k][k]
            S[i] = [a - share * b for a, b in zip(S[i], S[k], strict=True)]
    return math.log(det.numerator) - math.log(det.denominator)


def far(seed: int, offset: float, n: int = 4, m: int = 12) -> Array:
    rng = np.random.default_rng(seed)
    return np.hstack([np.ones((m, 1)), offset + rng.standard_normal((m, n - 1))])


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e7])
def test_it_never_exceeds_that_of_exact_arithmetic_and_is_near_it(offset: float) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        D, y = far(seed, offset), 10.0 ** rng.uniform(-3.0, 3.0, 12)
        D = D * 10.0 ** rng.uniform(-6.0, 6.0, 4)
        found, known = directed_log_det(enclosing(D), y), exact(D, y)
        assert known - 1e-11 * (1.0 + offset) <= found <= known


def test_it_refuses_what_is_no_definite_sum_of_its_vectors() -> None:
    D, ones = far(0, 0.0), np.ones(12)
    assert directed_log_det(enclosing(D), -ones) == -math.inf
    assert directed_log_det(enclosing(D), np.where(np.arange(12) < 3, 1.0, 0.0)) == -math.inf
    assert directed_log_det(enclosing(D[:, [0, 1, 1]]), ones) == -math.inf
    assert directed_log_det(enclosing(far(0, 1e15)), ones) == -math.inf
    entries = Constrained(TermSum([LogDet(2)]), constraints.entries([0, 1], [0, 1], 2, 1.0))
    assert directed_log_det(entries, np.ones(2)) == -math.inf


@pytest.mark.parametrize(("n", "m"), [(5, 49), (9, 67), (8, 33), (3, 4)])
def test_the_smallest_ellipsoid_of_points_far_from_the_origin_is_proven(n: int, m: int) -> None:
    """With spread of 1e-4 of their distance, entries of Σ y_t d_t d_tᵀ keep no digits for a bound to 1e-6."""
    for seed in range(3):
        result = solve(enclosing(far(seed, 1e4, n, m)))
        assert result.status is Status.OPTIMAL, result.message
        Q, R = np.linalg.qr(far(seed, 1e4, n, m))
        near = solve(enclosing(Q))
        expected = near.value + 2.0 * float(np.sum(np.log(np.abs(np.diagonal(R)))))
        assert result.certificate is not None
        assert near.certificate is not None
        allowed = 1e-6 * ((result.certificate.unit or 0.0) + (near.certificate.unit or 0.0))
        assert result.value == pytest.approx(expected, rel=0.0, abs=allowed)
