"""The bound of one vector of multipliers: its formula, where it is none, and on a face."""

import math

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints, solve
from psdopt.certificates.constrained.dual_bound import Bounded, dual_bound

N = 5


def symmetric(seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((N, N))
    return A + A.T


def bound_of(problem: Constrained, y: np.ndarray, Y: np.ndarray | None = None) -> Bounded:
    evaluation = problem.at(np.ones((N, 1)) if Y is None else Y)
    M = evaluation.factor @ evaluation.factor.T
    gradient = np.asarray(evaluation.gradient @ np.eye(N))
    offset = evaluation.value - float(np.sum(gradient * M))
    return dual_bound(problem, evaluation, offset, problem.admissible(y), 1e-9)


def test_with_a_fixed_trace_it_is_the_eigenvalue_times_the_trace() -> None:
    C = symmetric(0)
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.diagonal(N, 2.0))
    for seed in range(5):
        y = np.random.default_rng(seed).standard_normal(N)
        found = bound_of(problem, y)
        S = C + np.diag(y)
        assert np.allclose(found.S.toarray(), S, rtol=0, atol=1e-14)
        expected = -2.0 * y.sum() + 2.0 * N * np.linalg.eigvalsh(S)[0]
        assert found.base == pytest.approx(-2.0 * y.sum())
        assert found.bound == pytest.approx(expected, rel=1e-9)
        assert found.bound <= expected + 1e-12 * abs(expected)


def test_with_a_bounded_trace_positive_eigenvalues_are_worth_nothing() -> None:
    problem = Constrained(QuadraticSDP(C=0.5 * np.eye(N)), constraints.trace(N, upper=3.0))
    assert bound_of(problem, np.array([1.0])).bound == pytest.approx(-3.0)
    assert bound_of(problem, np.array([-1.0])).bound == pytest.approx(0.0)  # y < 0 has no bound to push against
    turned = Constrained(QuadraticSDP(C=-0.5 * np.eye(N)), constraints.trace(N, upper=3.0))
    assert bound_of(turned, np.array([0.25])).bound == pytest.approx(-0.75 - 0.75 * 3.0)


def test_without_a_bound_on_the_trace_only_a_slack_that_is_psd_proves() -> None:
    C = symmetric(3)
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.entries([0, 0], [0, 1], N, 1.0))
    assert problem.trace_limit is None
    none = bound_of(problem, np.zeros(2))
    assert none.bound is None
    assert none.rank()[0] == -math.inf
    definite = Constrained(QuadraticSDP(C=0.5 * (C + 20.0 * np.eye(N))), problem.constraints)
    some = bound_of(definite, np.array([0.5, -0.25]))
    assert some.bound == pytest.approx(-0.25)
    assert some.rank() > none.rank()


def test_rows_of_all_sizes_are_proven_psd_each_by_its_own_rounding() -> None:
    """λ_min(S) is 1e-22 |S|, and S is definite: no bound on the trace is needed."""
    D = 10.0 ** np.linspace(-11.0, 0.0, N)
    S = D[:, None] * (np.eye(N) + 0.1 * np.ones((N, N))) * D
    y = np.array([0.25])
    place = np.zeros((N, N))
    place[N - 1, N - 1] = 1.0
    problem = Constrained(QuadraticSDP(C=0.5 * (S - y[0] * place)), constraints.entries([N - 1], [N - 1], N, 1.0))
    found = bound_of(problem, y)
    assert found.bound == pytest.approx(-0.25)
    assert found.pair.lower_bound >= 0.0
    indefinite = S - y[0] * place
    indefinite[0, 1] = indefinite[1, 0] = 3.0 * D[0] * D[1]
    worse = Constrained(QuadraticSDP(C=0.5 * indefinite), problem.constraints)
    assert bound_of(worse, y).bound is None


def test_on_a_face_multipliers_of_its_own_rows_are_zero_and_the_rest_is_compressed() -> None:
    C = symmetric(4)
    forms = [np.ones((N, N)), np.eye(N)]
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(forms, [0.0, 2.0]))
    found = bound_of(problem, np.array([1e6, -0.5]))
    assert np.array_equal(found.y, [0.0, -0.5])
    P = np.eye(N) - np.ones((N, N)) / N
    inside = np.linalg.eigvalsh(P @ (C - 0.5 * np.eye(N)) @ P + 1e3 * np.ones((N, N)) / N)[0]
    assert found.bound == pytest.approx(1.0 + 2.0 * min(inside, 0.0), rel=1e-7)
    optimum = solve(problem, tol=1e-8).value
    assert found.bound <= optimum + 1e-7 * abs(optimum)


def test_curvature_bounds_where_the_trace_does_not() -> None:
    """F(N) = |N|²/2·2 − ⟨G, N⟩: no constraint bounds the trace, strong convexity does."""
    G = symmetric(5)
    problem = Constrained(QuadraticSDP(B=1.0, C=-G), constraints.entries([0], [1], N, 0.3))
    assert problem.trace_limit is None
    result = solve(problem, tol=1e-8)
    Y = result.matrix.factor
    best = bound_of(problem, result.certificate.constraints.multipliers, Y)
    off = bound_of(problem, result.certificate.constraints.multipliers + 0.05, Y)
    assert best.bound == pytest.approx(result.value, rel=1e-5)
    assert off.bound is not None
    assert off.bound < best.bound
    assert best.bound <= result.value + 1e-7 * abs(result.value)


@pytest.mark.parametrize("size", [0.3, 4.0])
@pytest.mark.parametrize("rho", [0.2, 3.0])
@pytest.mark.parametrize("least", [-2.5, -0.3, 0.4])
def test_a_strongly_convex_function_has_a_bound_where_the_slack_is_not_psd(size, rho, least) -> None:
    """base + λ tr M − n λ²/(2 rho) for λ = λ_min(S) < 0, without a bound on the trace; the base alone where S ⪰ 0."""
    M = size * np.diag([1.0, 2.0, 0.0, 0.0, 0.0])
    C = np.diag([1.0, 2.0, least, 3.0, 3.0]) - rho * M  # ∇F(M) = C + rho M
    problem = Constrained(QuadraticSDP(B=0.5 * rho, C=0.5 * C), constraints.entries([0], [1], N, 0.0))
    assert problem.trace_limit is None
    Y = np.sqrt(M)[:, :2]
    found, value = bound_of(problem, np.zeros(1), Y), problem.at(Y).value
    assert found.base == pytest.approx(value - 5.0 * size)
    expected = found.base if least > 0.0 else found.base + least * 3.0 * size - N * least**2 / (2.0 * rho)
    assert found.bound == pytest.approx(expected, rel=1e-9)
    assert found.bound <= value
    assert found.pair.lower_bound == pytest.approx(least, rel=1e-10)
