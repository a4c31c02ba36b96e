"""When the certificate is asked about a run, what one that fails leads to, and the words that a run earns."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

import psdopt.running.escape
import psdopt.running.judge
from psdopt import (
    Ability,
    Constrained,
    LowRankPSD,
    MarginProblem,
    Outcome,
    QuadraticSDP,
    Status,
    TermSum,
    constraints,
    solve,
)
from psdopt.certificates.certify import certify
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone
from psdopt.methods import BILGO, LBFGS, ConjugateGradient, ProjectedGradient, TrustRegions
from psdopt.running.stopping import SmallStationarity
from psdopt.running.verdicts import without_minimum
from psdopt.terms import LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms
from tests.running.problems import Waiting, planted

TOL = 1e-5


def asked(result):
    """(iteration, stationarity) of each certificate of a run but the last."""
    at = np.flatnonzero(np.isfinite(result.history["certificate"]))
    return at, result.history["stationarity"][at]


def spoiled(monkeypatch, misses, residual):
    """The k-th certificate of a run misses by misses[k] tolerances in one residual; no gap takes its place."""
    original, left = psdopt.running.judge.certify, iter(misses)

    def certify(*args, **kwargs):
        certificate, miss = original(*args, **kwargs), next(left, 0.0)
        missed = {"gap": None, "gap_relative": None, "decrease": 0.0, "descent": None, residual: miss * TOL}
        return replace(certificate, **missed) if miss else certificate

    monkeypatch.setattr(psdopt.running.judge, "certify", certify)


def test_a_run_that_gets_longer_is_asked_again_though_stationarity_stands_still(monkeypatch):
    problem, _ = planted(np.random.default_rng(2))
    geometry = FlatQuotient(12, 4)
    start = solve(problem, geometry, ConjugateGradient(), tol=1e-9, stopping=SmallStationarity(0.5 * TOL)).point
    spoiled(monkeypatch, [100.0, 100.0, 100.0], "complementarity_relative")
    result = solve(problem, geometry, Waiting(), start=start, tol=TOL, max_iterations=1000)
    assert result.optimal
    assert asked(result)[0].tolist() == [0, 10, 20, 30]


def test_a_widened_run_settles_before_it_is_judged_again():
    """Ten steps, or until stationarity is slight beside its target, which it had reached at the widening."""
    problem, best = planted(np.random.default_rng(3))
    result = solve(problem, FlatQuotient(12, 1), ConjugateGradient(), rng=0, escape=True)
    assert result.optimal
    assert result.value - best <= 1e-6 * abs(best)
    at, widened = asked(result)[0], np.flatnonzero(np.isfinite(result.history["widened_to"]))
    assert len(widened) >= 1
    assert set(widened) < set(at)
    for iteration in widened:
        following, stationarity = at[at > iteration].min(), result.history["stationarity"]
        early = following < iteration + psdopt.running.escape.SETTLING
        assert not early or stationarity[following] <= 0.1 * stationarity[iteration]


def test_a_rank_that_is_far_too_small_is_left_before_the_run_is_stationary():
    """A full-rank solution, begun with 10 columns: the target of stationarity at a settled rank is 3e-5."""
    n, rng = 60, np.random.default_rng(0)
    G = rng.standard_normal((n, n))
    problem = QuadraticSDP(B=1.0, C=-(G @ G.T) / n)
    start = 0.3 * rng.standard_normal((n, 10))
    result = solve(problem, FlatQuotient(n, 10), ConjugateGradient(), start=start, escape=True)
    assert result.optimal
    stationarity = result.history["stationarity"]
    first = widenings(result)[0]
    assert 1e-3 < stationarity[first] < 1e-2
    assert np.all(stationarity[:first] > stationarity[first])


def missed(monkeypatch, columns, method, misses, **options):
    """A run from an optimum of rank 3 in `columns` columns, whose k-th certificate misses by misses[k] tolerances."""
    problem, _ = planted(np.random.default_rng(2))
    values, V = np.linalg.eigh(solve(problem, tol=1e-3 * TOL).matrix.to_dense())
    # off by a known share: stationarity 1.4e-6 is below tol and above tol / 10, where it is not asked again
    start = (1.0 + 3e-7) * (V * np.sqrt(np.maximum(values, 0.0)))[:, -columns:]
    spoiled(monkeypatch, misses, "dual_infeasibility_relative")
    monkeypatch.setattr(psdopt.running.judge, "widened", lambda evaluation, *args, **options: evaluation)
    given = {"tol": TOL, "escape": True, "max_iterations": 500, **options}
    return solve(problem, FlatQuotient(12, columns), method, start=start, **given)


def widenings(result):
    return np.flatnonzero(np.isfinite(result.history["widened_to"])).tolist()


def test_a_run_whose_widening_waits_is_not_called_stationary(monkeypatch):
    monkeypatch.setattr(psdopt.running.judge, "MINOR", 1.0)  # nothing finer to aim at: asked in every step
    result = missed(monkeypatch, 4, Waiting(), [100.0] * 100, max_iterations=90)
    assert result.status is Status.ITERATION_LIMIT
    assert widenings(result) == [0, 10, 30, 70]


@dataclass(frozen=True)
class Resting(Waiting):
    """Stays where it starts, and says at iteration 15 that it can do no more."""

    seen: list = field(default_factory=list)

    def step(self, state):
        self.seen.append(1)
        return replace(state, outcome=Outcome.STALLED if len(self.seen) == 15 else Outcome.RUNNING)


def test_a_method_that_has_ended_does_not_wait_for_a_widening(monkeypatch):
    result = missed(monkeypatch, 4, Resting(), [100.0] * 3)
    assert widenings(result) == [0, 10, 15]
    assert result.optimal


def test_a_miss_by_far_asks_for_columns_though_one_is_to_spare():
    """At a loose tolerance stationarity does not explain λ_min(S), and a column that hardly counts is no help."""
    problem, _ = planted(np.random.default_rng(0))
    values, V = np.linalg.eigh(solve(problem, tol=1e-8).matrix.to_dense())
    spare = 1e-3 * np.random.default_rng(1).standard_normal(12)
    start = np.column_stack([np.sqrt(values[-1]) * V[:, -1], spare])  # the first of three directions
    result = solve(problem, FlatQuotient(12, 2), Waiting(), start=start, tol=0.2, escape=True, max_iterations=1)
    first = result.history.records[0]
    assert 0.05 < first["stationarity"] <= 0.2
    assert first["widened_to"] > 2


def test_where_the_bound_is_weak_the_residuals_are_told_as_well(monkeypatch):
    """Next to the optimum the only lower bound may be 0: the gap alone would say that nothing was reached."""
    original = psdopt.running.judge.certify

    def certify(*args, **kwargs):
        return replace(original(*args, **kwargs), gap=1.0, gap_relative=0.5)

    monkeypatch.setattr(psdopt.running.judge, "certify", certify)
    problem = planted(np.random.default_rng(3))[0]
    result = solve(problem, FlatQuotient(problem.n, problem.n), ConjugateGradient(), tol=1e-16, max_iterations=2000)
    assert result.status is Status.NO_PROGRESS
    assert result.certificate.residual < 1e-5
    assert f"relative gap 0.5, relative residuals {result.certificate.residual:.2g}" in result.message


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


def test_zero_is_not_certified_where_constraints_exclude_it(monkeypatch):
    """F >= F(0) everywhere, so that M = 0 would be best if it were feasible."""
    orders, original = [], psdopt.running.judge.certify
    monkeypatch.setattr(
        psdopt.running.judge, "certify", lambda *a, **k: orders.append(np.size(a[1])) or original(*a, **k)
    )
    n = 4
    for lower, optimal_at_zero in ((1.0, False), (-1.0, True)):
        orders.clear()
        group = constraints.entries([0, 0], [1, 2], n, lower=lower, upper=2.0)
        result = solve(Constrained(QuadraticSDP(C=np.eye(n)), group), rng=0)
        assert result.optimal
        assert (result.matrix.trace() < 1e-5) is optimal_at_zero
        assert len(orders) == 1


@pytest.mark.parametrize(
    ("C", "A", "lower"),
    [
        (np.diag([0.0, 1.0, 1.0]), [[[0, 16, 32], [16, 0, 1], [32, 1, 0]], [[0, 0, 0], [0, 1, -1], [0, -1, 1]]], 0.0),
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [[[0, -1], [-1, 0]]], -3.0),
    ],
)
def test_a_run_without_progress_ends_at_zero_where_that_is_feasible_and_better(C, A, lower) -> None:
    """F >= 0 = F(0), and along rays of feasible M it rises without end: a run ended at 4e7, far out on one."""
    rows = constraints.sparse_forms([np.array(each, dtype=float) for each in A], lower=lower, upper=0.0)
    result = solve(Constrained(QuadraticSDP(C=C), rows))
    assert abs(result.value) <= 1e-6
