"""What a run remembers: its records, the steps without progress, the move to a better point."""

import math
from dataclasses import replace

import numpy as np

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP
from psdopt.running.run import Run

PROBLEM = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, 3.0]))
GEOMETRY = FlatQuotient(3, 1)


def begun(scale: float = 0.5) -> Run:
    state = ConjugateGradient().init(PROBLEM, GEOMETRY, scale * np.eye(3)[:, :1])
    return Run(state, GEOMETRY, 1e-6)


def test_steps_without_progress_are_counted_and_a_smaller_gradient_is_progress():
    run = begun()
    for expected in (0, 1, 2):
        run.record(PROBLEM, True, {})
        assert run.idle_steps == expected
    run.state = replace(run.state, gradient_norm=0.5 * run.state.gradient_norm)
    run.record(PROBLEM, True, {})
    assert run.idle_steps == 0


def test_at_rest_at_zero_stationarity_is_zero():
    run = begun(0.0)
    run.state = replace(run.state, gradient_norm=0.0)
    assert run.record(PROBLEM, True, {}) == 0.0


def test_a_run_goes_on_from_a_better_point_as_from_a_fresh_start():
    run = begun()
    run.record(PROBLEM, True, {})
    run.record(PROBLEM, True, {})
    wider = run.state.evaluation.append(0.1 * np.eye(3)[:, 1:2])
    geometry = GEOMETRY.with_rank(2)
    run.go_on(ConjugateGradient(), geometry, wider.factor, wider)
    assert run.geometry == run.state.geometry == geometry
    assert run.state.evaluation is wider
    assert (run.idle_steps, run.best_stationarity) == (0, math.inf)


def test_a_run_is_restored_to_what_was_kept():
    run = begun()
    run.record(PROBLEM, True, {})
    kept, state = run.kept(), run.state
    run.state, run.iteration, run.judged, run.patience.since, run.escape.wait = replace(state), 1, 1, 7, 8
    run.record(PROBLEM, True, {})
    assert len(run.history) == len(run.values) == 2
    run.restore(kept)
    assert run.state is state
    assert (run.iteration, run.judged, run.patience.since, run.escape.wait) == (0, -1, -1, 0)
    assert len(run.history) == len(run.values) == 1
    run.patience.since = 7  # what is kept stays as it is after it was restored
    assert kept.patience.since == -1
