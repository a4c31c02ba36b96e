"""−ν log det of a block as a term: formulas on lines and planes, the boundary, scales, bad input, the kit."""

import math
from fractions import Fraction

import numpy as np
import pytest

from psdopt import FlatQuotient, TermSum, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms import LinearTerm, LogDet
from psdopt.testing import run_checks
from tests.instances import psd

N, ROWS = 6, [4, 0, 3]


def value(M: np.ndarray, nu: float, rows: list[int]) -> float:
    return -nu * np.linalg.slogdet(M[np.ix_(rows, rows)])[1]


@pytest.mark.parametrize("term", [LogDet(5), LogDet(N, 0.3, ROWS), LogDet(3, 1e6), LogDet(2, 1.0, [1])])
def test_it_passes_the_kit(term):
    assert [str(record) for record in run_checks(term) if not record.ok] == []


@pytest.mark.parametrize("term", [LogDet(4, 0.5), LogDet(4, 0.5, [0, 2])])
def test_a_sum_with_it_passes_the_kit(term):
    C = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.3
    assert [str(record) for record in run_checks(TermSum([LinearTerm(C), term])) if not record.ok] == []


@pytest.mark.parametrize("columns", [3, 6, 9])
def test_lines_have_the_values_and_slopes_of_differences(columns):
    rng = np.random.default_rng(columns)
    Y, D = rng.standard_normal((2, N, columns))
    line = TermSum([LogDet(N, 0.7, ROWS)]).at(Y).along(D)
    for mu in (-1.3, 0.0, 0.2, 5.0):
        Z = Y + mu * D
        assert line.value(mu) == pytest.approx(value(Z @ Z.T, 0.7, ROWS), rel=1e-10)
        first, second = line.derivatives(mu)
        h = 1e-5
        ahead, back = line.value(mu + h), line.value(mu - h)
        assert first == pytest.approx((ahead - back) / (2.0 * h), rel=1e-6, abs=1e-6)
        assert second == pytest.approx((line.derivatives(mu + h)[0] - line.derivatives(mu - h)[0]) / (2 * h), rel=1e-5)


def test_gradient_and_hessian_are_those_of_differences():
    rng = np.random.default_rng(1)
    problem, h = TermSum([LogDet(N, 1.5, ROWS)]), 1e-5
    Y, D = rng.standard_normal((2, N, N))
    slope = (problem.at(Y + h * D).value - problem.at(Y - h * D).value) / (2.0 * h)
    assert np.sum(problem.at(Y).factor_gradient() * D) == pytest.approx(slope, rel=1e-7)
    bend = (problem.at(Y + h * D).factor_gradient() - problem.at(Y - h * D).factor_gradient()) / (2.0 * h)
    np.testing.assert_allclose(problem.at(Y).hessian_vector(D), bend, rtol=1e-5, atol=1e-6 * np.abs(bend).max())


def test_it_is_infinite_where_the_block_is_singular_and_finite_where_another_is():
    Y = np.random.default_rng(2).standard_normal((N, 2))
    assert TermSum([LogDet(N)]).at(Y).value == np.inf
    assert TermSum([LogDet(N, 1.0, ROWS)]).at(Y).value == np.inf
    assert np.isfinite(TermSum([LogDet(N, 1.0, [1, 5])]).at(Y).value)
    square = np.random.default_rng(2).standard_normal((N, N))
    square[0] = square[1]
    assert TermSum([LogDet(N)]).at(square).value == np.inf
    assert TermSum([LogDet(N)]).at(np.zeros((N, 1))).value == np.inf


def test_units_of_rows_do_not_make_a_block_singular():
    d = 10.0 ** np.linspace(-12.0, 12.0, N)
    Y = np.random.default_rng(3).standard_normal((N, N))
    plain, scaled = (TermSum([LogDet(N)]).at(each).value for each in (Y, d[:, None] * Y))
    assert scaled == pytest.approx(plain - 2.0 * np.sum(np.log(d)), abs=1e-9)


def test_searches_stop_at_the_boundary():
    """On the line from Y through a singular matrix the minimiser is where F is finite and least."""
    problem = TermSum([LinearTerm(np.eye(2)), LogDet(2)])
    Y = np.diag([2.0, 0.5])
    line = problem.at(Y).along(np.diag([-1.0, 0.0]))
    assert line.value(2.0) == np.inf
    best = line.minimize()
    assert best == pytest.approx(1.0, rel=1e-6)  # d/dt (t² − 2 log t) = 0 at t = 1
    alpha, beta = problem.at(Y).along_atom(np.array([0.0, 1.0])).minimize()
    grid = [
        problem.at(Y).along_atom(np.array([0.0, 1.0])).value(a, b) for a in (0.1, 0.3, 1.0) for b in (0.0, 0.5, 2.0)
    ]
    assert alpha > 0.0
    assert problem.at(Y).along_atom(np.array([0.0, 1.0])).value(alpha, beta) <= min(grid)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_without_constraints_the_minimiser_is_a_multiple_of_the_inverse(size):
    C = size * (psd(np.random.default_rng(4), N, N) + 0.2 * np.eye(N))
    result = solve(TermSum([LinearTerm(C), LogDet(N, 2.0)]), FlatQuotient(N, N), tol=1e-8)
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense() @ C, 2.0 * np.eye(N), atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((3, 0.0), InvalidInputError, "weight"),
        ((3, 1.0, [0, 0]), InvalidInputError, "rows must be distinct"),
        ((3, 1.0, []), InvalidInputError, "rows must be distinct"),
        ((3, 1.0, [3]), InvalidInputError, "rows"),
        ((0,), InvalidInputError, "n must"),
        ((3, 1.0, [0.5]), InvalidTypeError, "rows"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, error, words):
    with pytest.raises(error, match=words):
        LogDet(*arguments)


@pytest.mark.parametrize("spread", [1e4, 1e5])
def test_the_value_keeps_the_digits_of_the_factor_where_M_has_lost_them(spread: float) -> None:
    """Rows that differ little from their mean: the condition of M is the square of that of Y."""
    for seed in range(6):
        Y = np.random.default_rng(seed).standard_normal((5, 5)) + spread
        Y *= 10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, (5, 1))
        rows, det = [[Fraction(float(a)) for a in row] for row in Y], Fraction(1)
        for k in range(5):
            det *= rows[k][k]
            for i in range(k + 1, 5):
                share = rows[i][k] / rows[k][k]
                rows[i] = [a - share * b for a, b in zip(rows[i], rows[k], strict=True)]
        expected = -2.0 * (math.log(abs(det.numerator)) - math.log(det.denominator))
        assert TermSum([LogDet(5)]).at(Y).value == pytest.approx(expected, rel=0.0, abs=3e-12 * spread)
