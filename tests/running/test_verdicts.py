"""What a run may be called: each word is earned by evaluation, not by a method's say."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import Ability, LowRankPSD, MarginProblem, Outcome, QuadraticSDP, Status, TermSum, solve
from psdopt.certificates.certify import certify
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone
from psdopt.methods import BILGO, LBFGS, ConjugateGradient, ProjectedGradient, TrustRegions
from psdopt.running.verdicts import without_minimum
from psdopt.terms import LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms

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
    narrow = solve(BOUNDED, FlatQuotient(2, 1), FalseAlarm(rays=rays), rng=3)
    assert narrow.status is Status.NO_PROGRESS
    assert "evaluation did not" in narrow.message


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


def falling(seed: int, n: int = 4, bend: float = 0.0) -> TermSum:
    """A fit of three of the four directions of a random basis; along the fourth F falls, and `bend` turns it up."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    weights = np.r_[bend, rng.uniform(0.5, 2.0, n - 1)]
    loss = LeastSquares(np.r_[1.0 / bend if bend else 0.0, rng.standard_normal(n - 1)], weights)
    pull = -1.0 if bend == 0.0 else 0.0
    return TermSum([MeasuredTerm(QuadraticForms(Q.T), loss), LinearTerm(pull * np.outer(Q[:, 0], Q[:, 0]))])


PAIRS = [
    (None, None),
    (FlatQuotient(4, 4), ConjugateGradient()),
    (FlatQuotient(4, 4), LBFGS()),
    (FlatQuotient(4, 4), TrustRegions()),
    (PSDCone(4), BILGO()),
    (Polar(4, 4), ConjugateGradient()),
]


@pytest.mark.parametrize(("geometry", "method"), PAIRS, ids=lambda piece: type(piece).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_an_objective_without_minimum_is_told_within_few_steps(geometry, method, seed):
    """Not after the limit of steps, at a trace of 1e60 where nothing but rounding is left of F."""
    result = solve(falling(seed), geometry, method, rng=seed, max_iterations=300)
    assert result.status is Status.UNBOUNDED
    assert result.certificate.trace < 1e100


@pytest.mark.parametrize(("geometry", "method"), PAIRS, ids=lambda piece: type(piece).__name__)
@pytest.mark.parametrize("bend", [1e-2, 1e-5, 1e-8])
def test_a_minimum_far_out_is_no_lack_of_one(geometry, method, bend):
    """F bends up at trace 1/bend, which runs come near to from a start of trace 1, a thousandfold at a time."""
    result = solve(falling(1, bend=bend), geometry, method, rng=0, max_iterations=300)
    assert result.status is not Status.UNBOUNDED


@pytest.mark.parametrize("metric", ["affine-invariant", "log-euclidean", "von-neumann"])
@pytest.mark.parametrize("seed", range(2))
def test_margins_that_can_be_scaled_without_end_are_unbounded_on_definite_matrices(metric, seed):
    forms = QuadraticForms(np.random.default_rng(seed).standard_normal((30, 3)))
    smooth = MarginProblem(forms, 0.2).smoothed(0.1)
    result = solve(smooth, PositiveDefinite(3, metric=metric), ConjugateGradient(), rng=seed, max_iterations=200)
    assert result.status is Status.UNBOUNDED
    assert result.iterations <= 50


def test_where_the_trace_is_fixed_or_constraints_hold_no_evaluation_far_out_counts():
    problem = falling(0)
    evaluation = problem.at(1e3 * np.eye(4))
    certificate = certify(problem, evaluation)

    def told(geometry, problem=problem):
        state = SimpleNamespace(evaluation=evaluation, ray=None)
        run = SimpleNamespace(geometry=geometry, inner_tol=1e-6, state=state)
        return without_minimum(certificate, run, problem, 1.0)

    assert told(FlatQuotient(4, 4))
    assert not told(FixedTrace(4, 4, 4e6))
    held = falling(0)
    held.abilities |= {Ability.CONSTRAINTS}
    assert not told(FlatQuotient(4, 4), held)
