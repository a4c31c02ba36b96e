"""Matrix generation: the conic optimum, true gaps, the linear program, the old spelling."""

import sys

import numpy as np
import pytest

from psdopt import ColumnGeneration, FlatQuotient, Spectraplex, Status, solve
from psdopt.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt.margins import CappedMargin
from psdopt.running.compatibility import compatible
from psdopt_plugins.metric_learning.linear_program import LinearProgram, Unsolved, _from_scratch, feasible
from psdopt_plugins.metric_learning.matrix_generation import MatrixGeneration, Smoothing
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


def test_a_program_of_bounded_width_still_has_true_gaps():
    problem, X, t = instance(d=12, m=60, seed=4)
    result = solve(problem, Spectraplex(12), MatrixGeneration(max_columns=20), tol=1e-3, max_iterations=40)
    assert all(record["generated"] <= 20 for record in result.history.records)
    assert any(record["aggregated"] > 0 for record in result.history.records)
    check_bounds(problem, result, matrices(X, t))
    longer = solve(problem, Spectraplex(12), MatrixGeneration(max_columns=40), tol=1e-3, max_iterations=90)
    gaps = [record["gap"] for record in longer.history.records]
    assert gaps[-1] < 0.1 * gaps[30]


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


EPS = np.finfo(float).eps


def test_the_two_solvers_agree():
    pytest.importorskip("highspy")
    rng = np.random.default_rng(7)
    loss, program = CappedMargin(15, 0.2), LinearProgram()
    columns = [rng.standard_normal(15) for _ in range(6)]
    for count in (1, 3, 6, 4):
        warm, cold = program.solve(columns[:count], loss), _from_scratch(columns[:count], loss)
        A = np.array(columns[:count])
        assert np.isclose((A @ warm.dual).max(), (A @ cold.dual).max())
        assert np.isclose(loss.value(warm.theta @ A), -(A @ warm.dual).max())


@pytest.mark.parametrize("cap", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("error", [0.0, 1e-9, -1e-9, 1e-3, -1e-3])
def test_a_nearly_feasible_dual_is_moved_into_the_set(cap, error):
    rng, loss = np.random.default_rng(0), CappedMargin(10, cap)
    w = loss.weights(rng.standard_normal(10))
    moved = feasible(w + error * rng.random(10), loss)
    assert moved.min() >= 0.0
    assert moved.max() <= cap + EPS
    assert abs(moved.sum() - 1.0) <= 16 * EPS
    assert np.abs(moved - w).max() <= 10 * abs(error) + 16 * EPS
