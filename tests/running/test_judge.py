"""When the certificate is asked about a run, and what one that fails leads to."""

from dataclasses import dataclass, field, replace

import numpy as np

import psdopt.running.escape
import psdopt.running.judge
from psdopt import ConjugateGradient, FlatQuotient, Outcome, Status, solve
from psdopt.running.stopping import SmallStationarity
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
    problem, best = planted(np.random.default_rng(3))
    result = solve(problem, FlatQuotient(12, 1), ConjugateGradient(), rng=0, escape=True)
    assert result.optimal
    assert result.value - best <= 1e-6 * abs(best)
    at, widened = asked(result)[0], np.flatnonzero(np.isfinite(result.history["widened_to"]))
    assert len(widened) >= 1
    assert set(widened) < set(at)
    for iteration in widened:
        assert at[at > iteration].min() >= iteration + psdopt.running.escape.SETTLING


def missed(monkeypatch, columns, method, misses, **options):
    """A run from an optimum of rank 3 in `columns` columns, whose k-th certificate misses by misses[k] tolerances."""
    problem, _ = planted(np.random.default_rng(2))
    values, V = np.linalg.eigh(solve(problem, tol=1e-3 * TOL).matrix.to_dense())
    # off by a known share: stationarity 1.4e-6 is below tol and above tol / 10, where it is not asked again
    start = (1.0 + 3e-7) * (V * np.sqrt(np.maximum(values, 0.0)))[:, -columns:]
    spoiled(monkeypatch, misses, "dual_infeasibility_relative")
    monkeypatch.setattr(psdopt.running.judge, "widened", lambda evaluation, *args: evaluation)
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
