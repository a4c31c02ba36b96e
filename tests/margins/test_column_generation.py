"""ColumnGeneration against a conic solver: true gaps every round, degenerate data, bad parameters."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from psdopt import MarginProblem, Outcome, Status, solve
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt.geometries import FlatQuotient, Spectraplex
from psdopt.margins import column_generation
from psdopt.margins.column_generation import FEWEST, FEWEST_KEPT, MOST, SLOW_ROUNDS, WIDTH, ColumnGeneration
from psdopt.methods import ConjugateGradient
from psdopt.running.compatibility import compatible
from psdopt.terms.measurements import TripletDifferences
from psdopt_plugins.pair_sampling import nearest_triplets
from tests.margins.instances import check_bounds, conic_optimum, instance, matrices, triplets


@pytest.mark.parametrize("nu", [None, 0.07, 0.5, 1.0])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_the_block_master_reaches_the_conic_optimum(nu, offset):
    problem, X, t = instance(nu=nu, offset=offset, seed=3)
    A = matrices(X, t)
    result = solve(problem, Spectraplex(6), ColumnGeneration(columns=2), tol=1e-6, max_iterations=40)
    optimum = conic_optimum(A, problem.C)
    assert result.status is Status.OPTIMAL
    assert abs(-result.value - optimum) <= 1e-5 * abs(optimum) + 1e-7 * np.abs(A).max()
    check_bounds(problem, result, A)


@pytest.mark.parametrize("options", [{}, {"columns": 2}, {"stabilization": "none"}], ids=str)
def test_gaps_are_true_in_every_round(options):
    problem, X, t = instance(d=5, m=30, seed=8)
    optimum = conic_optimum(matrices(X, t), problem.C)
    result = solve(problem, Spectraplex(5), ColumnGeneration(**options), tol=1e-7, max_iterations=25)
    records = result.history.records
    slack = 1e-6 * max(abs(optimum), 1e-2)
    values, bounds = np.array([r["value"] for r in records]), np.array([r["bound"] for r in records])
    assert np.all(values >= -optimum - slack)
    assert np.all(bounds <= -optimum + slack)
    assert np.all(np.diff(values) <= 0.0)
    assert np.all(np.diff(bounds) >= 0.0)
    assert np.allclose([r["gap"] for r in records], np.maximum(values - bounds, 0.0))


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5, 0.99])
@pytest.mark.parametrize(("d", "m", "samples"), [(1, 56, 9), (2, 5, 4), (5, 75, 30), (8, 75, 12), (11, 20, 40)])
def test_any_shape_of_instance_is_certified(d, m, samples, nu):
    problem, _, _ = instance(d=d, m=m, nu=max(nu, 1.0 / m), seed=d * m, samples=samples)
    assert solve(problem, Spectraplex(d), ColumnGeneration(), tol=1e-5, max_iterations=30).optimal


def test_a_negative_optimum_is_not_taken_for_the_end():
    """Started at pi = 0 the printed algorithm stops with no column when λ_max(H(w)) <= 0 (erratum E-P1)."""
    X = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 0.5]])
    problem = MarginProblem(TripletDifferences([0], [1], [2], X))
    result = solve(problem, Spectraplex(2), ColumnGeneration(), tol=1e-8)
    assert result.optimal
    assert abs(result.value) <= 1e-8  # the direction orthogonal to all differences has margin zero
    contradictory = MarginProblem(TripletDifferences([0, 0], [1, 2], [2, 1], np.random.default_rng(0).random((3, 2))))
    assert solve(contradictory, Spectraplex(2), ColumnGeneration(), tol=1e-5).optimal


def test_one_feasible_weight_is_an_eigenvalue_problem():
    problem, X, t = instance(nu=1.0)  # C m = 1: w = 1/m
    result = solve(problem, Spectraplex(6), ColumnGeneration(), tol=1e-9)
    mean = matrices(X, t).mean(axis=0)
    assert result.optimal
    assert np.isclose(-result.value, np.linalg.eigvalsh(mean)[-1], rtol=1e-9)


def test_repeated_triplets_and_coinciding_points():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 4))
    X[5:] = X[:5]
    t = np.repeat(triplets(rng, 10, 12), 3, axis=0)
    problem = MarginProblem(TripletDifferences(*t.T, X), 2.0 / len(t))
    result = solve(problem, Spectraplex(4), ColumnGeneration(), tol=1e-6, max_iterations=60)
    assert result.optimal
    same = MarginProblem(TripletDifferences([0, 1], [1, 2], [2, 0], np.ones((3, 4))), 1.0)
    result = solve(same, Spectraplex(4), ColumnGeneration(), tol=1e-6)
    assert result.optimal
    assert result.value == 0.0


def test_kernel_entries_in_place_of_data():
    rng = np.random.default_rng(5)
    t = triplets(rng, 8, 25)
    problem = MarginProblem(TripletDifferences(*t.T, n=8), 1.0 / 5.0)
    result = solve(problem, Spectraplex(8), ColumnGeneration(), tol=1e-6, max_iterations=60)
    assert result.optimal
    assert np.isclose(-result.value, conic_optimum(matrices(np.eye(8), t), problem.C), rtol=1e-4)


def test_a_master_of_bounded_width_still_has_true_gaps():
    problem, X, t = instance(d=12, m=60, seed=4)
    method = ColumnGeneration(columns=3, max_columns=9)
    result = solve(problem, Spectraplex(12), method, tol=1e-3, max_iterations=30)
    assert all(record["generated"] <= 9 for record in result.history.records)
    check_bounds(problem, result, matrices(X, t))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"master": "sdp"}, UnknownNameError, "master 'sdp'"),
        ({"stabilization": "smoothing"}, UnknownNameError, "stabilization"),
        ({"master": 3}, InvalidTypeError, "master must be 'block' or offer solve; found int"),
        ({"stabilization": 3}, UnknownNameError, "stabilization"),
        ({"columns": 0}, InvalidInputError, "columns must be"),
        ({"columns": True}, InvalidInputError, "columns must be"),
        ({"max_columns": 1.5}, InvalidInputError, "max_columns must be"),
        ({"columns": 5, "max_columns": 5}, InvalidInputError, "max_columns must exceed"),
    ],
)
def test_bad_parameters_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        ColumnGeneration(**arguments)


def test_what_does_not_fit_is_refused_before_any_work():
    problem, _, _ = instance()
    assert not compatible(problem, FlatQuotient(6, 2), ColumnGeneration())
    assert not compatible(problem.smoothed(0.1), Spectraplex(6), ColumnGeneration())
    with pytest.raises(IncompatibleError, match="gradient"):
        solve(problem, FlatQuotient(6, 2), ConjugateGradient())


def test_rounds_at_550_triplets_in_24_dimensions():
    """Overlapping classes and an optimum close to zero: where the printed algorithm needs more than 1,000 rounds."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = 0.3 * rng.standard_normal((2, 24))[y] + rng.standard_normal((600, 24))
    rows = nearest_triplets(X, y, 1)[rng.permutation(600)[:550]]
    problem = MarginProblem(TripletDifferences(*rows.T, X), 1.0 / 55)
    result = solve(problem, Spectraplex(24), ColumnGeneration(), tol=1e-4, max_iterations=60)
    assert result.optimal
    assert result.iterations <= 20


@pytest.mark.parametrize("n", [5, FEWEST, 6 * FEWEST + 6, 1000])
def test_columns_per_round_are_a_sixth_of_the_order_within_limits_unless_told(n):
    assert ColumnGeneration()._per_round(n) == min(n, MOST, max(FEWEST, n // 6))
    assert ColumnGeneration(columns=7)._per_round(n) == min(n, 7)


def test_the_width_is_that_of_some_rounds_or_what_was_asked_and_room_for_one_more(monkeypatch):
    loss = column_generation.CappedMargin(10, 1.0)
    room = WIDTH * MOST - 1
    monkeypatch.setattr(column_generation, "widest_block", lambda loss: room)
    assert ColumnGeneration()._limit(1000, loss) == room  # no wider than a master can be
    assert ColumnGeneration(columns=FEWEST_KEPT)._limit(1000, loss) == min(WIDTH * FEWEST_KEPT, room)
    assert ColumnGeneration(columns=3)._limit(1000, loss) == FEWEST_KEPT
    assert ColumnGeneration(columns=3, max_columns=9)._limit(1000, loss) == 9
    assert ColumnGeneration(max_columns=9)._limit(1000, loss) == MOST + 1
    monkeypatch.setattr(column_generation, "widest_block", lambda loss: 2)
    assert ColumnGeneration(columns=3)._limit(1000, loss) == 4


def begun(**changed):
    problem, X, t = instance(d=6, m=30, nu=0.3, seed=3)
    geometry = Spectraplex(6)
    method = ColumnGeneration(columns=2)
    start = geometry.from_factor(np.diag([3.0, 2.0, 1.0, 0.0, 0.0, 0.0])[:, :3] / np.sqrt(14.0))
    return method, replace(method.init(problem, geometry, start), **changed), matrices(X, t)


def test_a_run_begins_with_the_columns_of_the_start_and_uniform_weights():
    _, state, A = begun()
    M = state.evaluation.matrix.to_dense()
    m = len(A)
    np.testing.assert_allclose(np.diag(M)[:3], np.array([9.0, 4.0, 1.0]) / 14.0, rtol=1e-12)
    np.testing.assert_allclose(state.answer_dual, np.full(m, 1.0 / m), rtol=1e-12)
    S = -np.mean(A, axis=0)
    bound = np.linalg.eigvalsh(S)[0]
    assert state.bound == pytest.approx(bound, rel=1e-2)
    assert state.bound <= bound + 1e-12
    assert state.gap == pytest.approx(state.evaluation.value - state.bound, rel=1e-12)
    assert state.gradient_norm == pytest.approx(2.0 * state.gap, rel=1e-12)  # |Y| = 1
    assert state.extras["bound"] == state.bound
    width = state.extras["generated"]
    V, T = state.columns, state.theta
    np.testing.assert_allclose(V @ T @ V.T, M, atol=1e-12)
    assert width == V.shape[1] > 3
    assert (state.slow, state.aggregate[0]) == (0, 0.0)


def priced(state, method, **changed):
    state = replace(state, **changed)
    T = state.weights
    answer = column_generation.MasterSolution(T, state.answer_dual, 5)
    return method._priced(state, T, answer, state.evaluation, 1.0)


def test_a_run_ends_after_some_rounds_in_which_the_gap_stays():
    method, state, _ = begun()
    gap = state.gap
    for share, slow in ((3.0, 0), (1.0, 3)):
        after = priced(state, method, marked=share * gap, slow=2)
        assert after.slow == slow
        assert after.marked == gap
    assert priced(state, method, marked=1.001 * gap, slow=2).marked == 1.001 * gap  # a small gain is none
    for before, outcome in ((SLOW_ROUNDS - 2, Outcome.RUNNING), (SLOW_ROUNDS - 1, Outcome.STALLED)):
        assert priced(state, method, marked=gap, slow=before).outcome is outcome
    assert after.extras["master_steps"] == 5.0


def test_margins_may_leave_once_the_gap_has_fallen():
    method, state, _ = begun()
    for share, fresh in ((0.9, False), (0.1, True)):
        after = priced(state, method, settled=state.gap / share)
        assert after.settled == (after.gap if fresh else state.gap / share)


def test_values_and_bounds_that_are_better_are_kept():
    method, state, _ = begun()
    after = priced(state, method, bound=-1e9, dual=None)
    assert after.bound == pytest.approx(state.bound, rel=1e-9)
    assert after.dual is not None
    kept = priced(state, method, bound=state.bound + 1e-3, dual="old")
    assert (kept.bound, kept.dual) == (state.bound + 1e-3, "old")
    assert kept.gap == pytest.approx(state.gap - 1e-3)
    none = priced(state, method, bound=state.evaluation.value + 1.0)
    assert none.gap == 0.0


def test_the_oracle_is_asked_for_a_small_share_of_the_gap(monkeypatch):
    asked = []
    many = Spectraplex.minimize_linear_many
    monkeypatch.setattr(
        Spectraplex, "minimize_linear_many",
        lambda self, S, tol, count, guess=None: asked.append((tol, count)) or many(self, S, tol, count, guess),
    )  # fmt: skip
    method, state, _ = begun()
    share = asked[0][0] / abs(state.evaluation.value)  # the gap is not known yet
    assert 0.0 < share <= 0.1
    priced(state, method)
    assert asked == [(pytest.approx(share * gap), 2) for gap in (abs(state.evaluation.value), state.gap)]
    atoms, bound = method._query_oracle(state, column_generation.margins_of(state.problem), state.answer_dual, -1e9)
    assert len(atoms) == 1  # where none is useful, the first one
    assert bound == pytest.approx(atoms[0].value - atoms[0].gap_bound)


def test_a_master_is_solved_to_a_share_of_the_gap_and_more_finely_where_no_columns_are_left(monkeypatch):
    goals = []

    def solve_selected(master, squares, loss, goal, start, rows):
        goals.append(goal)
        raise column_generation.Unsolved("not here")

    monkeypatch.setattr(column_generation, "solve_selected", solve_selected)
    _, state, _ = begun()
    whole = replace(state, bundle=column_generation.Bundle(state.problem.at(np.eye(6))))
    for stabilization, begin in (("none", state), ("auto", state), ("auto", whole)):
        after = ColumnGeneration(columns=2, stabilization=stabilization).step(begin)
        assert after.outcome is Outcome.STALLED
    to_the_end, centred, complete = goals
    assert to_the_end == 0.0 < complete < 0.1 * centred
    assert centred < state.gap


def test_the_printed_algorithm_takes_one_column_a_round_unless_told():
    with pytest.warns(DeprecationWarning, match="lp") as told:
        method = ColumnGeneration(master="lp")
    assert told[0].filename == __file__
    assert method._printed.columns == 1
    assert replace(ColumnGeneration(columns=3))._printed.columns == 3


def test_a_state_can_be_pickled_and_stepped_again():
    problem, _, _ = instance()
    method = ColumnGeneration()
    geometry = Spectraplex(6)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    for _ in range(3):
        state = method.step(state)
    expected = method.step(state)
    again, resumed = method.step(state), method.step(pickle.loads(pickle.dumps(state)))
    for other in (again, resumed):
        assert np.isclose(other.gap, expected.gap, rtol=1e-6)
        assert np.allclose(other.dual, expected.dual, atol=1e-6)


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    problem, _, _ = instance(d=4)
    method, file = ColumnGeneration(columns=1), tmp_path / "run"
    whole = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9)
    solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=2, checkpoint=file)
    resumed = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9, resume=file)
    assert whole.iterations > 2
    assert resumed.iterations == whole.iterations
    assert np.isclose(resumed.value, whole.value, rtol=1e-6)
