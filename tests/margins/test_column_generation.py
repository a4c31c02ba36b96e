"""ColumnGeneration against a conic solver: true gaps every round, degenerate data, bad parameters."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import ColumnGeneration, MarginProblem, Spectraplex, Status, solve
from psdopt.errors import InvalidInputError, InvalidTypeError, UnknownNameError
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


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"master": "sdp"}, UnknownNameError, "master 'sdp'"),
        ({"master": 3}, InvalidTypeError, "master must be 'block' or offer solve; found int"),
        *(({"stabilization": bad}, UnknownNameError, "stabilization") for bad in ("smoothing", 3)),
        *(({"columns": bad}, InvalidInputError, "columns must be") for bad in (0, True)),
        ({"max_columns": 1.5}, InvalidInputError, "max_columns must be"),
        ({"columns": 5, "max_columns": 5}, InvalidInputError, "max_columns must exceed"),
        ({"progress": 1.0}, InvalidInputError, "progress must"),
        ({"slow_rounds": 0}, InvalidInputError, "slow_rounds must"),
    ],
)
def test_bad_parameters_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        ColumnGeneration(**arguments)


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


def test_the_printed_algorithm_takes_one_column_a_round_unless_told():
    with pytest.warns(DeprecationWarning, match="lp") as told:
        method = ColumnGeneration(master="lp")
    assert told[0].filename == __file__
    assert method._printed.columns == 1
    assert replace(ColumnGeneration(columns=3))._printed.columns == 3
