"""The feasible matrix of constraints alone: found, the same each time, and None where there is none."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.constraints.feasible import REACHED

RNG = np.random.default_rng(0)
FORMS = [(A + A.T) / 2.0 for A in RNG.standard_normal((4, 5, 5))]
INSIDE = np.cov(RNG.standard_normal((5, 9)))


@pytest.mark.parametrize(
    "groups",
    [
        [constraints.diagonal(5, 1.0)],
        [constraints.trace(5, 3.0), constraints.entries([0, 1], [1, 2], 5, [0.5, -0.25])],
        [constraints.sparse_forms(FORMS, [float(np.sum(A * INSIDE)) for A in FORMS])],
        [constraints.entries([0], [1], 5, lower=0.25), constraints.diagonal(5, upper=1.0)],
        [constraints.entries([0, 1], [1, 2], 5, lower=0.0)],
    ],
    ids=["diagonal", "trace-and-entries", "forms", "inequalities", "homogeneous"],
)
def test_what_is_found_is_feasible(groups):
    problem = Constrained(QuadraticSDP(C=np.eye(5)), groups)
    Y = problem.feasible_factor
    assert Y is not None
    assert relative_violation(problem, problem.measured(Y), Y) <= 10.0 * REACHED
    assert problem.feasible_factor is Y


def test_on_a_face():
    """⟨u uᵀ, M⟩ = 0: steps stay where M u = 0."""
    u = np.ones(4)
    held = [constraints.sparse_forms([np.outer(u, u)], 0.0), constraints.trace(4, 2.0)]
    Y = Constrained(QuadraticSDP(C=np.eye(4)), held).feasible_factor
    assert Y is not None
    assert np.linalg.norm(u @ Y) <= 1e-12
    assert np.sum(Y**2) == pytest.approx(2.0)


def test_scales_of_constraints_change_nothing():
    values = [float(np.sum(A * INSIDE)) for A in FORMS]
    scales = [1e6, 1e-3, 1.0, 10.0]
    F = QuadraticSDP(C=np.eye(5))
    plain = Constrained(F, constraints.sparse_forms(FORMS, values)).feasible_factor
    scaled = constraints.sparse_forms(
        [s * A for s, A in zip(scales, FORMS, strict=True)], [s * v for s, v in zip(scales, values, strict=True)]
    )
    assert Constrained(F, scaled).feasible_factor == pytest.approx(plain, rel=1e-6, abs=1e-8)


def test_none_where_nothing_is_feasible():
    problem = Constrained(
        QuadraticSDP(C=np.eye(3)), [constraints.diagonal(3, 1.0), constraints.entries([0], [1], 3, 2.0)]
    )
    assert problem.feasible_factor is None
