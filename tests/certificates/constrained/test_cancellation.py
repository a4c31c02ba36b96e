"""Bounds from huge multipliers that cancel each other, against feasible matrices of integers, whose F is exact."""

from fractions import Fraction

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, certify, constraints
from psdopt.certificates.constrained.cancellation import exact_adjoint, without_cancellation


def program(seed: int, rho: int) -> tuple[Constrained, np.ndarray, np.ndarray, Fraction, np.ndarray]:
    """(problem, Y, y, min F, z): all data integers, Y Yᵀ and y a solution, and z near the null space of y ↦ A*(y)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    k = int(rng.integers(0, n + 1))
    U = np.triu(rng.integers(-1, 2, (n, n)), 1) + np.eye(n, dtype=int)
    V = np.rint(np.linalg.inv(U)).astype(int).T
    Y, Z = U[:, :k] @ rng.integers(-4, 5, (k, k)), V[:, k:] @ rng.integers(-4, 5, (n - k, n - k))
    A = [np.triu(rng.integers(-3, 4, (n, n))) for _ in range(n * (n + 1) // 2 + 2)]
    A = [np.eye(n, dtype=int), *(each + each.T for each in A)]
    M, y = Y @ Y.T, rng.integers(-3, 4, len(A))
    C = Z @ Z.T - sum(t * each for t, each in zip(y.tolist(), A, strict=True)) - rho * M
    F = QuadraticSDP(B=0.5 * rho, C=0.5 * C) if rho else QuadraticSDP(C=0.5 * C)
    held = constraints.sparse_forms([1.0 * each for each in A], [float(np.sum(each * M)) for each in A])
    problem = Constrained(F, held)
    null = np.linalg.svd(problem.forms.B.toarray())[0][:, n * (n + 1) // 2 :]
    z = null @ rng.standard_normal(null.shape[1])
    exact = Fraction(int(np.sum(C * M))) + Fraction(rho, 2) * int(np.sum(M * M))
    return problem, (Y if k else np.zeros((n, 1))).astype(float), y.astype(float), exact, z


@pytest.mark.parametrize("rho", [0, 1])
@pytest.mark.parametrize("t", [1e4, 1e8, 1e14, 1e20])
def test_no_multipliers_prove_more_than_the_minimum(t, rho) -> None:
    for seed in range(40):
        problem, Y, y, exact, z = program(seed, rho)
        for sign in (1.0, -1.0):
            certificate = certify(problem, Y, dual=y + sign * t * z)
            if (bound := certificate.dual_value) is not None:
                allowed = 1e-14 * (1.0 + abs(float(exact))) + certificate.rounding
                assert float(Fraction(bound) - exact) <= allowed, (seed, bound, float(exact))


def test_multipliers_of_one_size_with_the_gradient_leave_the_slack_as_it_is() -> None:
    problem, Y, y, _, _ = program(5, 0)
    S = problem.conic.dense_slack(y)
    assert without_cancellation(problem, problem.at(Y), y, S) is S


def test_the_adjoint_is_exact_to_its_own_rounding() -> None:
    problem, _, y, _, z = program(5, 0)
    y, forms = y + 1e12 * z, problem.forms
    found, B = exact_adjoint(forms, y).toarray(), forms.B.toarray()
    assert np.array_equal(found, found.T)
    for k, (i, j) in enumerate(zip(forms.i, forms.j, strict=True)):
        exact = sum((Fraction(a) * Fraction(b) for a, b in zip(B[:, k].tolist(), y.tolist(), strict=True)), Fraction(0))
        assert found[i, j] == pytest.approx(float(forms.halves[k]) * float(exact), rel=1e-15)
