"""What a run may be called: each word is earned by evaluation, not by a method's say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from psdopt import (
    ConjugateGradient,
    FlatQuotient,
    LowRankPSD,
    Outcome,
    ProjectedGradient,
    PSDCone,
    QuadraticSDP,
    Status,
    solve,
)
from psdopt.certificate import certify
from psdopt.verdicts import settled

e = np.eye(2)
BOUNDED = QuadraticSDP(None, 1.0, -np.diag([1.0, 2.0]))


@dataclass(frozen=True)
class FalseAlarm(ConjugateGradient):
    """Says after a step that F is unbounded, along whatever ray it is told to."""

    rays: str = "none"

    def step(self, state):
        moved = super().step(state)
        Y = moved.evaluation.factor
        ray = {"none": None, "zero": 0.0 * Y, "own": Y, "nan": np.nan * Y}[self.rays]
        return replace(moved, outcome=Outcome.UNBOUNDED, ray=ray)


@pytest.mark.parametrize("rays", ["none", "zero", "own", "nan"])
def test_a_method_that_cries_unbounded_is_not_believed(rays):
    result = solve(BOUNDED, FlatQuotient(2, 2), FalseAlarm(rays=rays), rng=3)
    assert result.status is not Status.UNBOUNDED
    assert result.status in (Status.NO_PROGRESS, Status.OPTIMAL)


def test_the_message_says_that_the_ray_did_not_hold():
    result = solve(BOUNDED, FlatQuotient(2, 1), FalseAlarm(), rng=3)
    assert result.status is Status.NO_PROGRESS
    assert "evaluation did not" in result.message


def test_a_ray_that_holds_is_believed():
    problem = QuadraticSDP(C=np.diag([1.0, -1.0]))
    result = solve(problem, FlatQuotient(2, 2), ConjugateGradient(), rng=0)
    assert result.status is Status.UNBOUNDED
    assert result.state.ray is not None


def test_a_certificate_that_holds_settles_the_run():
    optimum = certify(BOUNDED, np.diag(np.sqrt([1.0, 2.0])), tol=1e-6)
    verdict = settled(optimum, 1e-6)
    assert verdict is not None
    assert verdict[0] is Status.OPTIMAL
    assert settled(certify(BOUNDED, e[:, :1], tol=1e-6), 1e-6) is None


@dataclass(frozen=True)
class Idle(ProjectedGradient):
    """Says at every point that nothing is left to do."""

    def step(self, state):
        return replace(state, outcome=Outcome.FINISHED)


def test_a_point_of_the_full_cone_that_the_certificate_refutes_is_left():
    """At M = 0 the plane of the least eigenvector shows a better matrix: the run goes on from there, and is proven."""
    problem = QuadraticSDP(B=1.0, C=np.diag([1e7, -1.0]))
    result = solve(problem, PSDCone(2), Idle(), start=LowRankPSD(np.zeros((2, 1))))
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(-1.0)
    assert result.iterations > 0
