"""Matrix generation by a linear program: the conic optimum, true gaps, aggregation, resuming, the old spelling."""

import pickle
import sys

import numpy as np
import pytest

from psdopt import ColumnGeneration, FlatQuotient, MarginProblem, Spectraplex, Status, solve
from psdopt.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt.running.compatibility import compatible
from psdopt.terms import TripletDifferences
from psdopt_plugins.metric_learning.linear_program import LinearProgram, Unsolved
from psdopt_plugins.metric_learning.matrix_generation import MatrixGeneration, Smoothing, _aggregated
from psdopt_plugins.pair_sampling import nearest_triplets
from tests.margins.instances import check_bounds, conic_optimum, instance, matrices, only


@pytest.mark.parametrize("options", [{}, {"stabilization": "none"}, {"columns": 3}], ids=str)
def test_the_conic_optimum_is_reached(options):
    pytest.importorskip("highspy")
    problem, X, t = instance(d=3, m=30, seed=1)
    A = matrices(X, t)
    result = solve(problem, Spectraplex(3), MatrixGeneration(**options), tol=1e-4, max_iterations=150)
    assert result.status is Status.OPTIMAL
    optimum = conic_optimum(A, problem.C)
    assert abs(-result.value - optimum) <= 2e-4 * abs(optimum)
    check_bounds(problem, result, A)
    theta = result.state.theta
    assert theta.min() >= 0.0
    assert np.isclose(theta.sum(), 1.0)


def test_gaps_are_true_in_every_round():
    problem, X, t = instance(d=5, m=30, seed=8)
    optimum = conic_optimum(matrices(X, t), problem.C)
    records = solve(problem, Spectraplex(5), MatrixGeneration(), tol=1e-7, max_iterations=25).history.records
    slack = 1e-6 * max(abs(optimum), 1e-2)
    values, bounds = np.array([r["value"] for r in records]), np.array([r["bound"] for r in records])
    assert np.all(values >= -optimum - slack)
    assert np.all(bounds <= -optimum + slack)
    assert np.all(np.diff(values) <= 0.0)
    assert np.all(np.diff(bounds) >= 0.0)
    assert np.allclose([r["gap"] for r in records], np.maximum(values - bounds, 0.0))


def test_the_printed_algorithm_is_far_behind_the_block_master():
    """Overlapping classes and an optimum close to zero: over 1,000 rounds as printed, under 20 by blocks."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = 0.3 * rng.standard_normal((2, 24))[y] + rng.standard_normal((600, 24))
    rows = nearest_triplets(X, y, 1)[rng.permutation(600)[:550]]
    problem = MarginProblem(TripletDifferences(*rows.T, X), 1.0 / 55)
    printed = solve(problem, Spectraplex(24), MatrixGeneration("none"), tol=1e-4, max_iterations=60)
    assert printed.certificate.relative > 1.0


def test_a_full_program_aggregates_what_weighs_least():
    problem, method = only(d=8, m=30), MatrixGeneration(columns=2)
    state = method.init(problem, Spectraplex(8), Spectraplex(8).random_point(np.random.default_rng(3)))
    for _ in range(2):
        state = method.step(state)
    theta = np.array([0.4, 0.0, 0.1, 0.2, 0.3, *np.zeros(len(state.widths) - 5)])
    small = _aggregated(type(state)(**{**vars(state), "theta": theta}), theta > 0.15)
    assert small.widths == (1, 1, 1, 1)
    assert np.allclose(small.theta, [0.1, 0.4, 0.2, 0.3])
    assert np.allclose(small.theta @ np.array(small.squares), theta @ np.array(state.squares))
    for k, width in enumerate(np.cumsum(small.widths)):
        Y = small.columns.factor[:, width - small.widths[k] : width]
        assert np.isclose(np.linalg.norm(Y), 1.0)
        assert np.allclose(problem.margins().values(problem.at(Y)), small.squares[k])
    wide = _aggregated(type(state)(**{**vars(state), "theta": theta}), theta > 0.35)
    assert wide.widths == (3, 1)
    assert np.allclose(wide.theta @ np.array(wide.squares), theta @ np.array(state.squares))


def test_a_program_of_bounded_width_still_has_true_gaps():
    problem, X, t = instance(d=12, m=60, seed=4)
    result = solve(problem, Spectraplex(12), MatrixGeneration(max_columns=20), tol=1e-3, max_iterations=40)
    assert all(record["generated"] <= 20 for record in result.history.records)
    assert any(record["aggregated"] > 0 for record in result.history.records)
    check_bounds(problem, result, matrices(X, t))
    longer = solve(problem, Spectraplex(12), MatrixGeneration(max_columns=40), tol=1e-3, max_iterations=90)
    gaps = [record["gap"] for record in longer.history.records]
    assert gaps[-1] < 0.1 * gaps[30]


def test_a_state_can_be_pickled_and_stepped_again():
    problem, method, geometry = only(), MatrixGeneration(), Spectraplex(6)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    for _ in range(3):
        state = method.step(state)
    expected = method.step(state)
    again, resumed = method.step(state), method.step(pickle.loads(pickle.dumps(state)))
    for other in (again, resumed):
        assert np.isclose(other.gap, expected.gap, rtol=1e-6)
        assert np.allclose(other.dual, expected.dual, atol=1e-6)


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    problem, method, file = only(d=4), MatrixGeneration(), tmp_path / "run"
    whole = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9)
    solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=2, checkpoint=file)
    resumed = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9, resume=file)
    assert whole.iterations > 2
    assert resumed.iterations == whole.iterations
    assert np.isclose(resumed.value, whole.value, rtol=1e-6)


def test_runs_without_highspy(monkeypatch):
    problem = only(d=3, m=20)
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert solve(problem, Spectraplex(3), MatrixGeneration(), tol=1e-3, max_iterations=60).optimal


def test_a_run_ends_with_the_best_matrix_when_the_program_has_no_answer(monkeypatch):
    problem, right, calls = only(d=6, m=80), LinearProgram.solve, []

    def gives_up(self, *given):
        calls.append(1)
        if len(calls) == 12:
            raise Unsolved("not solved")
        return right(self, *given)

    monkeypatch.setattr(LinearProgram, "solve", gives_up)
    result = solve(problem, Spectraplex(6), MatrixGeneration(), tol=1e-12)
    assert result.status is Status.NO_PROGRESS
    assert result.value == pytest.approx(min(record["value"] for record in result.history.records), rel=1e-14)
    assert result.certificate.gap is not None


def test_the_old_spelling_still_runs_and_names_the_new_one():
    problem = only(d=3, m=20)
    with pytest.warns(DeprecationWarning, match=r"use psdopt_plugins.metric_learning.MatrixGeneration"):
        old = ColumnGeneration(master="lp", stabilization="none", columns=2)
    found = [solve(problem, Spectraplex(3), m, tol=1e-3, max_iterations=60) for m in (old, MatrixGeneration("none", 2))]
    assert found[0].value == pytest.approx(found[1].value, rel=1e-12)
    assert found[0].iterations == found[1].iterations


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"stabilization": "level"}, UnknownNameError, "stabilization 'level'"),
        ({"stabilization": 3}, InvalidTypeError, "offer ask and observe; found int"),
        ({"columns": 0}, InvalidInputError, "columns must be"),
        ({"max_columns": 1.5}, InvalidInputError, "max_columns must be"),
        ({"columns": 5, "max_columns": 5}, InvalidInputError, "max_columns must exceed"),
    ],
)
def test_bad_parameters_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        MatrixGeneration(**arguments)


def test_what_does_not_fit_is_refused_before_any_work():
    problem = only()
    assert MatrixGeneration(Smoothing(0.5)) == MatrixGeneration(Smoothing(0.5))
    assert not compatible(problem, FlatQuotient(6, 2), MatrixGeneration())
    assert not compatible(problem.smoothed(0.1), Spectraplex(6), MatrixGeneration())
