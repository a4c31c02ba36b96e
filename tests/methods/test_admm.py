"""ADMM: exact block updates, the threshold on rho, the polish, and honest ends."""

from __future__ import annotations

import pickle
from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from autograd import grad
from scipy.sparse.linalg import aslinearoperator

from psdopt import LBFGS, Ability, AutogradProblem, ConjugateGradient, FlatQuotient, QuadraticSDP, Status, solve
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.method import Outcome
from psdopt.methods.admm import ADMM
from psdopt.problems.entry_fit import EntryFit
from psdopt.problems.term_sum import TermEvaluation
from psdopt.splitting import BiconvexSplit, split_of

#: l = λ/rho at which the iteration in a free direction loses stability.
GOLDEN = 0.5 * (1.0 + np.sqrt(5.0))


def laplacian(rng, n, scale=1.0):
    """A connected weighted graph: a ring and random chords."""
    W = np.triu((rng.random((n, n)) < 0.2) * rng.random((n, n)), 1)
    W[np.arange(n - 1), np.arange(1, n)] += 0.5
    W = W + W.T
    return scale * (np.diag(W.sum(axis=1)) - W)


def pair_problem(seed=0, n=24, gamma=2.0, scale=1.0, as_data=sp.csr_array):
    """Kernel learning on a random graph with n consistent pairs of two planted classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    i, j = np.triu_indices(n, 1)
    chosen = rng.choice(len(i), n, replace=False)
    i, j = i[chosen], j[chosen]
    d = np.arange(n)
    targets = np.concatenate([np.ones(n), (labels[i] == labels[j]).astype(float)])
    weights = scale * np.concatenate([np.full(n, 0.5 * gamma), np.full(n, gamma)])
    return EntryFit(as_data(laplacian(rng, n, scale)), np.concatenate([d, i]), np.concatenate([d, j]), targets, weights)


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


@pytest.mark.parametrize("rho", [1e-4, 1e4])
def test_adaptation_mends_a_bad_start(rho):
    result = solve(pair_problem(), FlatQuotient(24, 9), ADMM(rho=rho, switch=1e-7), max_iterations=600)
    assert result.optimal
    used = result.history["rho"][result.history["phase"] == 0.0]
    assert used[0] >= min(1e4, pair_problem().split().coupling_bound)
    assert used[-1] < 1e4


def test_split_alone_converges():
    result = solve(pair_problem(gamma=10.0), FlatQuotient(24, 9), ADMM(polish=None), tol=1e-5, max_iterations=3000)
    assert result.optimal
    assert np.all(result.history["phase"] == 0.0)


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


def test_all_methods_agree_on_one_object():
    problem = pair_problem(seed=4, gamma=5.0)
    geometry = FlatQuotient(24, 9)
    methods = (ADMM(), ConjugateGradient(), LBFGS(), ADMM(polish=LBFGS()))
    results = [solve(problem, geometry, method) for method in methods]
    assert all(result.optimal for result in results)
    decrease = problem.value_at_zero() - results[0].value
    for result in results[1:]:
        assert abs(result.value - results[0].value) < 1e-6 * decrease


def test_too_low_a_rank_is_stationary_and_escape_mends_it():
    problem = pair_problem(gamma=20.0)
    low = solve(problem, FlatQuotient(24, 1), ADMM())
    assert low.status is Status.STATIONARY
    grown = solve(problem, FlatQuotient(24, 1), ADMM(), escape=True)
    assert grown.optimal
    assert grown.matrix.factor.shape[1] > 1
    assert grown.value < low.value


def test_steps_leave_the_old_state_and_states_pickle(tmp_path):
    problem = pair_problem()
    method = ADMM(switch=1e-9)
    state = method.init(problem, FlatQuotient(24, 4), np.random.default_rng(0).standard_normal((24, 4)))
    for _ in range(3):
        old = {name: getattr(state.inner, name).copy() for name in ("V", "U", "multiplier", "image")}
        new = method.step(state)
        for name, array in old.items():
            np.testing.assert_array_equal(getattr(state.inner, name), array)
        state = new
    again = pickle.loads(pickle.dumps(method))
    assert again == method
    path = tmp_path / "run.ckpt"
    first = solve(problem, FlatQuotient(24, 9), method, max_iterations=5, checkpoint=path)
    assert not first.optimal
    resumed = solve(problem, FlatQuotient(24, 9), method, resume=path)
    straight = solve(problem, FlatQuotient(24, 9), method)
    assert resumed.optimal
    assert resumed.value == pytest.approx(straight.value, rel=1e-9)


class Squared(BiconvexSplit):
    """F(V, U) = |V Uᵀ − K|²/4 + |U Vᵀ − K|²/4 for a dense K: no coupling, one (r, r) system for all rows."""

    def __init__(self, problem, K):
        self.problem, self.K, self.n = problem, K, len(K)
        self.coupling_bound, self.scale = 0.0, float(np.linalg.norm(K, 2))

    def image(self, Y):
        return np.zeros_like(Y)

    def update(self, U, LU, anchor, rho):
        return np.linalg.solve(U.T @ U + rho * np.eye(U.shape[1]), (self.K @ U + rho * anchor).T).T

    def value(self, V, U, LU):
        return 0.5 * float(np.sum((V @ U.T - self.K) ** 2))

    def evaluation(self, Y, LY):
        return self.problem.at(Y)


class NearestPSD(QuadraticSDP):
    """½ |M − K|² with a split of its own."""

    def __init__(self, K):
        super().__init__(B=0.5, C=-0.5 * K, constant=0.5 * float(np.sum(K**2)))
        self.abilities |= {Ability.SPLIT}
        self._own = Squared(self, K)

    def split(self):
        return self._own


def test_any_problem_that_declares_a_split_will_do():
    rng = np.random.default_rng(2)
    K = rng.standard_normal((10, 10))
    K = K + K.T
    result = solve(NearestPSD(K), FlatQuotient(10, 10), ADMM())
    assert result.optimal
    values = np.linalg.eigvalsh(K)
    assert result.value == pytest.approx(0.5 * np.sum(np.minimum(values, 0.0) ** 2), rel=1e-6)


def test_a_known_evaluation_of_the_start_changes_nothing():
    problem, geometry = pair_problem(), FlatQuotient(24, 4)
    Y = np.random.default_rng(0).standard_normal((24, 4))
    for method in (ADMM(), ADMM(polish=None)):
        plain, cached = method.init(problem, geometry, Y), method.init(problem, geometry, Y, problem.at(Y))
        for _ in range(3):
            np.testing.assert_allclose(cached.point, plain.point, rtol=1e-12)
            assert cached.extras["phase"] == plain.extras["phase"] == 0.0 if method.polish else True
            plain, cached = method.step(plain), method.step(cached)


def test_added_columns_are_polished_and_the_split_is_not_run_again():
    problem = pair_problem(gamma=20.0)
    result = solve(problem, FlatQuotient(24, 1), ADMM(), escape=True)
    assert result.optimal
    first = int(np.flatnonzero(np.isfinite(result.history["widened_to"]))[0])
    assert np.all(result.history["phase"][first + 1 :] >= 1.0)


def test_refusals():
    problem = QuadraticSDP(B=1.0, C=-np.eye(4))
    with pytest.raises(IncompatibleError, match="lacks biconvex-split"):
        solve(problem, FlatQuotient(4, 2), ADMM())
    with pytest.raises(IncompatibleError, match="offers no bi-convex split"):
        split_of(problem)
    pairs = pair_problem()
    pairs.abilities -= {Ability.EXACT_LINE}
    with pytest.raises(IncompatibleError, match="polish=ConjugateGradient lacks exact-line"):
        solve(pairs, FlatQuotient(24, 2), ADMM())
    bad = [("rho", 0.0), ("rho", -1.0), ("rho", np.inf), ("rho", "big"), ("rho", True), ("switch", 0.0), ("polish", 3)]
    for name, value in bad:
        with pytest.raises(InvalidInputError, match=name):
            ADMM(**{name: value})


# the problem behind it


@pytest.mark.parametrize("as_data", [sp.csr_array, np.asarray, lambda L: aslinearoperator(sp.csr_array(L))])
def test_entry_fit_equals_the_plain_formula(as_data):
    problem = pair_problem(n=9, as_data=as_data)
    L = problem.L.to_dense()
    i, j, t, w = problem.i, problem.j, problem.targets, problem.weights
    reference = AutogradProblem(lambda M: anp.sum(L * M) + anp.sum(w * (M[i, j] - t) ** 2), 9)
    rng = np.random.default_rng(1)
    Y, D = rng.standard_normal((9, 3)), rng.standard_normal((9, 3))
    ours, theirs = problem.at(Y), reference.at(Y)
    assert ours.value == pytest.approx(theirs.value, rel=1e3 * EPS)
    np.testing.assert_allclose(ours.factor_gradient(), theirs.factor_gradient(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ours.hessian_vector(D), theirs.hessian_vector(D), rtol=1e-10, atol=1e-10)
    assert problem.split().coupling_bound >= np.linalg.eigvalsh(L)[-1] * (1 - 1e-12)
    assert problem.split().coupling_bound <= 1.1 * np.linalg.eigvalsh(L)[-1]


@pytest.mark.parametrize("as_data", [sp.csr_array, lambda L: aslinearoperator(sp.csr_array(L)), None])
def test_preconditioner_is_symmetric_positive_and_the_row_part_of_the_hessian(as_data):
    problem = pair_problem(n=8, as_data=as_data or sp.csr_array)
    if as_data is None:
        problem = EntryFit(None, problem.i, problem.j, problem.targets, problem.weights, n=8)
    r = 3
    apply = problem.at(np.random.default_rng(0).standard_normal((8, r))).preconditioner()
    P = np.array([apply(e.reshape(8, r)).ravel() for e in np.eye(8 * r)])
    np.testing.assert_allclose(P, P.T, atol=1e-13 * np.abs(P).max())
    assert np.linalg.eigvalsh(P)[0] > 0.0
    blocks = P.reshape(8, r, 8, r)
    off = blocks.copy()
    off[np.arange(8), :, np.arange(8), :] = 0.0
    assert np.all(off == 0.0)
    if as_data is sp.csr_array:
        evaluation = problem.at(np.random.default_rng(0).standard_normal((8, r)))
        L_ii, S = problem.L.data.diagonal(), evaluation.gradient @ np.eye(8)
        for row in (0, 5):
            E = np.zeros((r, 8, r))
            E[np.arange(r), row, np.arange(r)] = 1.0
            block = np.array([evaluation.hessian_vector(e)[row] for e in E])
            # S_ii, which vanishes with the residual, is represented by L_ii
            expected = block + 2.0 * (L_ii[row] - S[row, row]) * np.eye(r)
            np.testing.assert_allclose(np.linalg.inv(blocks[row, :, row, :]), expected, rtol=1e-9, atol=1e-9)


def test_a_run_preconditions_once_per_step_and_not_at_its_end(monkeypatch):
    problem, calls = pair_problem(gamma=10.0), []
    inside = TermEvaluation.preconditioner
    monkeypatch.setattr(TermEvaluation, "preconditioner", lambda e: calls.append(1) or inside(e))
    result = solve(problem, FlatQuotient(24, 6), ConjugateGradient(), tol=1e-5)
    assert result.optimal
    assert len(calls) == result.iterations


def test_the_preconditioner_saves_most_iterations():
    problem = pair_problem(gamma=10.0)
    start = np.random.default_rng(0).standard_normal((24, 6))
    counts = [
        solve(problem, FlatQuotient(24, 6), ConjugateGradient(preconditioner=kind), start=start, tol=1e-5).iterations
        for kind in ("problem", "gram")
    ]
    assert 2 * counts[0] < counts[1]


def test_completion_without_a_linear_term():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((15, 2))
    i, j = np.triu_indices(15)
    keep = rng.random(len(i)) < 0.7
    problem = EntryFit(None, i[keep], j[keep], (Z @ Z.T)[i[keep], j[keep]], n=15)
    assert problem.split().coupling_bound == 0.0
    result = solve(problem, FlatQuotient(15, 2), ADMM())
    assert result.optimal
    assert result.value < 1e-6 * problem.value_at_zero()
    np.testing.assert_allclose(result.matrix.to_dense(), Z @ Z.T, atol=1e-3 * np.linalg.norm(Z @ Z.T))


def test_entry_fit_rejects_bad_input():
    L = np.eye(3)
    with pytest.raises(InvalidInputError, match="n must be given"):
        EntryFit(None, [0], [1], 1.0)
    with pytest.raises(InvalidInputError, match=r"listed once; found \(0, 1\)"):
        EntryFit(L, [0, 1], [1, 0], 1.0)
    with pytest.raises(InvalidInputError, match="weights must be above 0"):
        EntryFit(L, [0], [1], 1.0, 0.0)
    with pytest.raises(InvalidInputError, match="targets must be finite"):
        EntryFit(L, [0], [1], np.nan)
    with pytest.raises(InvalidInputError, match="targets must be a number or have shape"):
        EntryFit(L, [0], [1], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="L must be symmetric"):
        EntryFit(np.triu(np.ones((3, 3))), [0], [1], 1.0)
