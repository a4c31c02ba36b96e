"""A linear F on matrices of a fixed diagonal: every point feasible, no saddle taken for an answer, few factors."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, Constraint, FlatQuotient, Status, TermSum, certify, solve
from psdopt.certificates.constrained import slack
from psdopt.constraints import diagonal
from psdopt.constraints.measurements import SparseForms
from psdopt.errors import IncompatibleError
from psdopt.methods import InteriorPoint, SphereGradient
from psdopt.methods.sphere_metric import SphereMetric
from psdopt.terms import LinearTerm, MatrixForm
from psdopt_plugins.relaxations.maxcut import maxcut_problem


def linear(C):
    return TermSum([LinearTerm(MatrixForm(C))])


def symmetric(n, rng):
    C = rng.standard_normal((n, n))
    return C + C.T


def fixed(C, d, rng):
    """The constraints w_i M_ii = w_i d_i in random order, with weights of both signs."""
    n, order = len(d), rng.permutation(len(d))
    w = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-2, 2, n)
    forms = SparseForms(order, order, sp.csr_array(np.diag(w)), n)
    return Constrained(linear(C), Constraint(forms, w * d[order], w * d[order]))


def random_graph(n, degree, seed):
    upper = sp.random_array((n, n), density=degree / (2 * n), rng=np.random.default_rng(seed))
    upper.data[:] = 1.0
    upper = sp.triu(upper, 1) + sp.eye_array(n, k=1)  # the path connects the vertices: one block
    return sp.csr_array(upper + upper.T)


@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_an_interior_point_method_for_any_units_and_order_of_the_constraints(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    scales = 10.0 ** rng.uniform(-2, 2, n) if seed % 2 else np.ones(n)
    C, d = symmetric(n, rng) * np.outer(scales, scales), 10.0 ** rng.uniform(-3, 3, n)
    problem = fixed(C, d, rng)
    found = solve(problem, method=SphereGradient(), rng=seed)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(solve(problem, method=InteriorPoint()).value, rel=3e-6)
    assert np.diag(found.matrix.to_dense()) == pytest.approx(d, rel=1e-12)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_too_few_columns_are_a_saddle_that_it_leaves(rank, seed):
    n = 24
    problem = Constrained(linear(symmetric(n, np.random.default_rng(seed))), diagonal(n, 1.0))
    narrow = solve(problem, FlatQuotient(n, rank), SphereGradient(), rng=seed, escape=True)
    assert narrow.status is Status.OPTIMAL
    assert narrow.matrix.factor.shape[1] > rank
    kept = solve(problem, FlatQuotient(n, rank), SphereGradient(), rng=seed)
    assert kept.status is not Status.OPTIMAL
    assert kept.matrix.factor.shape[1] == rank


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_lack_are_added_early_and_many_at_once(seed):
    """One by one at saddles, the columns of these graphs took 48 to 78 steps; added before them, five to ten."""
    problem = maxcut_problem(random_graph(1000, 20, seed))
    result = solve(problem, FlatQuotient(1000, 4), SphereGradient(), tol=1e-3, escape=True, rng=seed)
    assert result.status is Status.OPTIMAL
    assert result.iterations <= 16
    assert np.all(np.diff(result.history["value"]) <= 0.0)


def test_a_limit_of_the_rank_is_kept():
    problem = maxcut_problem(random_graph(1000, 20, 0))
    result = solve(problem, FlatQuotient(1000, 4), SphereGradient(max_rank=6), tol=1e-3, escape=True, rng=0, max_rank=6)
    assert result.matrix.factor.shape[1] == 6
    assert result.status is not Status.OPTIMAL


def test_its_multipliers_make_any_point_a_proof():
    n = 40
    problem = Constrained(linear(symmetric(n, np.random.default_rng(5))), diagonal(n, 1.0))
    best = solve(problem).value
    halfway = solve(problem, FlatQuotient(n, 9), SphereGradient(), max_iterations=1, rng=0)
    proven = certify(problem, halfway.matrix, dual=halfway.state.dual)
    assert proven.dual_value <= best + 1e-9 * abs(best)
    assert halfway.value - best <= proven.gap <= 100.0 * (halfway.value - best)


def test_a_run_computes_no_spectrum_and_few_factors(monkeypatch):
    factors = []
    factored = slack._factored_pair
    monkeypatch.setattr(slack, "_factored_pair", lambda S, *rest: factors.append(len(S.data)) or factored(S, *rest))
    spectra = []
    monkeypatch.setattr(slack, "smallest_eigenpair", lambda *_, **__: spectra.append(1))
    result = solve(maxcut_problem(random_graph(600, 8, 1)), rng=0)
    assert result.status is Status.OPTIMAL
    assert not spectra
    assert len(factors) <= 4
    assert result.iterations <= 40


def test_solve_chooses_it_where_the_diagonal_is_of_one_size():
    C = symmetric(12, np.random.default_rng(3))
    for spread, method in ((1e2, "SphereGradient"), (1e6, "InteriorPoint")):
        result = solve(Constrained(linear(C), diagonal(12, np.geomspace(1.0, spread, 12))))
        assert (result.method, result.status) == (method, Status.OPTIMAL)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_minimum_of_zero_is_proven_to_rounding(rank):
    B = np.random.default_rng(rank).standard_normal((20, rank))
    result = solve(Constrained(linear(B @ B.T), diagonal(20, 1.0)))
    assert result.status is Status.OPTIMAL
    assert abs(result.value) <= 1e-12 * np.sum(np.abs(B @ B.T))


@pytest.mark.parametrize(("size", "unit"), [(1e-150, 1e-60), (1e95, 1e10), (1e-90, 1e-90)])
def test_no_product_of_units_overflows_or_vanishes(size, unit):
    C = symmetric(6, np.random.default_rng(0))
    plain, scaled = (solve(Constrained(linear(c * C), diagonal(6, d))) for c, d in ((1.0, 1.0), (size, unit)))
    assert (plain.status, scaled.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert scaled.value / size / unit == pytest.approx(plain.value, rel=1e-5)


def test_a_diagonal_of_about_one_size_costs_no_accuracy_at_large_orders():
    """Multipliers raised for mixed units cost some n² eps of F; where units are not mixed, plain ones prove more."""
    d = np.geomspace(1.0, 30.0, 300)
    C = 0.25 * random_graph(300, 6, 2).toarray()
    result = solve(Constrained(linear(C), diagonal(300, d)), tol=2e-10)
    assert (result.method, result.status) == ("SphereGradient", Status.OPTIMAL)


def test_steps_do_not_depend_on_units():
    n = 30
    C = symmetric(n, np.random.default_rng(2))
    units = (1.0, 1.0), (2.0**40, 2.0**-20)
    runs = [solve(Constrained(linear(scale * C), diagonal(n, unit)), rng=0) for scale, unit in units]
    assert runs[1].value == pytest.approx(2.0**20 * runs[0].value, rel=1e-9)
    assert abs(runs[1].iterations - runs[0].iterations) <= 1


@pytest.mark.parametrize("d", [[1.0, 1.0, 0.0], [1.0, 1.0, None]])
def test_other_constraints_are_refused_and_solved_otherwise(d):
    C = symmetric(3, np.random.default_rng(0))
    bounds = [(0.0, 2.0) if each is None else (each, each) for each in d]
    forms = SparseForms(range(3), range(3), np.eye(3), 3)
    problem = Constrained(linear(C), Constraint(forms, *np.array(bounds).T))
    with pytest.raises(IncompatibleError, match="fixed-diagonal"):
        solve(problem, method=SphereGradient())
    assert solve(problem).status is Status.OPTIMAL


def test_rows_of_different_curvature_cost_few_iterations(monkeypatch):
    """Hubs: gradients over the curvatures of their rows take at most two thirds of the steps of plain gradients."""
    rng, n = np.random.default_rng(300), 300
    chances = np.arange(1.0, n + 1.0) ** -0.7
    i, j = rng.choice(n, (2, 6 * n), p=chances / chances.sum())
    half = sp.csr_array((np.where(i != j, 1.0, 0.0), (i, j)), shape=(n, n))
    problem = maxcut_problem(sp.csr_array(half + half.T))

    def steps() -> int:
        found = [solve(problem, rng=seed) for seed in range(3)]
        assert all(each.status is Status.OPTIMAL for each in found)
        return sum(each.iterations for each in found)

    monkeypatch.setattr(SphereMetric, "renewed", lambda metric, *_: metric)
    scaled = steps()
    monkeypatch.setattr(SphereMetric, "__call__", lambda metric, V, G, y: G)
    assert scaled <= 2 / 3 * steps()


@pytest.mark.parametrize(("n", "degree"), [(60, 4), (150, 8), (150, 40), (400, 6)])
def test_an_inverse_of_the_slack_takes_three_fifths_of_the_steps(monkeypatch, n, degree):
    rng = np.random.default_rng(n + degree)
    problems = []
    for _ in range(3):
        i, j = rng.integers(0, n, (2, n * degree // 2))
        half = sp.csr_array((np.where(i != j, rng.choice([-1.0, 1.0], len(i)), 0.0), (i, j)), shape=(n, n))
        problems.append(Constrained(linear(sp.csr_array(half + half.T)), diagonal(n, 1.0)))

    def steps() -> int:
        found = [solve(each, FlatQuotient(n, 20), SphereGradient(2), rng=0) for each in problems]
        assert all(each.status is Status.OPTIMAL for each in found)
        return sum(each.iterations for each in found)

    inverse = steps()
    monkeypatch.setattr(SphereMetric, "renewed", lambda metric, *_: metric)
    assert inverse <= 0.6 * steps()


def test_iterates_do_not_depend_on_the_diagonal_of_c():
    rng = np.random.default_rng(0)
    C, d, n = symmetric(30, rng), rng.uniform(0.5, 2.0, 30), 30
    runs = []
    for added in (np.zeros(n), rng.standard_normal(n), 100.0 * rng.standard_normal(n)):
        problem = Constrained(linear(C + np.diag(added)), diagonal(n, d))
        result = solve(problem, FlatQuotient(n, 8), SphereGradient(grow=False), max_iterations=3)
        assert abs(result.certificate.dual_value - result.value) <= result.certificate.gap * (1.0 + 1e-9)
        runs.append((result.matrix.to_dense(), result.value - added @ d, result.certificate.dual_value - added @ d))
    for M, value, bound in runs[1:]:
        np.testing.assert_allclose(M, runs[0][0], rtol=0.0, atol=1e-9)
        assert (value, bound) == pytest.approx(runs[0][1:], rel=1e-9)


def test_a_diagonal_c_leaves_nothing_to_do():
    result = solve(Constrained(linear(np.diag([3.0, -1.0, 2.0])), diagonal(3, 1.0)), method=SphereGradient())
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(4.0, rel=1e-14)
    assert result.iterations <= 1
