"""The first penalty: it scales with the objective, with M, and not with the units of a constraint."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, TermSum, constraints
from psdopt.constraints.augmented.start import STIFF, first_multipliers, stiff_penalty
from psdopt.terms import Entries, LeastSquares, MeasuredTerm

N = 8


def first(c: float = 1.0, s: float = 1.0, units: float = 1.0) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    G, i = rng.standard_normal((N, N)), np.arange(N)
    forms = constraints.SparseForms(i, i, np.diag(np.where(i == 2, units, 1.0)), N)
    group = constraints.sparse_forms(forms, s * np.where(i == 2, units, 1.0))
    problem = Constrained(QuadraticSDP(C=0.5 * c * (G + G.T)), group)
    return first_multipliers(problem, problem.at(np.sqrt(s) * rng.standard_normal((N, 3))))


def test_scales() -> None:
    sigma, size = first()
    assert first(c=1e6) == pytest.approx((1e6 * sigma, 1e6 * size))
    assert first(s=1e4) == pytest.approx((1e-4 * sigma, size))
    assert first(units=1e5) == pytest.approx((sigma, size))


def test_an_objective_of_zero_has_a_penalty_all_the_same() -> None:
    sigma, size = first(c=0.0)
    assert sigma > 0.0
    assert size > 0.0


def test_beside_a_quadratic_f_of_entries_the_penalty_is_a_multiple_of_its_curvature() -> None:
    """Of equal weights the curvature is about the same in every direction, whatever M and the bounds are."""
    i, j = np.triu_indices(N)
    for w in (1e-3, 1.0, 1e6):
        fit = TermSum([MeasuredTerm(Entries(i, j, N), LeastSquares(np.zeros(len(i)), np.full(len(i), w)))])
        problem = Constrained(fit, constraints.diagonal(N, 1e6))
        assert 0.3 * STIFF * w <= stiff_penalty(problem) <= 2.0 * STIFF * w


@pytest.mark.parametrize(
    "F", [QuadraticSDP(C=np.eye(N)), QuadraticSDP(A=np.diag([1e8, *np.zeros(N - 1)]), C=np.eye(N))]
)
def test_a_linear_f_and_one_with_a_stiff_direction_leave_it_alone(F) -> None:
    problem = Constrained(F, constraints.diagonal(N, 1.0))
    assert stiff_penalty(problem) == 0.0


def test_one_stiff_measurement_counts_for_no_more_than_all_others() -> None:
    """A weight of 1e8 on one entry changes the penalty by a factor of two at most."""
    i, j = np.triu_indices(N)

    def penalty(first: float) -> float:
        w = np.ones(len(i))
        w[0] = first
        fit = TermSum([MeasuredTerm(Entries(i, j, N), LeastSquares(np.zeros(len(i)), w))])
        return stiff_penalty(Constrained(fit, constraints.diagonal(N, 1.0)))

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
