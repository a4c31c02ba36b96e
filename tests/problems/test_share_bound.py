"""Lower bounds from a share of the curved part: below F everywhere, sharp at the optimum, and cheap."""

from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import ConjugateGradient, EntryFit, FlatQuotient, LowRankPSD, Status, TermSum, certify, solve
from psdopt.contracts.gradient import dense_gradient
from psdopt.linalg.definite import largest_share
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.terms import IdentityForm, LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms, SquaredHinge
from psdopt.testing import run_checks

N, M = 6, 20


def hinges(seed, pull=None, constant=0.0):
    """⟨C, N⟩ + Σ max(0, 1 − vᵀN v)² for random vectors v, C = I unless given."""
    rng = np.random.default_rng(seed)
    C = np.eye(N) if pull is None else pull
    V = rng.standard_normal((M, N)) * 10.0 ** rng.uniform(-0.3, 0.3, N)
    forms = MeasuredTerm(QuadraticForms(V), SquaredHinge(1.0), 1.0)
    return TermSum([LinearTerm(C), forms], constant)


def bound_at(problem, Y):
    return problem.duality.dual_bound(problem.at(Y))


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_known_at_every_matrix_and_below_f(seed):
    problem = hinges(seed, constant=np.random.default_rng(100 + seed).standard_normal())
    (record,) = run_checks(problem, only=["problem.dual_bound"])
    assert record.ok, record
    for k in (1, 2, N):
        for e in (-3.0, -1.0, 0.0, 1.0):
            evaluation = problem.at(np.random.default_rng(k).standard_normal((N, k)) * 10.0**e)
            bound = problem.duality.dual_bound(evaluation)
            assert bound is not None
            assert problem.duality.dual_bound(evaluation, S=dense_gradient(evaluation)) == bound


@pytest.mark.parametrize("seed", range(3))
def test_at_the_optimum_the_bound_is_the_minimum(seed):
    problem = hinges(seed)
    result = solve(problem, FlatQuotient(N, N), tol=1e-7, rng=0)
    assert result.status is Status.OPTIMAL
    unit = problem.at(np.zeros((N, 1))).value - result.value
    assert 0.0 <= result.value - bound_at(problem, result.matrix.factor) <= 1e-6 * unit


@pytest.mark.parametrize("seed", range(3))
def test_few_squares_with_a_pull_are_proven_where_the_smallest_eigenvalue_is_rounding(seed):
    """Without curvature in most directions, S = C + G with λ_min = −1e-15 is a proof only by a share of the squares."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(12, 1)
    kept = rng.choice(len(i), 30, replace=False)
    Y = rng.standard_normal((12, 3))
    problem = EntryFit(0.1 * np.eye(12), i[kept], j[kept], np.sum(Y[i[kept]] * Y[j[kept]], axis=1))
    result = solve(problem, FlatQuotient(12, 12), ConjugateGradient(), tol=1e-8, rng=0)
    assert result.status is Status.OPTIMAL
    found = problem.duality.dual_bound(problem.at(result.matrix.factor))
    unit = problem.at(np.zeros((12, 1))).value - result.value
    assert 0.0 <= result.value - found <= 1e-8 * unit


def test_a_pull_that_is_not_semidefinite_is_taken_where_the_sum_is():
    """C need not be semidefinite: C + θ G ⪰ 0 is all that is used; where no θ is proven there is no bound."""
    pull = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -1e-3])
    problem = hinges(0, pull)
    found = bound_at(problem, 1e-6 * np.eye(N))
    assert found is None or all(problem.at(t * np.eye(N)[:, [5]]).value >= found for t in (0.0, 0.1, 1.0, 10.0))
    without = TermSum([LinearTerm(-np.eye(N)), MeasuredTerm(QuadraticForms(np.eye(N)[:1]), SquaredHinge(1.0), 1.0)])
    assert bound_at(without, np.eye(N)) is None


def test_a_certificate_next_to_the_optimum_costs_one_gradient():
    """The bound is proof enough: no matrix near M is evaluated at n columns, and S is formed once."""
    problem = hinges(1)
    Y = 1.001 * solve(problem, FlatQuotient(N, N), tol=1e-7, rng=0).matrix.factor
    bound_at(problem, Y)  # the pull is kept
    before = problem.counts()["operator_columns"]
    certificate = certify(problem, LowRankPSD(Y), tol=1e-2, proof="needed")
    assert certificate.dual_value is not None
    assert certificate.gap_relative <= 1e-2
    assert problem.counts()["operator_columns"] - before <= 6 * N  # an S that is formed again would take 2 N more


def test_quadratic_sums_keep_their_constant():
    """Least squares have a proof of their own; the bound is that of a sum that is nowhere negative."""
    problem = TermSum([MeasuredTerm(QuadraticForms(np.eye(N)), LeastSquares(np.ones(N)), 1.0)], 0.5)
    assert bound_at(problem, np.eye(N)) == 0.5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_bound_nothing(bad):
    """S, the value or C beyond the range of numbers: only c is left, which C ⪰ 0 proves."""
    problem = hinges(0, IdentityForm(N), 0.75)
    evaluation = problem.at(0.5 * np.eye(N))
    S = dense_gradient(evaluation)
    S[1, 1] = bad
    bound = problem.duality.dual_bound
    assert bound(evaluation) > 0.75
    assert bound(evaluation, S=S) == bound(SimpleNamespace(**seen(evaluation, value=bad))) == 0.75
    problem.duality.pull[2, 2] = np.nan
    assert bound(evaluation) == 0.75


def seen(evaluation, **changed):
    return {name: getattr(evaluation, name) for name in ("problem", "factor", "value", "gradient")} | changed


@pytest.mark.parametrize("n", [DENSE_LIMIT, DENSE_LIMIT + 1])
def test_beyond_the_dense_order_s_is_not_formed_for_the_bound(n):
    term = MeasuredTerm(QuadraticForms(np.eye(n)[:2]), SquaredHinge(1.0), 1.0)
    problem = TermSum([LinearTerm(IdentityForm(n)), term], 0.25)
    bound = bound_at(problem, np.eye(n)[:, :1])
    assert bound > 0.25 if n <= DENSE_LIMIT else bound == 0.25


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_sums_that_are_semidefinite_up_to_rounding_keep_their_share(seed, unit):
    """As at an optimum, where C + G is singular; the rounding that is allowed is that of either of them."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((N, 2))
    C = unit * V @ V.T
    assert largest_share(C, C) == 1.0
    assert largest_share(C, -0.5 * C) == 1.0
    assert largest_share(C, -4.0 * C) == pytest.approx(0.25, rel=1e-2)
    lifted = unit * (V @ V.T + np.eye(N))
    assert largest_share(lifted, C - lifted) == 1.0
    assert largest_share(lifted, 2.0 * (C - lifted)) == pytest.approx(0.5, rel=1e-2)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_thelargest_share_by_hand(unit):
    """C + θ G ⪰ 0 for C = diag(1, 4) and G with a negative eigenvalue: θ = min(1, −1 / λ_min(G, C))."""
    C = unit * np.diag([1.0, 4.0])
    for diagonal, expected in (((-2.0, 1.0), 0.5), ((-0.5, -2.0), 1.0), ((-1.25, -16.0), 0.25), ((3.0, 0.0), 1.0)):
        share = largest_share(C, unit * np.diag(diagonal))
        assert expected * (1.0 - 1e-5) <= share <= expected
    assert largest_share(np.zeros((2, 2)), np.zeros((2, 2))) == 1.0
    assert largest_share(unit * np.diag([-1.0, 1.0]), unit * np.diag([0.5, 0.0])) is None
    assert largest_share(unit * np.diag([-1.0, 1.0]), unit * np.diag([2.0, 0.0])) == 1.0
    # rows of very different units
    D = np.diag([1e-4, 1e4])
    assert largest_share(D @ C @ D, D @ (unit * np.array([[-2.0, 0.1], [0.1, 1.0]])) @ D) == pytest.approx(
        largest_share(C, unit * np.array([[-2.0, 0.1], [0.1, 1.0]])), rel=1e-4
    )
    empty = np.diag([1.0, 0.0])  # a row without entries in either
    assert largest_share(unit * empty, -2.0 * unit * empty) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("size", [1e8, 1e14, 1e20, 1e40])
def test_a_share_is_proven_in_its_own_units(size):
    """Beside a G that is far larger, what C lacks counted as rounding, and shares of 1e-14 were proven whatever C."""
    C, G = np.diag([1.0, 2.0]), size * np.array([[-1.0, 0.3], [0.3, 1.0]])
    share = largest_share(C, G)
    assert share is None or np.linalg.eigvalsh(C + share * G)[0] >= -1e-12
    assert share == pytest.approx(1.0 / size, rel=0.5)
    assert largest_share(np.zeros((2, 2)), G) is None
