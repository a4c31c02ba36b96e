"""Steps on the bi-convex split: block by block, their modes, penalties too small."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from autograd import grad

from psdopt import FlatQuotient, solve
from psdopt.contracts.method import Outcome
from psdopt.linalg.tolerances import EPS
from psdopt.methods.admm import ADMM
from psdopt.methods.split_steps import MAX_RESTARTS, MULTIPLE, PATIENCE, SCALE_SHARE, SplitSteps
from psdopt.problems.entry_fit import EntryFit
from tests.methods.pairs import laplacian, pair_problem

#: l = λ/rho at which the iteration in a free direction loses stability.
GOLDEN = 0.5 * (1.0 + np.sqrt(5.0))


def augmented(L, P, W, T):
    def value(V, U, Lam, rho):
        fit = 0.5 * anp.sum(P * W * (V @ U.T - T) ** 2)
        return anp.trace(V.T @ L @ U) + fit + anp.sum(Lam * (V - U)) + 0.5 * rho * anp.sum((V - U) ** 2)

    return value


def test_one_step_minimises_the_augmented_lagrangian_block_by_block():
    problem = pair_problem(n=11)
    weights, targets = (A.toarray() for A in problem._ordered(2.0))
    P = weights > 0
    value = augmented(problem.L.data.toarray(), P, weights, targets)
    method = ADMM(polish=None, adapt=False)
    rng = np.random.default_rng(3)
    state = method.init(problem, FlatQuotient(11, 4), rng.standard_normal((11, 4)))
    for _ in range(2):
        before, state = state, method.step(state)
    args = (before.multiplier, before.rho)
    scale = np.linalg.norm(grad(value, 0)(np.zeros((11, 4)), before.U, *args))
    assert np.linalg.norm(grad(value, 0)(state.V, before.U, *args)) < 1e3 * EPS * scale
    assert np.linalg.norm(grad(value, 1)(state.V, state.U, *args)) < 1e3 * EPS * scale
    # the U block is stationary for the new multiplier, so the dual residual is that of the block updated last
    assert np.linalg.norm(grad(value, 1)(state.V, state.U, state.multiplier, 0.0)) < 1e3 * EPS * scale
    assert state.extras["dual_residual"] == pytest.approx(before.rho * np.linalg.norm(state.U - before.U))
    assert state.extras["primal_residual"] == pytest.approx(np.linalg.norm(state.V - state.U))
    split = problem.split()
    no_penalty = value(state.V, state.U, np.zeros((11, 4)), 0.0)
    assert split.value(state.V, state.U, split.image(state.U)) == pytest.approx(no_penalty, rel=1e3 * EPS)


def test_two_products_per_iteration_and_the_mean_is_the_iterate():
    problem = pair_problem()
    method = ADMM(polish=None)
    state = method.init(problem, FlatQuotient(24, 5), np.random.default_rng(0).standard_normal((24, 5)))
    before = problem.counts()["operator_applications"]
    for _ in range(4):
        state = method.step(state)
        assert np.isfinite(state.evaluation.value)
    assert problem.counts()["operator_applications"] == before + 8
    np.testing.assert_array_equal(state.point, 0.5 * (state.V + state.U))
    fresh = problem.at(state.point)
    assert state.evaluation.value == pytest.approx(fresh.value, rel=1e3 * EPS)
    np.testing.assert_allclose(state.evaluation.factor_gradient(), fresh.factor_gradient(), atol=1e-12)


def free_graph(n=12):
    """Coupled rows that no entry touches, and one entry on a row of its own: the linear recursion, pure."""
    L = np.zeros((n + 1, n + 1))
    L[:n, :n] = laplacian(np.random.default_rng(5), n)
    return EntryFit(sp.csr_array(L), [n], [n], 1.0)


@pytest.mark.parametrize(
    ("share", "grows"),
    [(0.49, True), (0.60, True), (0.99 / GOLDEN, True), (1.01 / GOLDEN, False), (1.05, False)],
)
def test_the_threshold_on_rho_is_sharp(share, grows):
    """In a free direction the iteration is stable exactly for rho > λ_max / 1.618, above the bound λ_max / 2."""
    problem = free_graph()
    largest = np.linalg.eigvalsh(problem.L.data.toarray())[-1]
    split, rho = problem.split(), share * largest
    rng = np.random.default_rng(0)
    V = U = rng.standard_normal((13, 3))
    Lam = np.zeros_like(U)
    sizes = []
    for _ in range(400):
        V = split.update(U, split.image(U), U - Lam / rho, rho)
        U = split.update(V, split.image(V), V + Lam / rho, rho)
        Lam = Lam + rho * (V - U)
        sizes.append(np.linalg.norm(V - U))
    assert (sizes[-1] > 10.0 * sizes[100]) == grows
    assert sizes[-1] < sizes[100] or grows


@pytest.mark.parametrize(("share", "bounded"), [(0.45, False), (0.499, False), (0.501, True), (0.7, True)])
def test_the_augmented_lagrangian_is_bounded_below_exactly_above_half_of_the_largest_eigenvalue(share, bounded):
    """Necessary, not enough: between 1/2 and 0.618 the Lagrangian is bounded and the iteration still diverges."""
    problem = free_graph()
    split = problem.split()
    values, vectors = np.linalg.eigh(problem.L.data.toarray())
    rho, rng = share * values[-1], np.random.default_rng(0)

    def lagrangian(V, U):
        return split.value(V, U, split.image(U)) + 0.5 * rho * np.sum((V - U) ** 2)

    # every direction of the free rows, the worst one among them: V = −U along the leading eigenvector
    growth = [lagrangian(1e3 * vectors[:, [-1]], -1e3 * vectors[:, [-1]])]
    for _ in range(200):
        V, U = rng.standard_normal((2, 13, 1))
        V[12], U[12] = 0.0, 0.0
        growth.append(lagrangian(1e3 * V, 1e3 * U))
    assert (min(growth) > 0.0) == bounded


def test_the_modes_follow_the_characteristic_equation():
    split = free_graph().split()
    values, vectors = np.linalg.eigh(split.problem.L.data.toarray())
    rho = 1.3 * values[-1]
    for k in (-1, -4):
        e, lam = vectors[:, [k]], values[k]
        share = lam / rho
        v, u = 0.7, -0.4  # U+ and V+ from (V, U) with multiplier L V
        U, Lam = u * e, lam * v * e
        V1 = split.update(U, split.image(U), U - Lam / rho, rho)
        U1 = split.update(V1, split.image(V1), V1 + Lam / rho, rho)
        step = np.array([[-share, 1 - share], [share**2, (1 - share) ** 2]])
        np.testing.assert_allclose([(e.T @ V1).item(), (e.T @ U1).item()], step @ [v, u], atol=1e-12)
        np.testing.assert_allclose(np.poly(step), [1.0, -(1 - 3 * share + share**2), -share * (1 - share)], atol=1e-14)


@pytest.mark.parametrize("rho", [1e-4, 1e4])
def test_adaptation_mends_a_bad_start(rho):
    result = solve(pair_problem(), FlatQuotient(24, 9), ADMM(rho=rho, switch=1e-7), max_iterations=600)
    assert result.optimal
    used = result.history["rho"][result.history["phase"] == 0.0]
    assert used[0] >= min(1e4, pair_problem().split().coupling_bound)
    assert used[-1] < 1e4


def test_blocks_that_come_apart_double_rho_and_go_on(monkeypatch):
    problem = pair_problem()
    split = problem.split()
    split.coupling_bound *= 0.2  # a bound that is none: the safeguard must notice
    split.scale = 0.0
    monkeypatch.setattr(problem, "split", lambda: split)
    result = solve(problem, FlatQuotient(24, 9), ADMM())
    assert result.optimal
    assert np.nanmax(result.history["restarts"]) > 0


def test_non_finite_blocks_end_the_split():
    problem = pair_problem()
    method = ADMM(rho=1.0, adapt=False, polish=None)
    state = method.init(problem, FlatQuotient(24, 3), np.ones((24, 3)))
    bad = replace(state, U=np.full((24, 3), 1e300))
    with np.errstate(all="ignore"):
        ended = method.step(bad)
    assert ended.outcome is Outcome.DIVERGED
    assert np.isfinite(ended.evaluation.value)
    assert method.step(ended).outcome is ended.outcome


@pytest.mark.parametrize(
    ("primal", "dual", "unit", "rho", "after"),
    [
        (50.0, 1.0, 1.0, 3.0, 6.0),  # primal residual times the unit above many dual residuals
        (5.0, 1.0, 1.0, 3.0, 3.0),
        (1.0, 5.0, 1.0, 3.0, 3.0),
        (1.0, 50.0, 1.0, 8.0, 4.0),  # and the other way round
        (1.0, 50.0, 1.0, 1.2 * MULTIPLE, MULTIPLE),  # but not below so many units
        (1.0, 50.0, 1.0, 0.8 * MULTIPLE, 0.8 * MULTIPLE),  # and never upwards
        (1.0, 20.0, 4.0, 20.0, 20.0),  # the unit weighs the primal residual
        (5.0, 1.0, 4.0, 20.0, 40.0),
        (1.0, 200.0, 4.0, 4.8 * MULTIPLE, 4.0 * MULTIPLE),
    ],
)
@pytest.mark.parametrize("by", ["coupling", "scale"])
def test_the_penalty_follows_residuals_that_differ_much(primal, dual, unit, rho, after, by):
    split = SimpleNamespace(coupling_bound=unit, scale=0.9 * unit / SCALE_SHARE)
    if by == "scale":  # a share of the size of the other pieces
        split = SimpleNamespace(coupling_bound=0.9 * unit, scale=unit / SCALE_SHARE)
    assert SplitSteps()._adapted(rho, split, primal, dual) == pytest.approx(after, rel=1e-14)
    assert SplitSteps(adapt=False)._adapted(rho, split, primal, dual) == rho


def scripted(monkeypatch, V, U):
    """A problem whose split returns these blocks, its state at the start, and the method."""
    problem = pair_problem(n=6)
    split, blocks = problem.split(), [V, U]
    monkeypatch.setattr(split, "update", lambda *_: blocks.pop(0).copy(), raising=False)
    monkeypatch.setattr(problem, "split", lambda: split)
    method = SplitSteps(rho=1.0)
    return method, method.init(problem, FlatQuotient(6, 1), 0.1 * np.ones((6, 1)))


@pytest.mark.parametrize(
    ("apart", "before", "diverging"),
    [
        (1.0, 3, 0), (1.9, 3, 4), (1.9, PATIENCE - 2, PATIENCE - 1), (1.9, PATIENCE - 1, None), (1.0, PATIENCE - 1, 0),
    ],
)  # fmt: skip
def test_some_iterations_apart_in_a_row_double_the_penalty(monkeypatch, apart, before, diverging):
    """Apart: |V − U| is clearly longer than |V + U|/2, here `apart` times as long."""
    mean = 7.0 * np.ones((6, 1))
    method, state = scripted(monkeypatch, (1.0 + apart / 2.0) * mean, (1.0 - apart / 2.0) * mean)
    assert (state.diverging, state.restarts, state.size) == (0, 0, pytest.approx(0.1 * np.sqrt(6.0)))
    after = method.step(replace(state, diverging=before))
    if diverging is not None:
        assert (after.diverging, after.restarts) == (diverging, 0)
        np.testing.assert_allclose(after.point, mean)
        return
    assert (after.diverging, after.restarts, after.rho) == (0, 1, 2.0 * state.rho)
    assert after.evaluation is state.best
    assert after.extras["restarts"] == 1.0


@pytest.mark.parametrize(
    ("growth", "start", "restarts", "outcome"),
    [
        (1e3, 1.0, 0, "on"), (1e9, 1.0, MAX_RESTARTS - 1, "again"), (1e9, 1.0, MAX_RESTARTS, "over"),
        (1e3, 1e-6, 0, "again"), (1e9, 1e6, 0, "on"),
    ],
)  # fmt: skip
def test_an_enormous_growth_restarts_some_times_and_then_ends(monkeypatch, growth, start, restarts, outcome):
    """Growth is relative to the size of the start, here that of `scripted` times `start`."""
    mean = growth * 0.1 * np.ones((6, 1))  # |V − U| = |V + U|/2
    method, state = scripted(monkeypatch, 1.5 * mean, 0.5 * mean)
    after = method.step(replace(state, restarts=restarts, size=start * state.size))
    if outcome == "over":
        assert after.outcome is Outcome.DIVERGED
        assert after.gradient_norm == pytest.approx(np.linalg.norm(state.best.factor_gradient()))
    else:
        assert after.outcome is Outcome.RUNNING
        assert after.restarts == restarts + (outcome == "again")


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_the_best_mean_is_kept(monkeypatch, size):
    problem = pair_problem(n=6)
    for target in (0.9, 30.0):
        mean = target * np.ones((6, 1))
        method, state = scripted(monkeypatch, mean, mean)
        after = method.step(state)
        better = problem.at(mean).value < state.best.value
        assert after.best is (after.evaluation if better else state.best)
        assert (target == 0.9) == better
    method = SplitSteps()
    state = method.init(problem, FlatQuotient(6, 1), size * np.ones((6, 1)))
    assert state.size == pytest.approx(size * np.sqrt(6.0))
