"""Points of least distance to the bounds: feasible ones, and multipliers that refute the others."""

import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, QuadraticSDP, constraints
from psdopt.certificates.constrained.refutation import proven_infeasible
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.methods.augmented_lagrangian.phase_one import phase_one

N = 8


@pytest.mark.parametrize("seed", range(5))
def test_feasible_points_are_found(seed) -> None:
    """Equations, bounds on one side and on two, rows scaled by 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((N, 3))
    A = [H + H.T for H in rng.standard_normal((6, N, N))]
    a = np.array([np.sum(each * (G @ G.T)) for each in A])
    scale = 10.0 ** rng.integers(-6, 7, 6)
    scaled = [s * each for s, each in zip(scale, A, strict=True)]
    groups = [
        constraints.sparse_forms(scaled[:2], scale[:2] * a[:2]),
        constraints.sparse_forms(scaled[2:4], upper=scale[2:4] * a[2:4]),
        constraints.sparse_forms(A[4:], lower=a[4:] - 0.1, upper=a[4:] + 0.1),
        constraints.trace(N, float(np.sum(G * G))),
    ]  # fmt: skip
    problem = Constrained(QuadraticSDP(C=np.eye(N)), groups)
    Y, _ = phase_one(problem)
    assert relative_violation(problem, problem.measured(Y), Y) <= 1e-8


def test_multipliers_of_the_nearest_point_refute() -> None:
    minor = [constraints.entries([0, 0], [0, 1], N, [1.0, 3.0]), constraints.entries([1], [1], N, upper=2.0)]
    problem = Constrained(QuadraticSDP(C=np.eye(N)), minor)
    Y, y = phase_one(problem)
    assert relative_violation(problem, problem.measured(Y), Y) > 0.1
    assert proven_infeasible(problem, [y]) is not None


def test_f_is_not_evaluated() -> None:
    calls = []

    def value(M):
        calls.append(1)
        return (M**2).sum()

    problem = Constrained(AutogradProblem(value, 4, convex=True), constraints.diagonal(4, 1.0))
    before = len(calls)
    phase_one(problem)
    assert len(calls) == before
