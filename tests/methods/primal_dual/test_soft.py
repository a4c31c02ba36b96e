"""The interior point without constraints: hinges that methods on a factor end slowly, few columns, and its ends."""

import numpy as np
import pytest

from benchmarks.choices import drawn
from psdopt import Status, certify, solve
from psdopt.constraints.central_path import coupled_systems
from psdopt.errors import IncompatibleError
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.methods import InteriorPoint
from psdopt.methods.primal_dual.soft import SoftState
from psdopt.problems import TermSum
from psdopt.terms import (
    Entries,
    LeastSquares,
    LinearTerm,
    MeasuredTerm,
    QuadraticForms,
    SquaredHinge,
    TripletDifferences,
)


def triplets(d: int = 8, m: int = 60, units: float = 2.0, seed: int = 0, scale: float = 1.0) -> TermSum:
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((40, d)) * 10.0 ** rng.uniform(0.0, units, d)
    i, j, k = np.array([rng.choice(40, 3, replace=False) for _ in range(m)]).T
    return TermSum([MeasuredTerm(TripletDifferences(i, j, k, X), SquaredHinge(1.0), 1.0 / m),
                    LinearTerm(1e-3 * np.diag(X.var(axis=0)))])  # fmt: skip


def test_hinges_that_can_all_be_met_end_once_f_has_vanished():
    """F is 0 from the first steps on, and a share of F is then no measure of the gap: 183 steps on this draw."""
    problem = drawn(88, 3).problem
    result = solve(problem, PSDCone(problem.n), InteriorPoint(), tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.value == 0.0
    assert result.iterations <= 20


@pytest.mark.parametrize(("seed", "k"), [(21, 15), (22, 5), (4, 9), (23, 19), (25, 9)])
def test_hinges_take_tens_of_steps_where_methods_on_a_factor_take_thousands(seed, k):
    """Triplets of mixed units and hinges of distances, from the draws of the benchmark: 400 steps to 14,000 before."""
    problem = drawn(seed, k).problem
    result = solve(problem, PSDCone(problem.n), InteriorPoint(), tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.iterations <= 30
    assert result.rank < problem.n
    fine = solve(problem, PSDCone(problem.n), InteriorPoint(), tol=1e-10)
    assert fine.value <= result.value
    assert result.value - fine.value <= 1e-6 * result.certificate.unit
    assert certify(problem, fine.matrix).gap is not None


def test_steps_do_not_depend_on_units():
    steps = [solve(triplets(scale=s), PSDCone(8), InteriorPoint(), tol=1e-7).iterations for s in (1e-4, 1.0, 1e4)]
    assert max(steps) - min(steps) <= 2


def test_both_systems_lead_to_one_answer(monkeypatch):
    """By rows and, where these are more than the entries of M, by entries."""
    problem = triplets(5, 200)
    by_entries = solve(problem, PSDCone(5), InteriorPoint(), tol=1e-9)
    used = []
    solver = coupled_systems.ThinSystem
    monkeypatch.setattr(coupled_systems, "ThinSystem", lambda *given: used.append(1) or solver(*given))
    solve(triplets(5, 200), PSDCone(5), InteriorPoint(), tol=1e-9)
    assert used
    monkeypatch.setattr(coupled_systems, "_thin", lambda form: None)
    by_rows = solve(triplets(5, 200), PSDCone(5), InteriorPoint(), tol=1e-9)
    assert by_rows.value == pytest.approx(by_entries.value, rel=1e-8)
    assert by_rows.iterations == pytest.approx(by_entries.iterations, abs=2)


def test_states_hold_multipliers_that_prove_the_gap():
    problem, method = triplets(), InteriorPoint()
    state = method.init(problem, PSDCone(8), np.zeros((8, 1)))
    for _ in range(20):
        state = method.step(state)
    assert isinstance(state, SoftState)
    bound = problem.duality.dual_bound(problem.at(np.zeros((8, 1))), state.dual)
    assert bound == pytest.approx(state.form.dual_value(state.at.v, state.at.Z), rel=1e-6)
    assert 0.0 <= state.evaluation.value - bound <= 1e-4 * state.evaluation.value


def test_a_factor_geometry_of_full_rank_is_followed_and_one_of_less_refused():
    problem = triplets()
    result = solve(problem, FlatQuotient(8, 8), InteriorPoint(), tol=1e-7)
    assert result.status is Status.OPTIMAL
    with pytest.raises(IncompatibleError):
        solve(problem, FlatQuotient(8, 2), InteriorPoint())


def test_zero_and_what_has_no_weight():
    """M = 0 is the minimiser of targets below zero; measurements of weight zero ask for nothing."""
    rng, n = np.random.default_rng(3), 5
    X = QuadraticForms(rng.standard_normal((12, n)))
    nothing = TermSum([MeasuredTerm(X, LeastSquares(-1.0)), LinearTerm(0.1 * np.eye(n))])
    result = solve(nothing, PSDCone(n), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(12.0, rel=1e-6)
    weights = (np.arange(12) < 6) * 1.0
    free = TermSum([MeasuredTerm(X, LeastSquares(2.0, weights)), LinearTerm(0.1 * np.eye(n))])
    few = TermSum([MeasuredTerm(QuadraticForms(X.X.to_dense()[:6]), LeastSquares(2.0)), LinearTerm(0.1 * np.eye(n))])
    values = [solve(F, PSDCone(n), InteriorPoint(), tol=1e-9).value for F in (free, few)]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_too_many_entries_are_refused_in_a_sentence():
    n, m = 60, 30_000
    problem = TermSum([MeasuredTerm(QuadraticForms(np.ones((m, n))), SquaredHinge())])
    with pytest.raises(IncompatibleError, match="too many"):
        solve(problem, PSDCone(n), InteriorPoint())


def test_unbounded_linear_parts_are_never_called_optimal():
    n = 6
    i, j = np.triu_indices(n, 1)
    fit = MeasuredTerm(Entries(i, j, n), SquaredHinge(1.0))
    result = solve(TermSum([fit, LinearTerm(-np.eye(n))]), PSDCone(n), InteriorPoint(), max_iterations=60)
    assert result.status in (Status.UNBOUNDED, Status.NO_PROGRESS, Status.ITERATION_LIMIT, Status.DIVERGED)


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("single", [True, False])
def test_measurements_without_weights_leave_the_linear_part(n, single):
    """No row is left."""
    rng = np.random.default_rng(n)
    measured = Entries([0, 0], [0, n - 1], n) if single else QuadraticForms(rng.standard_normal((4, n)))
    none = MeasuredTerm(measured, SquaredHinge(1.0, 1.0, np.zeros(measured.size)))
    for pull, status in (([LinearTerm(np.eye(n))], Status.OPTIMAL), ([LinearTerm(-np.eye(n))], Status.UNBOUNDED)):
        for given in ((), (PSDCone(n), InteriorPoint())):
            assert solve(TermSum([none, *pull]), *given).status is status
    assert solve(TermSum([none])).value == 0.0


@pytest.mark.parametrize("given", [False, True])
def test_zero_is_told_where_it_is_the_minimiser_and_costs_nothing(given):
    """F and M shrank towards zero until they underflowed, and no gap was small beside F(0) − F = 0."""
    X, n = QuadraticForms(np.random.default_rng(5).standard_normal((10, 4))), 4
    problem = TermSum([MeasuredTerm(X, SquaredHinge(-1.0, 1.0)), LinearTerm(np.eye(n))])
    result = solve(problem, PSDCone(n), InteriorPoint()) if given else solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.value == problem.value_at_zero() == 0.0
    assert result.iterations <= 3


def test_arrows_end_with_few_columns():
    """Entries of one row and the trace: there is no block of which to take fewer columns."""
    F = TermSum([MeasuredTerm(Entries([0, 0, 0], [1, 2, 3], 4), SquaredHinge(1.0)), LinearTerm(0.1 * np.eye(4))])
    assert solve(F, PSDCone(4), InteriorPoint()).status is Status.OPTIMAL


@pytest.mark.filterwarnings("error")
def test_arrows_that_reach_the_boundary_of_their_cone_end_without_a_warning():
    F = TermSum([MeasuredTerm(Entries([0, 0], [1, 2], 8), SquaredHinge(1.0))])
    assert solve(F, PSDCone(8), InteriorPoint()).value <= 1e-12
