"""Greedy turns: atoms until a search is due, and the same search again where S offers nothing new."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from psdopt import BILGO, Outcome, PSDCone, QuadraticSDP
from tests.methods.planted import planted, zero

ALONE = BILGO(None, eigenvectors=1)
SEARCHED = BILGO()


def searching(Y, **changed):
    """A state of BILGO with a search under way at Y, as `changed`."""
    problem, _, _ = planted(8, 3)
    state = SEARCHED.init(problem, PSDCone(8), Y)
    begun = SEARCHED._begun(state, SEARCHED.searcher, state.evaluation, [], [])
    return replace(begun, search=replace(begun.search, **changed))


def test_where_m_has_all_directions_the_same_search_goes_on_with_a_finer_goal():
    Y = np.random.default_rng(0).standard_normal((8, 8))
    state = searching(Y, goal=0.0, limit=1)
    after = SEARCHED.step(state)
    residual = 0.5 * after.search.inner.gradient_norm
    assert (after.search.growing, after.search.steps, after.search.limit) == (False, 0, 2)
    assert 0.0 < after.search.goal < residual / np.linalg.norm(after.evaluation.factor)
    assert after.search.inner.extras  # one of ConjugateGradient's, after its first step
    assert SEARCHED.step(after).evaluation.value < after.evaluation.value


def test_a_direction_that_m_lacks_becomes_an_atom():
    state = SEARCHED.step(searching(np.eye(8)[:, :1], goal=0.0, limit=1))
    assert state.search is None
    assert state.vectors.shape[1] >= 1
    after = SEARCHED.step(state)
    assert after.evaluation.value < state.evaluation.value


@pytest.mark.parametrize(
    ("rule", "least", "most"),
    [("bilgo", 0.0, np.inf), ("journee", 1.0, 1.0), ("random-conic", 0.0, np.inf), ("laue", 0.0, 1.0)],
)
def test_each_rule_shrinks_and_stretches_m_as_it_may(rule, least, most):
    problem, _, M = planted(6, 2)
    values, vectors = np.linalg.eigh(M)
    Y = vectors[:, -2:] * np.sqrt(values[-2:])
    for factor in (0.5, 2.0):  # the best alpha is about 4 and 1/4
        method = BILGO(None, eigenvectors=1, rule=rule, backend="dense")
        alpha = method.step(method.init(problem, PSDCone(6), factor * Y)).extras.get("alpha", 1.0)
        best = np.clip(factor**-2, least, most)
        assert alpha == pytest.approx(best, rel=0.3 if least < best < most else 1e-12)


def dense_plane_minimum(value, M, V):
    """M after the exact search over alpha M + beta v vᵀ for every column v of V in turn; the product of the alphas,
    the sum of the betas."""
    product, total = 1.0, 0.0
    for v in V.T:
        N = np.outer(v, v)
        found = scipy.optimize.minimize(
            lambda x, M=M, N=N: value(x[0] * M + x[1] * N), [1.0, 0.0], bounds=[(0.0, None)] * 2, tol=1e-14
        ).x
        M, product, total = found[0] * M + found[1] * N, product * found[0], total + found[1]
    return M, product, total


def test_a_greedy_step_is_one_search_per_eigenvector_in_turn():
    rng = np.random.default_rng(5)
    A, C = rng.standard_normal((6, 6)), rng.standard_normal((6, 6))
    A, C = A @ A.T / 6.0, C + C.T
    problem = QuadraticSDP(A, 0.7, C)

    def value(X):
        return np.sum((A @ X @ A) * X) + 0.7 * np.sum(X * X) + 2.0 * np.sum(C * X)

    method = BILGO(None, eigenvectors=2, backend="dense")
    state = method.init(problem, PSDCone(6), 0.3 * rng.standard_normal((6, 2)))
    S = state.evaluation.gradient @ np.eye(6)
    np.testing.assert_allclose(np.abs(state.vectors.T @ np.linalg.eigh(S)[1][:, :2]), np.eye(2), atol=1e-9)
    M, alpha, beta = dense_plane_minimum(value, state.evaluation.matrix.to_dense(), state.vectors)
    after = method.step(state)
    np.testing.assert_allclose(after.evaluation.matrix.to_dense(), M, atol=1e-5)
    assert after.extras["alpha"] == pytest.approx(alpha, rel=1e-5)
    assert after.extras["beta"] == pytest.approx(beta, rel=1e-5)
    assert (after.atoms, after.iteration) == (2, state.iteration + 1)


def test_the_first_block_is_the_problems_proposal_at_its_best_multiple():
    T = np.diag([3.0, 2.0, 0.0, -1.0])
    problem = QuadraticSDP(B=1.0, C=-T)
    state = SEARCHED.init(problem, PSDCone(4), np.zeros((4, 1)))
    after = SEARCHED.step(state)
    np.testing.assert_allclose(after.evaluation.matrix.to_dense(), np.diag([3.0, 2.0, 0.0, 0.0]), atol=1e-12)
    assert after.extras == {"alpha": 1.0, "beta": pytest.approx(5.0, rel=1e-12), "phase": 0.0}
    assert (after.search.growing, after.search.goal) == (True, pytest.approx(6.0e-3, rel=1e-9))  # 1e-3 |λ_min|
    assert (after.atoms, after.iteration) == (0, state.iteration + 1)
    for other in (replace(SEARCHED, rule="journee"), replace(SEARCHED, eigenvectors=1), ALONE):
        assert other._first_block(other.init(problem, PSDCone(4), np.zeros((4, 1)))) is None
    assert SEARCHED._first_block(SEARCHED.init(problem, PSDCone(4), np.eye(4)[:, :1])) is None


@pytest.mark.parametrize(("factor", "value"), [(1.0, -13.0), (0.1, -13.0), (7.0, -13.0)])
def test_a_proposal_of_any_size_is_scaled_best(factor, value, monkeypatch):
    T = np.diag([3.0, 2.0, 0.0])
    problem = QuadraticSDP(B=1.0, C=-T)
    W = factor * np.sqrt(T)[:, :2]
    monkeypatch.setattr(type(problem.starts), "first_atoms", lambda self: W)
    block = SEARCHED._first_block(SEARCHED.init(problem, PSDCone(3), np.zeros((3, 1))))
    assert block.value == pytest.approx(value, rel=1e-12)
    monkeypatch.setattr(type(problem.starts), "first_atoms", lambda self: np.eye(3)[:, 2:])  # F grows along it
    assert SEARCHED._first_block(SEARCHED.init(problem, PSDCone(3), np.zeros((3, 1)))) is None


@pytest.mark.parametrize(("rule", "every", "due"), [("bilgo", 1, 1), ("bilgo", 2, 2), ("bilgo", 3, 3), ("laue", 5, 1)])
def test_a_search_is_due_after_every_so_many_atoms_and_by_laue_after_each(rule, every, due):
    problem, _, _ = planted(10, 4)
    method = BILGO(rule=rule, every=every, eigenvectors=1, backend="dense")
    state, told = method.init(problem, PSDCone(10), zero(problem)), []
    while not any(told):
        state = method.step(state)
        told.append(state.search is not None)
        assert state.atoms == (0 if state.search else len(told))
    assert len(told) == due


@pytest.mark.parametrize("searched", [False, True])
def test_a_step_without_a_decrease_ends_the_atoms(searched):
    """At the optimum no direction lowers F: a search is due where there is one, and the greedy method stands still."""
    problem = QuadraticSDP(B=1.0, C=-np.diag([4.0, 1.0, -1.0]))
    method = BILGO("default" if searched else None, eigenvectors=1, backend="dense")
    after = method.step(method.init(problem, PSDCone(3), np.diag([2.0, 1.0, 0.0])[:, :2]))
    assert (after.search is not None) == searched
    assert after.outcome is (Outcome.RUNNING if searched else Outcome.STALLED)
    assert after.evaluation.value == pytest.approx(-17.0, rel=1e-12)
    at_zero = BILGO("default" if searched else None, eigenvectors=1, backend="dense")
    problem = QuadraticSDP(B=1.0, C=np.eye(3))
    after = at_zero.step(at_zero.init(problem, PSDCone(3), np.zeros((3, 1))))
    assert after.search is None
    assert after.outcome is Outcome.STALLED


def test_rays_are_m_itself_or_the_atom():
    """F falls along M where the best alpha is infinite, else along v vᵀ."""
    along = QuadraticSDP(C=np.diag([-1.0, 1.0]))
    method = BILGO(None, eigenvectors=1, backend="dense")
    after = method.step(method.init(along, PSDCone(2), np.array([[1.0], [0.5]])))
    assert after.outcome is Outcome.UNBOUNDED
    after = replace(method, rule="journee").step(method.init(along, PSDCone(2), np.array([[1.0], [0.5]])))
    assert after.outcome is Outcome.UNBOUNDED
    np.testing.assert_allclose(np.abs(after.ray), [[0.0, 1.0], [0.0, 0.0]], atol=1e-12)
    still = QuadraticSDP(A=np.diag([0.0, 1.0]), C=np.diag([-1.0, 0.0]))
    after = method.step(replace(method.init(still, PSDCone(2), np.eye(2)), vectors=np.eye(2)[:, 1:]))
    assert after.outcome is not Outcome.UNBOUNDED


def test_a_block_beyond_the_first_atoms_has_their_mean_weight_at_most():
    """M = diag(0, 0, 0, 1): e1 enters by its exact search with weight 4, e2 and e3 as one block of common weight."""
    problem = QuadraticSDP(B=1.0, C=-np.diag([4.0, 3.0, 2.0, 1.0]))
    method = BILGO(every=1, eigenvectors=3, backend="dense")
    after = method.step(method.init(problem, PSDCone(4), np.eye(4)[:, 3:]))
    np.testing.assert_allclose(after.evaluation.matrix.to_dense(), np.diag([4.0, 2.5, 2.5, 1.0]), atol=1e-9)
    assert after.extras == {"alpha": pytest.approx(1.0, rel=1e-12), "beta": pytest.approx(4.0, rel=1e-12), "phase": 0.0}


def test_random_directions_are_unit_vectors_and_follow_m():
    problem, _, _ = planted(40, 2)
    method = replace(ALONE, rule="random-conic")
    for size in (1e-3, 1e3):
        state = method.init(problem, PSDCone(40), size * np.eye(40)[:, :1])
        (v,) = method._directions(state)
        assert np.linalg.norm(v) == pytest.approx(1.0, rel=1e-14)
        assert (abs(v[0]) > 0.95) == (size > 1.0)  # from N(0, (M + I)/2)
