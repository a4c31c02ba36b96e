"""The preconditioner of the augmented Lagrangian inverts what it says; its first penalty and multipliers scale."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, Status, TermSum, constraints, solve
from psdopt.constraints.augmented.preconditioner import PenaltyPreconditioner
from psdopt.constraints.augmented.problem import augmented
from psdopt.constraints.augmented.row_curvature import inverse_by_rows
from psdopt.constraints.augmented.start import STIFF, first_multipliers, stiff_penalty
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import SLIGHT
from psdopt.terms import Entries, LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms

N, R = 6, 2
FIT = MeasuredTerm(QuadraticForms(np.eye(N)), LeastSquares(np.ones(N)))


def problem(kind: str) -> Constrained:
    G = np.random.default_rng(3).standard_normal((N, N))
    pairs = constraints.entries([0, 1], [1, 2], N, 0.5)
    coupled = [constraints.trace(N, 2.0), pairs, constraints.entries([3], [4], N, upper=9.0)]
    group = constraints.diagonal(N, 1.0) if kind == "rows" else coupled
    return Constrained(QuadraticSDP(C=0.5 * (G + G.T)), group)


@pytest.mark.parametrize("kind", ["rows", "coupled"])
def test_it_inverts_curvature_of_rows_and_gauss_newton(kind) -> None:
    constrained, rng = problem(kind), np.random.default_rng(4)
    m, Y = constrained.m, rng.standard_normal((N, R))
    w = rng.uniform(0.1, 50.0, m)
    w[:2] = 0.2, 0.9
    evaluation = augmented(constrained, rng.standard_normal(m), w).at(Y)
    inverse = evaluation.preconditioner()
    P = np.linalg.inv(np.column_stack([inverse(e.reshape(N, R)).ravel() for e in np.eye(N * R)]))
    term = evaluation.problem.terms[-1]
    y, second = term.loss.derivatives(evaluation.feature(len(evaluation.problem.terms) - 1))
    s = constrained.conic.slack(y).diagonal()
    s = 2.0 * np.maximum(s, SLIGHT * np.mean(np.abs(s)))
    forms = [constrained.forms.matrix(e).toarray() for e in np.eye(m)]
    J = np.array([2.0 * (A @ Y).ravel() for A in forms])
    expected = np.diag(np.repeat(s, R)) + J.T @ (second[:, None] * J)
    assert np.allclose(P, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_losses_of_measurements_in_f_count_like_the_penalty() -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((4, N)), rng.standard_normal((N, R))
    F = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(4)), 3.0)])
    constrained = Constrained(F, constraints.diagonal(N, 1.0))
    evaluation = augmented(constrained, rng.standard_normal(N), np.full(N, 7.0)).at(Y)
    inverse = evaluation.preconditioner()
    P = np.linalg.inv(np.column_stack([inverse(e.reshape(N, R)).ravel() for e in np.eye(N * R)]))
    J = np.array([2.0 * (A @ Y).ravel() for A in [np.outer(x, x) for x in X] + [np.diag(e) for e in np.eye(N)]])
    w = np.repeat([6.0, 7.0], [4, N])
    s = np.diag(P - J.T @ (w[:, None] * J)).reshape(N, R)
    assert np.allclose(P - J.T @ (w[:, None] * J), np.diag(s.ravel()), atol=1e-8 * np.abs(P).max())
    S = evaluation.gradient @ np.eye(N)
    expected = 2.0 * np.maximum(np.diag(S), SLIGHT * np.mean(np.abs(np.diag(S))))
    assert np.allclose(s, expected[:, None], rtol=1e-6)


@pytest.mark.parametrize("kind", ["rows", "coupled"])
def test_the_arc_leaves_what_stiff_constraints_measure_to_second_order(kind) -> None:
    """⟨A_t, M⟩ along Y + mu D + mu² Z has no mu² part; along the straight line it has ⟨A_t, D Dᵀ⟩."""
    constrained, rng = problem(kind), np.random.default_rng(5)
    Y, D = rng.standard_normal((2, N, R))
    tied = constrained.lower == constrained.upper  # the bound on an entry is far off, and resists nothing
    w = np.full(constrained.m, 1e6)
    y = np.where(tied, -w * (constrained.measured(Y) - constrained.lower), 0.0)  # F is not stiff but for the second
    Z = augmented(constrained, y, w).at(Y).bend(D)  # derivatives

    def second(path) -> np.ndarray:
        a, b, c = (constrained.measured(path(t)) for t in (-1e-2, 0.0, 1e-2))
        return ((a - 2.0 * b + c) / 2e-4)[tied]

    stretch = np.abs(second(lambda t: Y + t * D)).max()
    assert stretch > 0.1
    assert np.abs(second(lambda t: Y + t * D + t**2 * Z)).max() <= 1e-2 * stretch


def test_without_a_preconditioner_no_arc_is_known() -> None:
    Y = np.eye(N)[:, :R]
    assert QuadraticSDP(C=np.eye(N)).at(Y).bend(Y) is None
    assert TermSum([FIT]).at(Y).bend(Y) is None


@pytest.mark.parametrize(
    ("size", "places"), [(SPECTRUM_ORDER + 1, 4), (3, 2 * SPECTRUM_ORDER + 1)], ids=["forms", "places"]
)
def test_beyond_a_dense_system_it_takes_each_row_by_itself(size: int, places: int) -> None:
    n = int(np.sqrt(2.0 * places)) + 2
    i, j = np.triu_indices(n, 1)
    rng = np.random.default_rng(6)
    B = sp.csr_array(np.ones((size, places)) if places < 9 else sp.eye_array(size, places) + np.ones((size, places)))
    forms = constraints.SparseForms(i[:places], j[:places], B, n)
    constrained = Constrained(QuadraticSDP(C=np.eye(n)), constraints.sparse_forms(forms, 1.0))
    Y, R = rng.standard_normal((2, n, 2))
    evaluation = augmented(constrained, np.zeros(size), np.full(size, 0.5)).at(Y)
    s = 4.0 + 2.0 * forms.matrix(0.5 * (constrained.measured(Y) - 1.0)).diagonal()
    expected = inverse_by_rows(forms, Y, s, np.full(size, 0.5))(R)
    assert np.allclose(evaluation.preconditioner()(R), expected)
    assert not np.allclose(expected, R / s[:, None])


def test_terms_of_another_kind_leave_the_system_alone() -> None:
    F = QuadraticSDP(C=np.eye(N), A=np.eye(N) + 0.1)
    assert PenaltyPreconditioner.of(Constrained(F, constraints.diagonal(N, 1.0)), None) is None


def test_where_no_constraint_is_active_rows_are_divided_by_the_slack() -> None:
    constrained = Constrained(QuadraticSDP(C=np.diag(np.arange(1.0, N + 1.0))), constraints.diagonal(N, upper=1e3))
    inverse = augmented(constrained, np.zeros(N), np.ones(N)).at(np.eye(N)[:, :R]).preconditioner()
    D = np.random.default_rng(0).standard_normal((N, R))
    assert np.allclose(inverse(D), D / (4.0 * np.arange(1.0, N + 1.0))[:, None])


ORDER = 8


def test_beside_a_quadratic_f_of_entries_the_penalty_is_a_multiple_of_its_curvature() -> None:
    """Of equal weights the curvature is about the same in every direction, whatever M and the bounds are."""
    i, j = np.triu_indices(ORDER)
    for w in (1e-3, 1.0, 1e6):
        fit = TermSum([MeasuredTerm(Entries(i, j, ORDER), LeastSquares(np.zeros(len(i)), np.full(len(i), w)))])
        problem = Constrained(fit, constraints.diagonal(ORDER, 1e6))
        assert 0.3 * STIFF * w <= stiff_penalty(problem) <= 2.0 * STIFF * w


@pytest.mark.parametrize(
    "F", [QuadraticSDP(C=np.eye(ORDER)), QuadraticSDP(A=np.diag([1e8, *np.zeros(ORDER - 1)]), C=np.eye(ORDER))]
)
def test_a_linear_f_and_one_with_a_stiff_direction_leave_it_alone(F) -> None:
    problem = Constrained(F, constraints.diagonal(ORDER, 1.0))
    assert stiff_penalty(problem) == 0.0


def test_one_stiff_measurement_counts_for_no_more_than_all_others() -> None:
    """A weight of 1e8 on one entry changes the penalty by a factor of two at most."""
    i, j = np.triu_indices(ORDER)

    def penalty(first: float) -> float:
        w = np.ones(len(i))
        w[0] = first
        fit = TermSum([MeasuredTerm(Entries(i, j, ORDER), LeastSquares(np.zeros(len(i)), w))])
        return stiff_penalty(Constrained(fit, constraints.diagonal(ORDER, 1.0)))

    assert penalty(0.0) <= penalty(1e8) <= 2.0 * penalty(0.0)


def test_first_multipliers_are_those_of_least_squares() -> None:
    """size = |y| in units of 1/|A_t| of the y that makes |S Y| least, sigma = size over the size of the bounds."""
    rng = np.random.default_rng(3)
    forms = [np.diag([2.0, 0.0, 0.0]), np.diag([0.0, 1.0, -1.0]), np.ones((3, 3))]
    C = rng.standard_normal((3, 3))
    C = C + C.T
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(forms, [3.0, 0.5, 2.0]))
    Y = rng.standard_normal((3, 2))
    norms = np.array([np.linalg.norm(A) for A in forms])
    columns = np.array([(A @ Y).ravel() / w for A, w in zip(forms, norms, strict=True)]).T
    x = np.linalg.lstsq(columns, -(C @ Y).ravel(), rcond=None)[0]
    sigma, size = first_multipliers(problem, problem.at(Y))
    assert size == pytest.approx(np.linalg.norm(x), rel=1e-6)
    assert sigma == pytest.approx(size / np.linalg.norm(np.array([3.0, 0.5, 2.0]) / norms), rel=1e-6)


def test_without_bounds_or_multipliers_units_are_those_at_hand() -> None:
    """Bounds of zero: |A(M)| in their place. No pull: |∇F Y| / |Y|. M = 0 and F = 0: one."""
    A = np.diag([1.0, -1.0, 0.0])
    problem = Constrained(QuadraticSDP(C=0.5 * A), constraints.sparse_forms([A], 0.0))
    Y = np.diag([2.0, 1.0, 1.0])
    sigma, size = first_multipliers(problem, problem.at(Y))
    assert size == pytest.approx(np.sqrt(2.0), rel=1e-9)  # y = −1, |A| = √2
    assert sigma == pytest.approx(np.sqrt(2.0) / (3.0 / np.sqrt(2.0)), rel=1e-9)
    apart = Constrained(QuadraticSDP(C=0.5 * np.diag([0.0, 0.0, 6.0])), constraints.sparse_forms([A], 0.0))
    sigma, size = first_multipliers(apart, apart.at(np.diag([0.0, 0.0, 5.0])[:, 2:]))
    assert (size, sigma) == (pytest.approx(6.0), pytest.approx(6.0))
    none = Constrained(QuadraticSDP(C=np.zeros((3, 3))), constraints.sparse_forms([A], 0.0))
    assert first_multipliers(none, none.at(np.zeros((3, 1)))) == (1.0, 1.0)


def test_a_run_without_a_minimum_ends_where_measurements_of_a_huge_M_are_rounding() -> None:
    """F falls without end where the forms vanish; x_tᵀM x_t of an M of size 1e25 is then what cancellation leaves."""
    rng = np.random.default_rng(1)
    G, X = rng.standard_normal((N, N)), rng.standard_normal((3, N))
    F = TermSum([LinearTerm(G + G.T), MeasuredTerm(QuadraticForms(X), LeastSquares(-np.ones(3)))])
    result = solve(Constrained(F, constraints.trace(N, lower=1.0)), rng=1)
    assert result.status in (Status.NON_FINITE, Status.UNBOUNDED, Status.NO_PROGRESS)
