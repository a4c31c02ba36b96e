"""The kit's dense twins of linear constraints, against problems whose solution is known by construction."""

import numpy as np
import pytest

from psdopt import certify, solve
from psdopt.testing.constrained import DenseConstraints, conic_optimum, multipliers_of, with_groups
from psdopt.testing.gallery import constrained_problems

PROBLEMS = constrained_problems()
Y_STAR = np.array([-0.5, 0.4, 0.7, 0.0])


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_solution_is_the_one_that_was_planted(name) -> None:
    problem = PROBLEMS[name]
    result = solve(problem, tol=1e-9)
    assert result.optimal
    assert np.allclose(result.certificate.constraints.multipliers, np.resize(Y_STAR, problem.m), atol=2e-4)
    values = np.linalg.eigvalsh(result.matrix.to_dense())
    assert np.allclose(values[-2:], [1.0, 2.0], atol=1e-4)
    assert np.allclose(values[:-2], 0.0, atol=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_dense_bounds_are_those_of_certificates(name) -> None:
    problem, rng = PROBLEMS[name], np.random.default_rng(0)
    dense = DenseConstraints(problem)
    for _ in range(5):
        Y, y = rng.standard_normal((problem.n, 2)), rng.standard_normal(problem.m)
        certificate = certify(problem, Y, dual=y)
        bound = dense.bound(Y, dense.admissible(y), problem.trace_limit.value)
        assert certificate.dual_value >= bound - 1e-6 * abs(bound)  # rounding, and strong convexity may give more
        missed = certificate.constraints.primal_infeasibility
        assert missed == pytest.approx(dense.relative_violation(Y @ Y.T), rel=1e-9)
        assert np.allclose(dense.measured(Y @ Y.T), problem.measured(Y))


@pytest.mark.parametrize("name", PROBLEMS)
def test_units_scale_the_planted_problem(name) -> None:
    plain, scaled = PROBLEMS[name], constrained_problems(c=10.0, s=3.0)[name]
    Y = np.random.default_rng(1).standard_normal((6, 3))
    assert scaled.at(np.sqrt(3.0) * Y).value == pytest.approx(10.0 * plain.at(Y).value)
    assert np.allclose(scaled.upper, 3.0 * plain.upper)


def test_the_conic_solver_agrees() -> None:
    pytest.importorskip("cvxpy")
    problem = PROBLEMS["linear under constraints"]
    assert conic_optimum(problem).value == pytest.approx(solve(problem, tol=1e-8).value, abs=1e-6)
    assert DenseConstraints(problem).largest_trace == pytest.approx(3.0, abs=1e-6)


def test_a_twin_under_other_constraints_keeps_its_class() -> None:
    problem = PROBLEMS["linear under constraints"]

    class Other(type(problem)):
        """A problem with a class of its own."""

    mine = Other(problem.problem, problem.constraints)
    assert isinstance(with_groups(mine, list(mine.constraints[:1])), Other)
    assert multipliers_of(np.ones(3))[0].shape == (3,)
