"""Newton on factor and multipliers: quadratic convergence, whose turn it is, invariances, honest ends."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from psdopt import ADMM, EntryFit, FlatQuotient, Outcome, Polar, QuadraticSDP, Status, TermSum, solve
from psdopt.contracts.quadratic_fit import OffersQuadraticFit
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.linalg.tolerances import EPS
from psdopt.methods import LBFGS, ConjugateGradient, LagrangeNewton
from psdopt.running.choose import LARGE, SECOND_ORDER, choose
from psdopt.terms import IdentityForm, LeastSquares, LinearTerm, MeasuredTerm, PairDistances, QuadraticForms
from tests.methods.test_admm import pair_problem

N = 24


def distances(seed=0, n=N):
    """Noisy distances of points in the plane, and a price on the trace."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    chosen = rng.choice(len(i), 3 * n, replace=False)
    i, j, points = i[chosen], j[chosen], rng.standard_normal((n, 2))
    d = np.sum((points[i] - points[j]) ** 2, axis=1) * rng.uniform(0.8, 1.2, 3 * n)
    return TermSum([MeasuredTerm(PairDistances(i, j, n=n), LeastSquares(d)), LinearTerm(IdentityForm(n, 0.5))])


def cut(n=N, weight=100.0):
    """⟨C, M⟩ with M_ii held to 1 by a stiff penalty: the relaxation of a largest cut, C indefinite."""
    C = np.random.default_rng(4).standard_normal((n, n))
    return EntryFit(C + C.T, np.arange(n), np.arange(n), 1.0, weight)


def forms(n=8, m=30):
    rng = np.random.default_rng(2)
    X, W = rng.standard_normal((m, n)), rng.standard_normal((n, 3))
    loss = LeastSquares(np.sum((X @ W) ** 2, axis=1))
    return TermSum([MeasuredTerm(QuadraticForms(X), loss), LinearTerm(IdentityForm(n))])


PROBLEMS = {"pairs": pair_problem(), "distances": distances(), "cut": cut(), "forms": forms()}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_same_proven_optimum_as_conjugate_gradient_in_fewer_steps(name):
    problem = PROBLEMS[name]
    geometry = FlatQuotient(problem.n, problem.n)
    newton = solve(problem, geometry, LagrangeNewton(), tol=1e-9, rng=0)
    plain = solve(problem, geometry, ConjugateGradient(), tol=1e-6, rng=0)
    assert newton.status is Status.OPTIMAL
    assert 2 * newton.iterations <= plain.iterations
    assert newton.value <= plain.value + 64 * problem.n * EPS * abs(plain.value)
    assert newton.value == pytest.approx(plain.value, rel=0, abs=1e-6 * abs(problem.value_at_zero() - plain.value))


def late_orders(result):
    """log r⁺ / log r of relative residuals r below 1e-2: 2 for a quadratic rate, to 1 for a linear one."""
    r = result.history["stationarity"]
    small = (r[:-1] < 1e-2) & (r[1:] > 1e-11)
    return np.log(r[1:][small]) / np.log(r[:-1][small])


@pytest.mark.parametrize("name", PROBLEMS)
def test_convergence_is_quadratic(name):
    problem = PROBLEMS[name]
    geometry = FlatQuotient(problem.n, problem.n)
    newton = solve(problem, geometry, LagrangeNewton(), tol=1e-12, rng=0)
    plain = solve(problem, geometry, LBFGS(), tol=1e-12, rng=0, max_iterations=400)
    assert newton.status is Status.OPTIMAL
    assert np.max(late_orders(newton)) > 1.4
    assert np.median(late_orders(plain)) < 1.1  # what a linear rate looks like
    assert newton.certificate.stationarity_relative < 1e-12
    assert np.all(np.diff(newton.history["phase"]) >= 0.0)  # to the last digit without help


def test_a_step_applies_the_data_to_seven_moves():
    """Never to n or m columns: the images of I, which make the system, are the data, and so is S an array."""
    problem = forms(n=8, m=30)
    history = solve(problem, FlatQuotient(8, 3), LagrangeNewton(steps=0), tol=1e-12, rng=0, max_iterations=8).history
    columns, phase = np.diff(history["operator_columns"]), history["phase"]
    # the first carries I and the driver's unit at zero; another method may have its turns
    newton = [k for k in range(3, len(phase)) if phase[k] == phase[k - 1] == 1.0]
    assert len(newton) >= 2
    assert [columns[k - 1] for k in newton] == [7 * 3] * len(newton)


def test_first_it_is_the_turn_of_the_method_that_approaches():
    problem, geometry = PROBLEMS["pairs"], FlatQuotient(N, N)
    newton = solve(problem, geometry, LagrangeNewton(LBFGS(), steps=5), rng=0)
    plain = solve(problem, geometry, LBFGS(), max_iterations=5, rng=0)
    assert newton.history["phase"][:7].tolist() == [0.0] * 6 + [1.0]
    np.testing.assert_array_equal(newton.history["value"][:6], plain.history["value"])
    at_once = solve(problem, geometry, LagrangeNewton(steps=0), rng=0)
    assert at_once.history["phase"][:2].tolist() == [0.0, 1.0]
    assert at_once.status is Status.OPTIMAL


def first_turn(method, problem, r):
    """Steps of the other method before the first Newton step."""
    state = method.init(problem, FlatQuotient(problem.n, r), np.random.default_rng(0).standard_normal((problem.n, r)))
    steps = 0
    while state.turns == 0:
        state, steps = method.step(state), steps + 1
    return steps


def test_the_first_turn_is_longer_where_newton_steps_cost_more():
    def diagonal(n, m):
        return EntryFit(None, *np.divmod(np.arange(m) * (n + 1), n), 1.0 + np.arange(m), n=n)

    few, many = first_turn(LagrangeNewton(), diagonal(60, 10), 20), first_turn(LagrangeNewton(), diagonal(200, 200), 2)
    assert few < many
    assert first_turn(LagrangeNewton(steps=3), cut(), 2) == 3
    assert first_turn(LagrangeNewton(steps=0), cut(), 2) == 0


def test_at_a_rank_that_is_too_low_the_turns_alternate():
    problem, geometry = cut(weight=1e4), FlatQuotient(N, 2)
    newton = solve(problem, geometry, LagrangeNewton(steps=2), tol=1e-8, rng=0)
    plain = solve(problem, geometry, ConjugateGradient(), tol=1e-8, rng=0)
    assert newton.status is plain.status is Status.STATIONARY
    assert newton.value <= plain.value + 1e-9 * abs(plain.value)
    phases = newton.history["phase"]
    ends = np.flatnonzero(np.diff(phases) != 0.0)
    assert phases[0] == 0.0
    steps, turns = np.diff(ends)[::2], np.diff(ends)[1::2]
    assert len(turns) >= 2
    assert np.all(steps >= 2)  # Newton's, before it gives way
    assert np.all(turns == 2 * ends[0] * 2 ** np.arange(len(turns)))  # the other method's, twice as many each time


#: What :class:`psdopt.contracts.QuadraticFit` asks for.
MEMBERS = (
    "n", "size", "curvatures", "at", "block", "multipliers", "gradient", "pair", "along", "force", "linear", "solver",
)  # fmt: skip


def bare(fit, **changed):
    """The members that a quadratic fit has to have, of another fit, and no base class."""
    return SimpleNamespace(**{name: getattr(fit, name) for name in MEMBERS} | changed)


def test_where_no_system_can_be_solved_the_other_method_goes_on(monkeypatch):
    problem = pair_problem()
    fit = bare(problem.quadratic_fit(), solver=Mock(side_effect=np.linalg.LinAlgError))
    monkeypatch.setattr(problem, "quadratic_fit", lambda: fit)
    result = solve(problem, FlatQuotient(N, 9), LagrangeNewton(), rng=0)
    assert result.status is Status.OPTIMAL
    assert not np.any(result.history["phase"])


def test_escape_adds_columns():
    result = solve(PROBLEMS["cut"], FlatQuotient(N, 2), LagrangeNewton(), escape=True, tol=1e-8, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.matrix.factor.shape[1] > 2


def test_iterates_turn_with_the_columns():
    problem = PROBLEMS["pairs"]
    rng = np.random.default_rng(0)
    Y, turn = rng.standard_normal((N, 6)), np.linalg.qr(rng.standard_normal((6, 6)))[0]
    method, geometry = LagrangeNewton(steps=2), FlatQuotient(N, 6)
    states = [method.init(problem, geometry, start) for start in (Y, Y @ turn)]
    size, allowed = np.linalg.norm(problem.quadratic_fit().gradient(np.ones(2 * N)), 2), 64 * N * EPS
    for _ in range(6):
        states = [method.step(state) for state in states]
        first, turned = states
        # what rounding a system of this condition adds
        allowed += 64 * N * EPS * size / first.extras.get("damping", size)
        np.testing.assert_allclose(turned.point, first.point @ turn, rtol=0, atol=allowed * np.abs(Y).max())
    assert first.extras["phase"] == 1.0
    assert allowed < 1e-6


def test_at_the_optimum_it_comes_to_an_end():
    problem = PROBLEMS["cut"]
    result = solve(problem, FlatQuotient(N, N), LagrangeNewton(), tol=1e-300, max_iterations=500, rng=0)
    assert result.iterations < 500
    assert result.status in (Status.NO_PROGRESS, Status.OPTIMAL)  # a gap of rounding, or a little more
    assert result.certificate.gap <= 1e-13 * result.certificate.unit
    assert result.certificate.stationarity_relative < 1e-13


def test_zero_columns_and_zero_points_are_no_trouble():
    problem, geometry = PROBLEMS["pairs"], FlatQuotient(N, 5)
    Y = np.random.default_rng(0).standard_normal((N, 5))
    Y[:, 3:] = 0.0
    state = LagrangeNewton(steps=0).init(problem, geometry, Y)
    for _ in range(4):
        state = LagrangeNewton(steps=0).step(state)
    assert np.all(state.point[:, 3:] == 0.0)
    zero = LagrangeNewton(steps=0).init(problem, geometry, np.zeros((N, 5)))
    assert LagrangeNewton(steps=0).step(zero).outcome is Outcome.STALLED


def test_an_objective_without_a_minimum_is_no_optimum():
    L = np.diag([-1.0, *np.ones(N - 1)])
    result = solve(EntryFit(L, [1, 2], [1, 2], 1.0), FlatQuotient(N, 3), LagrangeNewton(), rng=0, max_iterations=100)
    assert result.status is Status.UNBOUNDED
    assert result.value < -1e3


def test_a_gradient_that_is_not_finite_ends_the_run():
    problem = PROBLEMS["pairs"]
    state = LagrangeNewton(steps=0).init(problem, FlatQuotient(N, 2), np.ones((N, 2)))
    state.inner.gradient_norm = np.inf
    with pytest.raises(FloatingPointError):
        LagrangeNewton(steps=0).step(state)


def test_it_is_chosen_where_newton_steps_pay_and_nowhere_else():
    problem = PROBLEMS["pairs"]
    assert choose(problem, None, None)[1].first == LagrangeNewton()
    assert isinstance(choose(problem, FlatQuotient(N, 9), None)[1], LagrangeNewton)
    assert isinstance(choose(problem, Polar(N, 3), None)[1], ConjugateGradient)
    assert choose(QuadraticSDP(A=np.eye(N), C=-np.eye(N)), FlatQuotient(N, 3), None)[1] == SECOND_ORDER
    assert LagrangeNewton.is_efficient_for(problem, 9)
    with pytest.warns(DeprecationWarning, match="is_efficient_for") as told:
        assert LagrangeNewton.suits(problem, 9)
    assert told[0].filename == __file__
    assert LagrangeNewton.is_efficient_for(forms(m=300), 8)
    assert not LagrangeNewton.is_efficient_for(forms(m=FACTOR_ORDER + 1), 8)
    pairs = PairDistances([0, 1], [1, 2], X=np.zeros((2 * 10**6, 8)))
    # rows of data that no measurement looks at count as well
    assert not LagrangeNewton.is_efficient_for(TermSum([MeasuredTerm(pairs, LeastSquares(1.0))]), 8)
    assert not LagrangeNewton.is_efficient_for(QuadraticSDP(A=np.eye(N), C=-np.eye(N)), 9)
    free = pair_problem(as_data=aslinearoperator)
    assert not LagrangeNewton.is_efficient_for(free, 9)  # by itself; by name it is what it is elsewhere
    value = solve(problem, FlatQuotient(N, 9), rng=0).value
    assert solve(free, FlatQuotient(N, 9), LagrangeNewton(), rng=0).value == pytest.approx(value, rel=1e-9)
    polished = solve(problem, FlatQuotient(N, 9), ADMM(), rng=0)
    assert polished.history["phase"][-1] == 2.0
    n = FACTOR_ORDER + 1
    large = EntryFit(None, np.arange(n), np.arange(n), 1.0, n=n)
    assert choose(large, FlatQuotient(n, 900), None)[1] is LARGE
    ends = solve(pair_problem(as_data=aslinearoperator), FlatQuotient(N, 9), ADMM(), rng=0).history["phase"]
    assert ends[-1] == 1.0


def test_runs_on_one_problem_at_a_time_do_not_get_in_each_others_way():
    problem, geometry = PROBLEMS["pairs"], FlatQuotient(N, 9)
    alone = [solve(problem, geometry, LagrangeNewton(), rng=k, tol=1e-10).history["value"] for k in range(6)]
    with ThreadPoolExecutor(6) as pool:
        runs = pool.map(lambda k: solve(problem, geometry, LagrangeNewton(), rng=k, tol=1e-10), range(6))
    for values, run in zip(alone, runs, strict=True):
        np.testing.assert_allclose(run.history["value"], values, rtol=64 * N * EPS)


def test_a_fit_is_asked_for_the_members_of_the_contract_alone(monkeypatch):
    problem, start = pair_problem(), np.random.default_rng(0).standard_normal((N, 9))
    own = solve(problem, FlatQuotient(N, 9), LagrangeNewton(steps=4), start=start, tol=1e-8)
    fit = bare(problem.quadratic_fit())
    monkeypatch.setattr(problem, "quadratic_fit", lambda: fit)
    again = solve(problem, FlatQuotient(N, 9), LagrangeNewton(steps=4), start=start, tol=1e-8)
    assert isinstance(problem, OffersQuadraticFit)
    assert again.status is own.status is Status.OPTIMAL
    assert np.sum(again.history["phase"] == 1.0) > 2
    assert again.value == pytest.approx(own.value, rel=1e-12)
