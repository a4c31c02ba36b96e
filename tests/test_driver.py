"""Rules of the loop that need a certificate or a method made to misbehave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import psdopt.driver
from psdopt import FlatQuotient, Method, Outcome, State, Status, solve
from psdopt.linalg.arrays import norm

from .test_solve import planted


@dataclass(frozen=True)
class LongSteps(Method):
    """Gradient descent on Y with a step far too long; it notices when Y has grown a thousandfold."""

    step_length: float = 3.0

    def init(self, problem, geometry, start, evaluation=None):
        evaluation = problem.at(start) if evaluation is None else evaluation
        return State(problem, geometry, start, evaluation, gradient_norm=norm(evaluation.factor_gradient()))

    def step(self, state):
        if norm(state.point) > 1e3:
            return replace(state, outcome=Outcome.DIVERGED)
        Y = state.point - self.step_length * state.evaluation.factor_gradient()
        evaluation = state.problem.at(Y)
        return State(state.problem, state.geometry, Y, evaluation, gradient_norm=norm(evaluation.factor_gradient()))


def test_a_method_that_diverges_is_called_so_and_its_best_point_is_kept():
    problem, _ = planted(np.random.default_rng(0))
    result = solve(problem, FlatQuotient(12, 4), LongSteps(), rng=0)
    assert result.status is Status.DIVERGED
    assert result.status.label == "diverged"
    assert not result.optimal
    assert not result.converged
    values = result.history["value"]
    assert values[-1] > 1e3 * abs(values[1:].min())
    assert result.value == pytest.approx(values[1:].min(), rel=1e-9)
    assert result.certificate.relative > 1e-6


@dataclass(frozen=True)
class Fading(Method):
    """Stays where it starts, and claims a gradient that falls by the `factor` each step."""

    factor: float = 0.98
    descends = True

    def init(self, problem, geometry, start, evaluation=None):
        evaluation = problem.at(start)
        return State(problem, geometry, start, evaluation, gradient_norm=norm(evaluation.factor_gradient()))

    def step(self, state):
        return replace(state, gradient_norm=self.factor * state.gradient_norm)


@pytest.mark.parametrize(
    ("factor", "ends"),
    [
        (0.98, False),  # a tenth in six steps: progress, though no step takes a tenth
        (0.9999, True),  # two thousandths in the steps that are given
        (1.0, True),
    ],
)
def test_a_gradient_that_falls_slowly_is_progress_where_the_value_is_level(factor, ends):
    problem, _ = planted(np.random.default_rng(4))
    result = solve(problem, FlatQuotient(12, 4), Fading(factor), rng=0, max_iterations=200)
    assert (result.status is Status.NO_PROGRESS) == ends
    assert result.iterations == (psdopt.driver.IDLE_STEPS if ends else 200)


@pytest.mark.parametrize("limit", [{"max_iterations": 5}, {"max_time": 0.0}])
def test_budgets_hold_where_every_verdict_moves_the_run(monkeypatch, limit):
    """Each verdict takes the run to another state, and the limits are looked at all the same.

    The callback stops a run that passes its limit: it fails and does not go on for ever.
    """

    def moved(judge, stationarity, ended):
        run = judge.run
        run.go_on(judge.method, run.geometry, run.state.point, run.state.evaluation)

    monkeypatch.setattr(psdopt.driver.Judge, "is_due", lambda judge, stationarity: True)
    monkeypatch.setattr(psdopt.driver.Judge, "verdict", moved)
    problem, _ = planted(np.random.default_rng(0))
    steps = LongSteps(1e-6)
    result = solve(problem, FlatQuotient(12, 4), steps, rng=0, callback=lambda seen: seen.iteration >= 30, **limit)
    assert result.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    assert result.iterations <= 5
