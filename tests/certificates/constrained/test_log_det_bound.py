"""The bound of multipliers on a linear function less log dets: formula, rounding, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest

from psdopt import Constrained, Status, TermSum, certify, constraints, solve
from psdopt.certificates.constrained.log_det_bound import log_det_bound
from psdopt.terms import LinearTerm, LogDet
from tests.instances import psd

N = 6


def exact_log_det(S: np.ndarray) -> float:
    """log det by Gaussian elimination in rational numbers."""
    rows, det = [[Fraction(float(a)) for a in row] for row in S], Fraction(1)
    for k in range(len(S)):
        det *= rows[k][k]
        for i in range(k + 1, len(S)):
            share = rows[i][k] / rows[k][k]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k], strict=True)]
    return math.log(det.numerator) - math.log(det.denominator)


def problem_of(C: np.ndarray, nu: float = 1.0, value: float = 0.25) -> Constrained:
    """min ⟨C, M⟩ − ν log det M with M_01 = `value` and M_22 <= 2."""
    groups = [constraints.entries([0], [1], len(C), value), constraints.entries([2], [2], len(C), upper=2.0)]
    return Constrained(TermSum([LinearTerm(C), LogDet(len(C), nu)], constant=0.5), groups)


def definite(seed: int, n: int = N) -> np.ndarray:
    return psd(np.random.default_rng(seed), n, n) + 0.1 * np.eye(n)


@pytest.mark.parametrize("nu", [0.3, 1.0, 40.0])
def test_the_bound_is_the_least_value_of_lagranges_function(nu):
    C, y = definite(0), np.array([0.05, 0.2])
    S = C.copy()
    S[0, 1] += 0.5 * y[0]
    S[1, 0] += 0.5 * y[0]
    S[2, 2] += y[1]
    X = nu * np.linalg.inv(S)
    lagrange = np.sum(S * X) - nu * np.linalg.slogdet(X)[1] + 0.5 - (0.25 * y[0] + 2.0 * y[1])
    assert log_det_bound(problem_of(C, nu), y) == pytest.approx(lagrange, rel=1e-12)


@pytest.mark.parametrize("spread", [1.0, 1e4, 1e7])
def test_the_bound_never_exceeds_that_of_exact_arithmetic(spread):
    for seed in range(8):
        d = np.geomspace(1.0, 1.0 / spread, N)
        U = np.linalg.qr(np.random.default_rng(seed).standard_normal((N, N)))[0]
        C = (U * d) @ U.T
        C = 0.5 * (C + C.T)
        exact = N + exact_log_det(C) + 0.5
        found = log_det_bound(problem_of(C), np.zeros(2))
        assert found <= exact
        assert found >= exact - 1e-12 * spread * N**3


def test_units_of_rows_do_not_loosen_it():
    C, d = definite(1), np.exp2(np.arange(-30, 30, 10))
    plain, scaled = (log_det_bound(problem_of(each), np.zeros(2)) for each in (C, C * d * d[:, None]))
    assert scaled - 2.0 * np.sum(np.log(d)) == pytest.approx(plain, rel=1e-13)


def test_slack_that_is_not_definite_proves_nothing():
    C = definite(2)
    assert log_det_bound(problem_of(C), np.array([1e3, 0.0])) == -math.inf
    singular = psd(np.random.default_rng(3), N, N - 1)
    assert log_det_bound(problem_of(singular), np.zeros(2)) == -math.inf
    assert log_det_bound(Constrained(TermSum([LinearTerm(C)]), constraints.trace(N, 1.0)), np.ones(1)) == -math.inf


def test_blocks_without_a_log_det_must_have_semidefinite_slack():
    C = np.diag([1.0, 2.0, 3.0, 4.0])
    C[3, 3] = -1.0
    P = Constrained(TermSum([LinearTerm(C), LogDet(4, 1.0, [0, 1])]), constraints.entries([3], [3], 4, 1.0))
    assert log_det_bound(P, np.zeros(1)) == -math.inf
    assert log_det_bound(P, np.array([1.5])) == pytest.approx(2.0 + math.log(2.0) - 1.5)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_multipliers_of_a_solution_prove_it_and_wrong_ones_do_not(size):
    C, tol = definite(4), 1e-8
    problem = Constrained(
        TermSum([LinearTerm(size * C), LogDet(N, size)]), [constraints.entries([0, 1], [1, 3], N, 0.0)]
    )
    result = solve(problem, tol=tol)
    assert result.status is Status.OPTIMAL
    y = result.certificate.constraints.multipliers
    assert certify(problem, result.matrix, tol=tol, dual=y).proves(tol)
    for wrong in (1.01 * y, -y, np.zeros_like(y), y + 0.01 * size):
        found = certify(problem, result.matrix, tol=tol, dual=wrong)
        assert not found.proves(tol)
        assert found.dual_value is None or found.dual_value <= result.value


def test_no_feasible_matrix_is_below_the_bound():
    rng, C = np.random.default_rng(5), definite(5)
    problem = problem_of(C, 0.7, 0.0)
    result = solve(problem, tol=1e-7)
    bound = result.certificate.dual_value
    M = result.matrix.to_dense()
    for _ in range(20):
        E = rng.standard_normal((N, N))
        E = E + E.T
        E[0, 1] = E[1, 0] = 0.0
        E[2, 2] = -abs(E[2, 2])
        P = M + rng.uniform(0.0, 0.3) * np.linalg.eigvalsh(M)[0] * E / np.linalg.norm(E)
        assert np.sum(C * P) - 0.7 * np.linalg.slogdet(P)[1] + 0.5 >= bound
