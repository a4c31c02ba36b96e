"""How runs end, and the answers of methods under constraints."""

import numpy as np
import pytest

from psdopt import (
    Constrained,
    FlatQuotient,
    Outcome,
    PSDCone,
    QuadraticSDP,
    Spectraplex,
    Status,
    certify,
    constraints,
    methods,
    solve,
)
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint
from psdopt.methods.frank_wolfe import VARIANTS
from psdopt.testing.constrained import DenseConstraints
from tests.methods.constrained import cut, intervals, random_program, theta

FALLING = [
    methods.BlockConjugateGradient("none"), methods.ConjugateGradient(), methods.LBFGS(),
    methods.ConjugateGradient("none"), methods.TruncatedNewton(),
]  # fmt: skip
RESTING = [*FALLING, methods.TrustRegions()]


@pytest.mark.parametrize("method", RESTING, ids=str)
@pytest.mark.parametrize(
    "start", [np.eye(3), np.zeros((3, 3)), np.ones((3, 3)) / np.sqrt(3.0)], ids=["I", "0", "rank one"]
)
def test_at_rest_no_step_is_taken(method, start):
    """F = |M − T|² at M = T, of full rank and of a factor with too many columns; and at M = 0."""
    problem = QuadraticSDP(B=1.0, C=-start @ start.T)
    after = method.step(method.init(problem, FlatQuotient(3, 3), start))
    assert (after.outcome, after.step, after.ray) == (Outcome.STALLED, 0.0, None)


@pytest.mark.parametrize("method", FALLING, ids=str)
def test_where_f_falls_for_ever_the_ray_is_shown(method):
    start = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    after = method.step(method.init(QuadraticSDP(C=-np.eye(3)), FlatQuotient(3, 2), start))
    assert (after.outcome, after.step) == (Outcome.UNBOUNDED, 0.0)
    np.testing.assert_allclose(after.ray / np.linalg.norm(after.ray), start / np.linalg.norm(start), rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_at_the_optimum_of_a_fixed_trace_no_step_is_taken(variant):
    problem, geometry, method = (
        QuadraticSDP(B=1.0, C=-np.diag([2.0, 0.0])),
        Spectraplex(2),
        methods.FrankWolfe(variant=variant),
    )
    state = method.step(method.init(problem, geometry, geometry.from_factor(np.eye(2)[:, :1])))
    assert (state.outcome, state.step) == (Outcome.STALLED, 0.0)


def test_the_closed_form_ends_with_one_step_of_length_one():
    """At M = I: S = 2 (I − T)."""
    method, problem = methods.EigenSplitting(), QuadraticSDP(None, 1.0, -np.diag([3.0, 2.0, -1.0]))
    state = method.init(problem, PSDCone(3), np.eye(3))
    assert state.gradient_norm == pytest.approx(4.0 * np.sqrt(4.0 + 1.0 + 4.0), rel=1e-12)
    after = method.step(state)
    assert (after.step, after.outcome) == (1.0, Outcome.FINISHED)
    assert after.gradient_norm == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(after.evaluation.matrix.to_dense(), np.diag([3.0, 2.0, 0.0]), atol=1e-12)


METHODS = [AugmentedLagrangian(), BoundaryPoint(), InteriorPoint()]
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


@pytest.mark.parametrize("method", [AugmentedLagrangian(), InteriorPoint()])
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
