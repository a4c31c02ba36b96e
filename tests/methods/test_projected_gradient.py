"""The dense reference: optimum on both sets, monotone, acceleration helps on an ill-conditioned problem."""

import numpy as np
import pytest

import psdopt
from psdopt import PSDCone, QuadraticSDP
from psdopt.errors import InvalidInputError
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.methods.projected_gradient import ProjectedGradient


def problem_of(condition, n=12, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.geomspace(1.0, condition**-0.5, n)) @ Q.T
    C = rng.standard_normal((n, n))
    return QuadraticSDP(A, None, C + C.T - 2 * np.eye(n))


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("geometry", [PSDCone(12), Spectraplex(12, 3.0)])
def test_optimal_and_monotone(accelerated, geometry):
    problem = problem_of(4.0)
    result = psdopt.solve(problem, geometry, ProjectedGradient(accelerated), tol=1e-6)
    values = result.history["value"]
    assert result.optimal
    assert np.all(np.diff(values) <= 1e-12 * np.abs(values[:-1]))
    if isinstance(geometry, PSDCone):
        best = problem.at(problem.solve_in_closed_form().factor).value
        assert result.value == pytest.approx(best, rel=1e-6)


def test_acceleration_needs_fewer_steps():
    problem = problem_of(100.0)
    steps = [psdopt.solve(problem, PSDCone(12), ProjectedGradient(a), tol=1e-5).iterations for a in (True, False)]
    assert steps[0] < 0.7 * steps[1]


def test_the_first_step_is_in_the_units_of_the_problem():
    """F(M / s) from s times the start: the same steps, where a Lipschitz constant of 1 would be far off."""
    rng = np.random.default_rng(1)
    C, Y = rng.standard_normal((12, 12)), rng.standard_normal((12, 3))
    C = C + C.T
    runs = []
    for s in (1.0, 2.0**60, 2.0**-60):
        problem = QuadraticSDP(None, 1.0 / s**2, C / s)
        start = psdopt.LowRankPSD(np.sqrt(s) * Y)
        runs.append(psdopt.solve(problem, PSDCone(12), ProjectedGradient(), start=start, tol=1e-6))
        assert runs[-1].optimal
    assert len({run.iterations for run in runs}) == 1


def test_where_the_gradient_is_constant_a_step_is_as_long_as_m():
    linear = QuadraticSDP(None, None, 2.0**-70 * np.eye(12))
    result = psdopt.solve(linear, PSDCone(12), ProjectedGradient(), rng=0, tol=1e-6)
    assert result.optimal
    assert result.iterations <= 10
    assert result.value == 0.0


def test_bad_parameter():
    with pytest.raises(InvalidInputError, match="accelerated"):
        ProjectedGradient("yes")
