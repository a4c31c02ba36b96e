"""Starts of the trace that the data ask for, those that are left, and runs cut before F at their start is known."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import (
    AutogradProblem,
    Constrained,
    EntryFit,
    LowRankPSD,
    Problem,
    QuadraticSDP,
    Status,
    TermSum,
    constraints,
    solve,
)
from psdopt.contracts.geometry import Geometry
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone
from psdopt.methods import BILGO, ConjugateGradient
from psdopt.running.starts import ROOM, starting_point
from psdopt.running.verdicts import CUTS
from psdopt.terms import Entries, LeastSquares, LinearTerm, MeasuredTerm
from tests.geometries.test_own_sets import Elliptope

N = 6


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def problem() -> QuadraticSDP:
    return QuadraticSDP(A=np.eye(N), C=-np.diag(np.arange(1.0, N + 1.0)))


@pytest.mark.parametrize("geometry", [FlatQuotient(N, 2), FixedTrace(N, 2, 3.0), Elliptope(N, 2)], ids=repr)
def test_missing_columns_of_a_start_are_filled_by_next_to_nothing(geometry, rng):
    Y = np.zeros((N, 2))
    Y[:, 0] = rng.standard_normal(N)
    start = geometry.from_factor(Y)
    point = geometry.factor(starting_point(geometry, problem(), start, rng))
    assert np.linalg.matrix_rank(point, tol=1e-12) == 2
    assert np.linalg.norm(point @ point.T - start @ start.T) <= 1e-14 * np.linalg.norm(start) ** 2
    assert geometry.check_point(point) is None


def test_zero_starts_at_the_scale_of_a_random_start(rng):
    point = starting_point(FlatQuotient(N, 3), problem(), np.zeros((N, 3)), rng)
    assert np.linalg.matrix_rank(point, tol=1e-12) == 3
    assert 0.0 < np.linalg.norm(point) < 1e-6


def test_starts_of_full_rank_and_of_methods_that_begin_at_zero_are_kept(rng):
    Y = rng.standard_normal((N, 2))
    assert np.array_equal(starting_point(FlatQuotient(N, 2), problem(), Y, rng), Y)
    zero = np.zeros((N, 1))
    assert np.array_equal(starting_point(PSDCone(N), problem(), zero, rng, BILGO()), zero)
    assert np.array_equal(starting_point(PSDCone(N), problem(), None, rng, BILGO()), zero)


def few_entries(seed: int) -> tuple[Problem, float]:
    """A fit to one to four entries of a matrix of order 1 to 6, and the largest of them; half of all are negative."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    i, j = np.triu_indices(n)
    wanted = (i == j, i != j, i <= j)[seed % 3]
    pool = np.flatnonzero(wanted) if np.any(wanted) else np.arange(len(i))
    chosen = rng.choice(pool, min(int(rng.integers(1, 5)), len(pool)), replace=False)
    targets = rng.standard_normal(len(chosen)) * 10.0 ** rng.uniform(-3, 3)
    i, j = i[chosen], j[chosen]
    if seed % 2:
        return EntryFit(sp.csr_array((n, n)), i, j, targets), float(np.abs(targets).max())
    return TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(targets))]), float(np.abs(targets).max())


def geometries(n: int, r: int) -> list[Geometry]:
    return [FlatQuotient(n, r), Polar(n, r), PositiveDefinite(n), PSDCone(n)]


@pytest.mark.parametrize("seed", range(60))
def test_the_trace_of_a_start_is_a_small_multiple_of_that_of_a_minimiser(seed):
    """Of a minimiser that is found; where none is, the targets are the scale."""
    problem, largest = few_entries(seed)
    n = problem.n
    found = solve(problem, FlatQuotient(n, n), tol=1e-6, max_iterations=300)
    least = float(np.sum(found.matrix.factor**2))
    allowed = ROOM * n * (least if found.optimal and least > 1e-6 * largest else largest)
    for geometry in geometries(n, 1 + seed % n):
        point = starting_point(geometry, problem, None, np.random.default_rng(seed))
        assert 0.0 < np.sum(geometry.factor(point) ** 2) <= allowed * (1.0 + 1e-6), repr(geometry)


@pytest.mark.parametrize("target", [1.0, -1.0, 1e-8, 1e8])
def test_a_matrix_that_one_measured_entry_hardly_sees_is_not_blown_up(target):
    """M_12 is a millionth of tr M: its best multiple would have trace 1e6 |target|, where 2 |target| is enough."""

    class Nearly(FlatQuotient):
        def random_point(self, rng):
            return np.diag([1.0, 1.0]) + np.array([[0.0, 1e-6], [0.0, 0.0]])

    problem = TermSum([MeasuredTerm(Entries([0], [1], 2), LeastSquares([target]))])
    point = starting_point(Nearly(2, 2), problem, None, np.random.default_rng(0))
    assert abs(target) <= np.sum(point**2) <= ROOM * 2 * 2 * abs(target)


def test_where_zero_is_optimal_a_start_balances_the_steepest_atom():
    """F = M_11² + M_11, and M_11 is a millionth of tr M: slope and curvature of e₁e₁ᵀ balance at trace 1/2."""

    class Nearly(FlatQuotient):
        def random_point(self, rng):
            return np.diag([1e-3, 1.0])

    square = MeasuredTerm(Entries([0], [0], 2), LeastSquares([0.0]))
    problem = TermSum([square, LinearTerm(np.diag([1.0, 0.0]))])
    point = starting_point(Nearly(2, 2), problem, None, np.random.default_rng(0))
    assert np.sum(point**2) == pytest.approx(0.5 * ROOM * 2 * 0.5, rel=1e-6)


def test_a_start_that_its_data_see_is_the_best_multiple(rng):
    geometry, plain = FlatQuotient(N, 2), problem()
    random = geometry.random_point(np.random.default_rng(3))
    point = starting_point(geometry, plain, None, np.random.default_rng(3))
    alpha = plain.at(random).best_multiple()
    assert alpha > 0.0
    np.testing.assert_allclose(point, np.sqrt(alpha) * random, rtol=1e-14)


@pytest.mark.parametrize(("n", "probes"), [(20, 0), (80, 16)])
def test_a_start_costs_one_column_besides_its_own_and_those_at_zero(n, probes):
    """∇F(0) is an array here, without products, but beyond order 64 sixteen of them cost less."""
    plain = QuadraticSDP(np.eye(n), C=-np.diag(np.arange(1.0, n + 1.0)))
    starting_point(FlatQuotient(n, 3), plain, None, np.random.default_rng(0))
    start, ray, value, gradient = 3, 1, 1, 1 + probes
    assert plain.counts()["operator_columns"] == 2 * (start + ray + value + gradient)  # of two maps


START = np.arange(12.0).reshape(6, 2) + 1.0


def cut_off(kind):
    class Cut(AutogradProblem):
        def at(self, Y):
            raise kind

    return Cut(lambda M: 0.0, 6, convex=True)


@pytest.mark.parametrize(("kind", "status"), CUTS.items())
@pytest.mark.parametrize("pieces", [(), (FlatQuotient(6, 2), ConjugateGradient())])
@pytest.mark.parametrize("start", [None, LowRankPSD(START)])
def test_a_cut_in_the_first_evaluation_returns_the_start(kind, status, pieces, start):
    result = solve(cut_off(kind), *pieces, start=start)
    assert result.status is status
    assert result.message.endswith("F at the start is not known")
    assert np.isnan(result.value)
    assert result.certificate is None
    assert len(result.history) == result.iterations == 0
    assert result.geometry
    assert result.method
    assert not result.converged
    assert "value=nan" in repr(result)
    if start is not None:
        assert np.array_equal(result.matrix.to_dense(), START @ START.T)


def test_a_result_without_a_value_is_saved_and_loaded(tmp_path):
    result = solve(cut_off(MemoryError))
    result.save(tmp_path / "cut.npz")
    loaded = type(result).load(tmp_path / "cut.npz")
    assert loaded.status is Status.OUT_OF_MEMORY
    assert np.isnan(loaded.value)


@pytest.mark.parametrize(("start", "found"), [
    ("zero", "found 'zero'"),
    (sp.eye_array(N), "found a sparse array"),
    (np.ones((2, 2)), r"a factor must have shape \(6, 2\); found \(2, 2\)$"),
    (1j * np.ones((N, 2)), "must hold real numbers"),
])  # fmt: skip
def test_a_start_that_is_no_point_gets_one_sentence(start, found):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=found):
        solve(problem(), FlatQuotient(N, 2), ConjugateGradient(), start=start)


def test_a_result_in_the_place_of_its_matrix_is_refused_with_the_way_out() -> None:
    linear = QuadraticSDP(C=np.eye(2))
    for each in (problem(), Constrained(linear, constraints.trace(2, 1.0))):
        result = solve(each)
        with pytest.raises(
            InvalidTypeError, match=r"start must be a matrix .*; found a Result, of which result\.matrix"
        ):
            solve(each, start=result)
        assert solve(each, start=result.matrix).value == pytest.approx(result.value, rel=1e-6)
