"""ADMM: exact block updates, their modes, the threshold on rho, the polish, and honest ends."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from autograd import grad

from psdopt import ADMM, LBFGS, EntryFit, FlatQuotient, Outcome, Status, solve
from psdopt.linalg.tolerances import EPS
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
    assert problem.counts()["operator_applications"] == before + 8
    np.testing.assert_array_equal(state.point, 0.5 * (state.V + state.U))


def free_graph(n=12):
    """Coupled rows that no entry touches, and one entry on a row of its own: the linear recursion, pure."""
    L = np.zeros((n + 1, n + 1))
    L[:n, :n] = laplacian(np.random.default_rng(5), n)
    return EntryFit(sp.csr_array(L), [n], [n], 1.0)


@pytest.mark.parametrize(
    ("share", "grows"), [(0.49, True), (0.60, True), (0.99 / GOLDEN, True), (1.01 / GOLDEN, False), (1.05, False)]
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


@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_too_small_a_penalty_is_reported_and_never_an_answer(scale):
    problem = pair_problem(scale=scale)
    rho = 0.45 * float(np.linalg.eigvalsh(problem.L.to_dense())[-1])
    result = solve(problem, FlatQuotient(24, 8), ADMM(rho=rho, adapt=False), max_iterations=400)
    assert result.status is Status.DIVERGED
    assert not result.converged
    assert result.message.startswith("diverged")
    # the point is the best one seen, not the one that flew away; its certificate says what it is worth
    assert result.value == pytest.approx(np.nanmin(result.history["value"]), rel=1e-12)
    assert result.value == pytest.approx(problem.at(result.matrix.factor).value, rel=1e-12)
    assert result.certificate.relative > 1e-3
    assert result.iterations < 400


@pytest.mark.parametrize("scale", [1e-3, 1.0, 60.0])
def test_default_proves_the_optimum_whatever_the_scale(scale):
    result = solve(pair_problem(scale=scale), FlatQuotient(24, 9), ADMM(), tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert result.certificate.relative <= 1e-6
    phases = result.history["phase"]
    assert np.unique(phases).tolist() == [0.0, 1.0, 2.0]  # splitting, conjugate gradient, Newton
    assert np.all(np.diff(phases) >= 0.0)
    split_part = phases == 0.0
    assert np.all(np.isfinite(result.history["primal_residual"][split_part][1:]))
    assert np.all(np.isfinite(result.history["dual_residual"][split_part][1:]))
    assert np.all(result.history["rho"][split_part] >= 0.99 * scale)


def test_iterates_do_not_depend_on_the_scale_of_the_objective():
    values = []
    for scale in (1.0, 2.0**10):
        result = solve(pair_problem(scale=scale), FlatQuotient(24, 9), ADMM(polish=None), max_iterations=30)
        values.append(result.history["value"] / scale)
    np.testing.assert_allclose(values[1], values[0], rtol=1e-8)


def test_split_alone_converges():
    result = solve(pair_problem(gamma=10.0), FlatQuotient(24, 9), ADMM(polish=None), tol=1e-5, max_iterations=3000)
    assert result.optimal
    assert np.all(result.history["phase"] == 0.0)


def test_the_polish_may_be_another_method():
    result = solve(pair_problem(seed=4, gamma=5.0), FlatQuotient(24, 9), ADMM(polish=LBFGS()))
    assert result.optimal
    assert result.history["phase"][-1] == 1.0


def test_too_low_a_rank_is_stationary_and_escape_mends_it():
    problem = pair_problem(gamma=20.0)
    low = solve(problem, FlatQuotient(24, 1), ADMM())
    assert low.status is Status.STATIONARY
    grown = solve(problem, FlatQuotient(24, 1), ADMM(), escape=True)
    assert grown.optimal
    assert grown.matrix.factor.shape[1] > 1
    assert grown.value < low.value
    # added columns are polished, and the split is not run again
    first = int(np.flatnonzero(np.isfinite(grown.history["widened_to"]))[0])
    assert np.all(grown.history["phase"][first + 1 :] >= 1.0)
