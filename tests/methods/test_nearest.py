"""The dual of a nearest matrix under equations: values, directions and solutions against dense arrays."""

import numpy as np

from psdopt import Constrained, EntryFit, constraints
from psdopt.methods.nearest import Model, decomposed, newton_direction, searched, solution


def parts(n=7, rho=1.7):
    rng = np.random.default_rng(0)
    C = rng.standard_normal((n, n))
    groups = [constraints.diagonal(n, 1.0), constraints.entries([0], [2], n, 0.2)]
    problem = Constrained(EntryFit(None, [0], [1], [0.5], n=n), groups)
    return problem, Model(rho, C + C.T), problem.forms


def adjoint(problem, y):
    A = np.diag(y[:-1])
    A[0, 2] = A[2, 0] = 0.5 * y[-1]
    return A


def test_the_dual_function_and_its_gradient():
    known = problem, model, _ = parts()
    y = 0.3 * np.arange(8.0) - 1.0

    def dense(y):
        values = np.linalg.eigvalsh(-model.C - adjoint(problem, y))
        return np.sum(np.maximum(values, 0.0) ** 2) / (2.0 * model.rho) + y @ problem.lower

    values, V, theta = decomposed(known, y)
    assert np.isclose(theta, dense(y))
    Y = V[:, values > 0.0] * np.sqrt(values[values > 0.0] / model.rho)
    slopes = [(dense(y + 1e-6 * e) - dense(y - 1e-6 * e)) / 2e-6 for e in np.eye(8)]
    assert np.allclose(problem.lower - problem.measured(Y), slopes, atol=1e-6)


def test_newton_directions_descend_and_the_search_takes_no_rise():
    known = problem, model, _ = parts()
    y = np.zeros(8)
    values, V, theta = decomposed(known, y)
    Y = V[:, values > 0.0] * np.sqrt(values[values > 0.0] / model.rho)
    residual = problem.scale * (problem.measured(Y) - problem.lower)
    d = newton_direction(known, values, V, residual, 50)
    slope = -float(residual @ d)
    assert slope < 0.0
    t, there, (_, _, lower) = searched(known, y, problem.scale * d, theta, slope)
    assert lower < theta
    assert np.allclose(there, y + t * problem.scale * d)
    assert searched(known, y, -problem.scale * d, theta, -slope) is None  # uphill
    assert searched(known, y, -problem.scale * d, theta, slope) is None  # a slope that is not the function's


def test_the_solution_meets_the_equations_as_closely_as_it_moved():
    known = problem, model, _ = parts()
    y, Y, residual = solution(known, np.zeros(8), np.zeros((7, 7)), 100)
    M = Y @ Y.T
    assert np.linalg.norm(residual) <= 1e-3 * np.linalg.norm(M)
    assert np.allclose(residual, problem.scale * (problem.measured(Y) - problem.lower))
    S = model.rho * M + model.C + adjoint(problem, y)
    assert np.linalg.eigvalsh(S)[0] >= -1e-10
    assert abs(np.sum(S * M)) <= 1e-10
    closer = solution(known, y, M, 100)[2]
    assert np.linalg.norm(closer) <= 1e-6
