"""Newton on the factor and the multipliers of constraints: local convergence, first multipliers, spare columns."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import Constrained, FlatQuotient, QuadraticSDP, certify, constraints
from psdopt.constraints.slack import slack_operator
from psdopt.method import Outcome
from psdopt.methods import ClosedForm
from psdopt.methods.constrained_steps import ConstrainedSteps, least_squares_multipliers
from tests.graphs import random_laplacian


def cut(n: int, seed: int = 0) -> Constrained:
    return Constrained(QuadraticSDP(C=-random_laplacian(n, seed) / 8), constraints.diagonal(n, 1.0))


def curved(n: int = 8, seed: int = 0) -> Constrained:
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((n, n))
    return Constrained(
        QuadraticSDP(A=G @ G.T / n, B=0.5, C=G + G.T),
        [constraints.trace(n, 2.0), constraints.entries([0, 1], [1, 2], n, lower=-0.1, upper=[0.05, 0.2])],
    )


@pytest.mark.parametrize("seed", range(3))
def test_local_convergence_is_quadratic_and_the_end_is_certified(seed) -> None:
    problem, method = cut(40, seed), ConstrainedSteps()
    state = method.init(problem, FlatQuotient(40, 10), np.random.default_rng(seed).standard_normal((40, 10)))
    residuals = [state.residual]
    while state.outcome is Outcome.RUNNING:
        state = method.step(state)
        residuals.append(state.residual)
    assert len(residuals) <= 25
    near = [k for k, e in enumerate(residuals) if e <= 1e-3]
    assert near
    assert len(residuals) - near[0] <= 6  # 1e-3, 1e-6, 1e-12, rounding
    certificate = certify(problem, state.evaluation, tol=1e-9, dual=state.dual)
    assert certificate.proves(1e-9)


def test_least_squares_multipliers_leave_the_least_pull() -> None:
    rng = np.random.default_rng(0)
    problem = cut(9)
    here = problem.at(rng.standard_normal((9, 3)))
    y = least_squares_multipliers(problem.constrained_fit(), here)
    pulls = [np.linalg.norm(slack_operator(problem, here, y + h) @ here.factor)
             for h in (0.0, *1e-4 * rng.standard_normal((8, 9)))]  # fmt: skip
    assert pulls[0] == min(pulls)
    mixed = curved()
    above = mixed.at(rng.standard_normal((8, 8)))
    y = least_squares_multipliers(mixed.constrained_fit(), above)
    a = mixed.measured(above.factor)
    loose = mixed.lower < mixed.upper
    assert np.all(y[loose & (a > mixed.upper)] >= 0.0)
    assert np.all(y[loose & (a < mixed.lower)] <= 0.0)
    assert np.all(y[loose & (a >= mixed.lower) & (a <= mixed.upper)] == 0.0)


def test_columns_to_spare_and_repeated_constraints_do_no_harm() -> None:
    problem, method = cut(12), ConstrainedSteps()
    twice = Constrained(problem.problem, 2 * list(problem.constraints))
    values = []
    for each, columns in ((problem, 6), (problem, 12), (twice, 6)):
        state = method.init(each, FlatQuotient(12, columns), np.random.default_rng(1).standard_normal((12, columns)))
        for _ in range(40):
            state = method.step(state)
            if state.outcome is not Outcome.RUNNING:
                break
        assert state.residual <= 1e-8
        values.append(state.evaluation.value)
    assert np.ptp(values) <= 1e-8 * abs(values[0])


def test_zero_and_what_has_no_constraints() -> None:
    problem, method = cut(5), ConstrainedSteps()
    zero = method.init(problem, FlatQuotient(5, 2), np.zeros((5, 2)))
    assert method.step(zero).outcome is Outcome.STALLED
    assert ClosedForm().on(problem) == ClosedForm()
