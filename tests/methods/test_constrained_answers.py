"""Methods under constraints agree with a conic solver, and say of what has no optimum what it is."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained.certify import Multipliers
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint, LagrangeNewton
from psdopt.testing.constrained import DenseConstraints
from tests.methods.constrained import cut, intervals, random_program, theta

METHODS = [AugmentedLagrangian(), BoundaryPoint(), InteriorPoint(), LagrangeNewton()]
PROBLEMS = {"cut": cut(20), "theta": theta(14, 0.3, 0), "intervals": intervals(), "program": random_program(6, 4, 5)}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_optima_are_those_of_a_conic_solver(kind, method):
    pytest.importorskip("cvxpy")
    result = solve(PROBLEMS[kind], method=method, max_iterations=20_000)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(DenseConstraints(PROBLEMS[kind]).optimum.value, rel=3e-6)


CONTRADICTIONS = {
    "bounds": lambda n: [constraints.entries([1], [1], n, lower=1.0), constraints.entries([1], [1], n, upper=0.5)],
    "equations": lambda n: [
        constraints.entries([0, 1], [0, 1], n, [1.0, 2.0]),
        constraints.sparse_forms([np.diag([1.0, 1.0] + [0.0] * (n - 2))], 4.0),
    ],
    "entry": lambda n: [constraints.entries([0], [0], n, upper=-1.0), constraints.entries([1], [1], n, 1.0)],
    "minor": lambda n: [
        constraints.entries([0, 0], [0, 1], n, [1.0, 3.0]),
        constraints.entries([1], [1], n, upper=2.0),
    ],
}


@pytest.mark.parametrize("kind", CONTRADICTIONS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("method", [AugmentedLagrangian(), InteriorPoint()])
def test_contradictions_without_a_bound_on_the_trace_are_proven(kind, sign, method) -> None:
    """Also where F falls along a direction in which the constraints have no end: nothing feasible is unbounded."""
    n = 4
    problem = Constrained(QuadraticSDP(C=sign * np.eye(n)), CONTRADICTIONS[kind](n))
    assert problem.trace_limit is None
    result = solve(problem, method=method, max_iterations=100)
    assert result.status is Status.INFEASIBLE
    y = result.certificate.constraints.infeasibility_proof
    assert problem.support(y) < 0.0
    assert np.linalg.eigvalsh(problem.forms.matrix(y).toarray())[0] >= -1e-14


@pytest.mark.parametrize("method", [AugmentedLagrangian(), InteriorPoint(), LagrangeNewton()])
def test_unbounded_is_said_at_a_feasible_point(method) -> None:
    n = 4
    problem = Constrained(
        QuadraticSDP(C=np.diag([1.0, 1.0, 1.0, -1.0])), constraints.entries([0, 1], [0, 1], n, [1.0, 2.0])
    )
    result = solve(problem, method=method, max_iterations=200)
    assert result.status is Status.UNBOUNDED
    assert result.certificate.constraints.primal_infeasibility <= 1e-6
    D = result.certificate.constraints.ray
    assert np.sum(problem.conic.C.toarray() * (D @ D.T)) < 0.0
    elsewhere = certify(problem, 2.0 * result.matrix.factor, dual=Multipliers(np.zeros(2), direction=D))
    assert elsewhere.constraints.ray is not None
    assert not elsewhere.unbounded  # that matrix is not feasible
