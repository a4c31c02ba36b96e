"""The gallery's sums of squares: Gram matrices reproduce their polynomials, bounds are the least values."""

import numpy as np
import pytest
from scipy.optimize import minimize

from psdopt import Status, solve


@pytest.fixture(scope="module")
def page(run):
    return run("graphs_and_matrices/plot_sum_of_squares.py")


def test_the_bound_of_the_camel_is_its_least_value_and_the_moments_give_the_minima(page):
    gram, value, camel = page["gram"], page["value"], page["camel"]
    least = minimize(lambda x: value(camel, *x), page["best"] + 0.01, tol=1e-12)
    np.testing.assert_allclose(least.x, page["best"], atol=1e-5)
    problem, z = gram(camel)
    result = solve(problem, tol=1e-9)
    assert result.optimal
    assert -result.value == pytest.approx(least.fun, abs=1e-7)
    x = np.random.default_rng(0).uniform(-2.0, 2.0, (20, 2))
    Z = np.prod(x[:, None] ** z, axis=2)
    squares = np.einsum("ti,ij,tj->t", Z, result.matrix.to_dense(), Z)
    np.testing.assert_allclose(squares, value(camel, *x.T) + result.value, atol=1e-6)


def test_the_bound_of_squares_with_a_common_root_is_zero(page):
    """p = (x − y + 1)² + (xy − 2)² + 3, so that γ = 3 at x = 1, y = 2; three variables, of which one does not count."""
    p = {(2, 0, 0): 1.0, (0, 2, 0): 1.0, (1, 1, 0): -6.0, (1, 0, 0): 2.0, (0, 1, 0): -2.0, (2, 2, 0): 1.0}
    p[0, 0, 0] = 1.0 + 4.0 + 3.0
    result = solve(page["gram"](p)[0])
    assert result.optimal
    assert p[0, 0, 0] - result.value == pytest.approx(3.0, abs=1e-5)


def test_motzkins_polynomial_is_no_sum_of_squares_but_a_multiple_is(page):
    assert solve(page["gram"](page["motzkin"])[0]).status is Status.INFEASIBLE
    assert page["result"].optimal
    assert page["result"].value == pytest.approx(1.0, abs=1e-6)
