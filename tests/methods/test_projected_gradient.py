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


def test_bad_parameter():
    with pytest.raises(InvalidInputError, match="accelerated"):
        ProjectedGradient("yes")
