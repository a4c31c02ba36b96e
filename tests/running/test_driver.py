"""Rules of the loop that need a certificate or a method made to misbehave."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

import psdopt.running.driver
import psdopt.running.judge
from psdopt import Constrained, MaxTime, Method, Outcome, State, Status, ValueBelow, certify, constraints, solve
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.linalg import deadline
from psdopt.linalg.arrays import norm
from psdopt.methods import InteriorPoint
from psdopt.problems import QuadraticSDP
from psdopt.running.choose import choose
from psdopt.running.judge import Judge
from psdopt.running.patience import PATIENT_STEPS
from psdopt.running.stopping import MaxIterations
from psdopt.running.verdicts import CUTS
from tests.running.problems import Waiting, planted


@dataclass(frozen=True)
class LongSteps(Waiting):
    """Gradient descent on Y with a step far too long; it notices when Y has grown a thousandfold."""

    step_length: float = 3.0

    def step(self, state):
        if norm(state.point) > 1e3:
            return replace(state, outcome=Outcome.DIVERGED)
        Y = state.point - self.step_length * state.evaluation.factor_gradient()
        return self.init(state.problem, state.geometry, Y)


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
class Fading(Waiting):
    """Stays where it starts, and claims a gradient that falls by the `factor` each step."""

    factor: float = 0.98
    descends = True

    def step(self, state):
        return replace(state, gradient_norm=self.factor * state.gradient_norm)


@pytest.mark.parametrize(("factor", "ends"), [
    (0.98, False),  # a tenth in six steps: progress, though no step takes a tenth
    (0.9999, True),  # two thousandths in the steps that are given
    (1.0, True),
])  # fmt: skip
def test_a_gradient_that_falls_slowly_is_progress_where_the_value_is_level(factor, ends):
    problem, _ = planted(np.random.default_rng(4))
    result = solve(problem, FlatQuotient(12, 4), Fading(factor), rng=0, max_iterations=200)
    assert (result.status is Status.NO_PROGRESS) == ends
    assert result.iterations == (PATIENT_STEPS if ends else 200)


@pytest.mark.parametrize("limit", [{"max_iterations": 5}, {"max_time": 0.0}])
def test_budgets_hold_where_every_verdict_moves_the_run(monkeypatch, limit):
    """Each verdict takes the run to another state, and the limits are looked at all the same.

    The callback stops a run that passes its limit: it fails and does not go on for ever.
    """

    def moved(judge, stationarity, ended):
        run = judge.run
        run.go_on(judge.method, run.geometry, run.state.point, run.state.evaluation)

    monkeypatch.setattr(psdopt.running.driver.Judge, "is_due", lambda judge, stationarity: True)
    monkeypatch.setattr(psdopt.running.driver.Judge, "verdict", moved)
    problem, _ = planted(np.random.default_rng(0))
    steps = LongSteps(1e-6)
    result = solve(problem, FlatQuotient(12, 4), steps, rng=0, callback=lambda seen: seen.iteration >= 30, **limit)
    assert result.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)
    assert result.iterations <= 5


@dataclass(frozen=True)
class Late(Method):
    """At the minimiser from the first step on; it says so only after the sixth."""

    def init(self, problem, geometry, start, evaluation=None):
        return State(problem, geometry, start, evaluation or problem.at(start), gradient_norm=1.0, step=0.0)

    def step(self, state):
        M = state.problem.solve_in_closed_form()
        there = State(state.problem, state.geometry, M.factor, state.problem.at(M.factor), step=state.step + 1.0)
        return replace(there, gradient_norm=0.0 if there.step >= 6.0 else 1.0)


def quadratic():
    return QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, 3.0]))


@pytest.mark.parametrize("limit", [{"max_iterations": 2}, {"stopping": ValueBelow(-1.0)}, {"callback": lambda _: True}])
def test_what_only_the_cut_of_a_run_proves_does_not_end_the_resumed_run(tmp_path, limit):
    file, pieces = tmp_path / "run", (quadratic(), FlatQuotient(3, 2), Late())
    whole = solve(*pieces)
    cut = solve(*pieces, checkpoint=file, **limit)
    resumed = solve(*pieces, resume=file)
    assert cut.optimal
    assert cut.iterations < whole.iterations == 6
    np.testing.assert_array_equal(resumed.history["value"], whole.history["value"])
    np.testing.assert_array_equal(resumed.history["certificate"], whole.history["certificate"])
    assert (resumed.status, resumed.message) == (whole.status, whole.message)


def test_an_infeasible_problem_stays_infeasible(tmp_path):
    file = tmp_path / "run"
    rows = constraints.diagonal(3, [1.0, 1.0, 1.0]), constraints.trace(3, 5.0)
    pieces = Constrained(QuadraticSDP(C=np.eye(3)), list(rows)), PSDCone(3), InteriorPoint()
    whole = solve(*pieces, checkpoint=file)
    assert whole.status is Status.INFEASIBLE
    resumed = solve(*pieces, resume=file)
    assert (resumed.status, resumed.iterations) == (Status.INFEASIBLE, whole.iterations)


# --------------------------------------------------------------------------------------------------- what cuts a run


@pytest.mark.parametrize(("kind", "status"), CUTS.items())
def test_a_final_certificate_that_is_cut_is_none_and_said_to_be_missing(monkeypatch, kind, status):
    monkeypatch.setattr(Judge, "certify", raising(kind))
    result = solve(quadratic(), FlatQuotient(3, 2), Late(), max_iterations=2)
    assert result.status is Status.ITERATION_LIMIT
    assert result.certificate is None
    assert result.message.endswith(f"no certificate: {status.value.partition(';')[0]}")
    assert result.value == pytest.approx(-5.0)


def test_a_second_interrupt_in_the_final_certificate_returns_without_it(monkeypatch, tmp_path):
    monkeypatch.setattr(Judge, "certify", raising(KeyboardInterrupt))
    file, pieces = tmp_path / "run", (quadratic(), FlatQuotient(3, 2), Late())
    cut = solve(*pieces, callback=raising(KeyboardInterrupt), checkpoint=file)
    assert cut.status is Status.INTERRUPTED
    assert cut.certificate is None
    assert cut.iterations == 1
    monkeypatch.undo()
    assert solve(*pieces, resume=file).optimal


def test_a_lack_of_memory_in_a_callback_returns_the_best_point_and_says_what_did_not_fit():
    def callback(snapshot):
        raise MemoryError("298 GiB")

    cut = solve(quadratic(), FlatQuotient(3, 2), Late(), callback=callback)
    assert cut.iterations == 1
    assert cut.status is Status.OPTIMAL  # the certificate of the point so far holds
    assert "out of memory; the best point so far is kept (298 GiB)" in cut.message


@pytest.mark.parametrize(("kind", "told"), [(MemoryError, "MemoryError"), (KeyboardInterrupt, "interrupted")])
def test_a_checkpoint_that_is_cut_loses_no_result(monkeypatch, tmp_path, kind, told):
    monkeypatch.setattr(psdopt.running.driver, "save_checkpoint", raising(kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = solve(quadratic(), FlatQuotient(3, 2), Late(), checkpoint=tmp_path / "run")
    assert result.optimal
    assert result.message.endswith(f"the checkpoint was not written: {told}")


def raising(kind):
    def raises(*args, **options):
        raise kind

    return raises


@pytest.fixture
def slow(clock):
    """A method whose step takes 0.3 s, in three products."""

    class Slow(Late):
        def step(self, state):
            for _ in range(3):
                clock.time += 0.1
                deadline.ask()
            return super().step(state)

    return Slow()


def test_a_step_is_cut_at_the_limit_and_repeated_in_full_by_a_resumed_run(slow, tmp_path):
    file, pieces = tmp_path / "run", (quadratic(), FlatQuotient(3, 2), slow)
    cut = solve(*pieces, max_time=0.75, checkpoint=file)
    assert (cut.status, cut.message) == (Status.OPTIMAL, cut.message)
    assert "the time limit of 0.75 s was reached" in cut.message
    assert cut.iterations == 2
    assert cut.seconds == pytest.approx(0.8)
    resumed = solve(*pieces, resume=file)
    assert (resumed.status, resumed.iterations) == (Status.OPTIMAL, 6)


def test_the_limit_of_a_criterion_cuts_a_step_too(slow):
    cut = solve(quadratic(), FlatQuotient(3, 2), slow, stopping=MaxTime(0.35) | ValueBelow(-100.0), tol=1e-15)
    assert cut.iterations == 1
    assert cut.seconds == pytest.approx(0.4)
    assert cut.ended_by == MaxTime(0.35)


def test_a_result_names_the_criterion_at_which_its_run_ended():
    met = solve(quadratic(), FlatQuotient(3, 2), stopping=ValueBelow(100.0) | MaxTime(9.0))
    assert met.ended_by == ValueBelow(100.0)
    assert solve(quadratic(), FlatQuotient(3, 2), max_iterations=0, tol=1e-15).ended_by == MaxIterations(0)
    assert solve(quadratic(), max_time=0.0).ended_by == MaxTime(0.0)
    assert solve(quadratic(), callback=lambda snapshot: True).ended_by is None
    assert solve(quadratic()).ended_by is None


def test_the_clock_starts_with_the_call(clock, monkeypatch):
    def slow_choice(*pieces):
        clock.time += 2.0
        return choose(*pieces)

    monkeypatch.setattr("psdopt.running.beginning.choose", slow_choice)
    result = solve(quadratic(), max_time=1.0)
    assert (result.status, result.seconds) == (Status.TIME_LIMIT, 2.0)
    assert np.isnan(result.value)


def test_the_final_certificate_has_half_a_second_or_a_tenth_of_the_limit_more(clock, monkeypatch):
    for limit, extra in ((1.0, 0.5), (100.0, 10.0)):
        for late in (0.9, 1.1):
            clock.time = 0.0
            with monkeypatch.context() as patch:
                patch.setattr(Late, "step", takes(clock, limit))
                patch.setattr(psdopt.running.judge, "certify", takes(clock, late * extra, certify))
                start = 0.5 * np.eye(3)[:, :2]
                result = solve(quadratic(), FlatQuotient(3, 2), Late(), start=start, max_time=limit)
            assert (result.certificate is None) == (late > 1.0), (limit, late)


def takes(clock, seconds, function=lambda self, state: state):
    def timed(*args, **options):
        clock.time += seconds
        if function is certify:
            deadline.ask()
        return function(*args, **options)

    return timed


def test_a_callback_has_the_time_it_takes(clock):
    def callback(snapshot):
        clock.time += 5.0
        deadline.ask()

    result = solve(quadratic(), FlatQuotient(3, 2), Late(), max_time=1.0, callback=callback)
    assert result.iterations == 1


def test_the_deadline_of_an_outer_run_holds_in_a_run_inside(slow):
    inner = []

    class Outer(Late):
        def step(self, state):
            inner.append(solve(state.problem, FlatQuotient(3, 2), slow, tol=1e-15))
            return super().step(state)

    outer = solve(quadratic(), FlatQuotient(3, 2), Outer(), max_time=0.5)
    assert inner[0].status is Status.TIME_LIMIT
    assert inner[0].iterations == 1
    assert outer.iterations <= 1
