"""The local search between atoms: when it is over, what it keeps, what it drops."""

from dataclasses import replace

import numpy as np
import pytest

import psdopt
from psdopt import BILGO, ConjugateGradient, Outcome, PSDCone, QuadraticSDP
from psdopt.linalg.least import least_eigenpairs
from psdopt.methods.bilgo import method as bilgo
from psdopt.methods.bilgo.method import BILGOState
from tests.methods.planted import planted, zero

METHOD = BILGO()


def begun(problem, Y, smallest=-1.0, vectors=0, **known):
    V = np.eye(problem.n)[:, :vectors]
    state = BILGOState(problem, PSDCone(problem.n), Y, problem.at(Y), vectors=V, smallest=smallest, **known)
    return METHOD._begun(state, METHOD.searcher, state.evaluation, [], [])


def test_its_steps_are_those_of_the_method_on_the_factor():
    problem, _, _ = planted(8, 2)
    Y = np.random.default_rng(0).standard_normal((8, 3))
    state = begun(problem, Y)
    inner = state.search.inner
    for _ in range(3):
        state, inner = METHOD.step(state), ConjugateGradient().step(inner)
        np.testing.assert_array_equal(state.evaluation.factor, inner.evaluation.factor)
    assert isinstance(state.geometry, PSDCone)  # the run's, whatever the rank of the factor


@pytest.mark.parametrize(("goal", "limit", "steps"), [(0.0, 3, 3), (1e9, 100, 1), (0.0, 5, 5)])
def test_it_is_over_at_its_goal_or_its_limit(goal, limit, steps):
    problem, _, _ = planted(8, 2)
    state = begun(problem, np.random.default_rng(1).standard_normal((8, 3)))
    state, made = replace(state, search=replace(state.search, goal=goal, limit=limit)), 0
    while state.search is not None and state.search.steps == made:
        state, made = METHOD.step(state), made + 1
    assert made == steps


def test_a_ray_is_passed_on():
    problem = QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2))
    state = begun(problem, np.ones((2, 1)))
    while state.outcome is Outcome.RUNNING:
        state = METHOD.step(state)
    assert state.outcome is Outcome.UNBOUNDED
    assert state.ray is not None


@pytest.mark.parametrize("smallest", [-1e6, -3.0, -1e-9, 2.0])
def test_the_gradient_norm_is_the_larger_of_both_conditions(smallest):
    problem, _, _ = planted(8, 2)
    state = begun(problem, 0.03 * np.random.default_rng(2).standard_normal((8, 2)), smallest=smallest)
    state = replace(state, search=replace(state.search, goal=0.0))
    for after in (state, METHOD.step(state)):
        Y = after.evaluation.factor
        expected = max(after.search.inner.gradient_norm, -2.0 * smallest * np.linalg.norm(Y))
        assert after.gradient_norm == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("backend", ["lanczos", "eigsh"])
def test_directions_that_a_warm_start_cannot_see_are_found(backend):
    """Three coordinates that nothing couples to the rest, with equal eigenvalues: each must be found."""
    rng = np.random.default_rng(0)
    A = np.zeros((40, 40))
    A[:37, :37] = rng.standard_normal((37, 37)) / 6.0
    C = -0.05 * np.eye(40)
    C[:37, :37] = -np.eye(37)
    problem = QuadraticSDP(A @ A.T, 0.5, C)
    result = psdopt.solve(problem, method=BILGO(backend=backend), start=zero(problem))
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense()[37:, 37:], 0.1 * np.eye(3), atol=1e-3)


def looked_at(diagonal, targets, **known):
    """The state with eigenvectors at M = diag(diagonal) for |M − diag(targets)|²."""
    problem, n = QuadraticSDP(B=1.0, C=-np.diag(np.asarray(targets, dtype=float))), len(targets)
    evaluation = problem.at(np.diag(np.sqrt(np.asarray(diagonal, dtype=float))))
    start = BILGOState(problem, PSDCone(n), evaluation.factor, evaluation, vectors=np.eye(n)[:, :1], **known)
    return BILGO(eigenvectors=3, backend="dense", seed=3)._looked(start, evaluation, {"alpha": 0.5}, 4)


@pytest.mark.parametrize(
    ("diagonal", "targets", "residual"),
    [
        ([4.0, 0.0, 0.0], [3.0, 0.25, 0.0], 4.0),  # |S Y| = 4, −λ_min |Y| = 1
        ([4.0, 0.0, 0.0], [3.0, 1.5, 0.0], 6.0),
        ([0.04, 0.0, 0.0], [0.03, 0.25, 0.0], 0.1),
        ([0.0, 0.0, 0.0], [-1.0, 0.25, 0.0], 0.5),  # at M = 0 the scale is 1
        ([0.0, 0.0, 0.0], [-1.0, -0.25, -2.0], 0.0),
    ],
)
def test_what_is_known_of_eigenvectors(diagonal, targets, residual):
    """gradient_norm is 2 max(|S Y|, −λ_min |Y|); extras tell −λ_min and |S M|."""
    state = looked_at(diagonal, targets, iteration=7, smallest=-1.0)
    S = 2.0 * (np.array(diagonal) - np.array(targets))
    assert state.gradient_norm == pytest.approx(2.0 * residual, abs=1e-14)
    assert state.smallest == pytest.approx(S.min(), rel=1e-12)
    assert state.extras["lambda_max"] == -state.smallest
    assert state.extras["slack"] == pytest.approx(np.linalg.norm(S * diagonal), abs=1e-14)
    assert state.extras["alpha"] == 0.5
    assert (state.atoms, state.iteration, state.waiting) == (4, 8, True)


@pytest.mark.parametrize(
    ("eigenvalues", "count"),
    [
        ([-3.0, -2.0, -1e-9, 1.0], 2), ([-3.0, -2.0, -1e-6, 1.0], 3),
        ([-3.0, 2.0, 1.0, 4.0], 1), ([1.0, 2.0, 3.0, 4.0], 1),
    ],
)  # fmt: skip
def test_only_directions_of_descent_are_kept_or_the_first(eigenvalues, count):
    """A slope of 1e-9 by the side of 3 is rounding."""
    state = looked_at(np.zeros(4), -0.5 * np.array(eigenvalues))
    assert state.vectors.shape[1] == count


def test_after_a_direction_had_been_missed_the_next_rest_is_looked_at_anew(monkeypatch):
    """The first eigensolve sees nothing; the proof finds λ_min = −2, and does not count as one of rest."""
    problem = QuadraticSDP(B=1.0, C=-np.diag([4.0, 1.0, 0.0]))
    evaluation, proofs = problem.at(np.diag([2.0, 0.0, 0.0])), []

    def least(S, **named):
        proofs.append(named.get("proven", False))
        return least_eigenpairs(S if len(proofs) > 1 else np.zeros((3, 3)), **named)

    monkeypatch.setattr(bilgo, "least_eigenpairs", least)
    start = BILGOState(problem, PSDCone(3), evaluation.factor, evaluation, vectors=np.eye(3)[:, :1], proven_at=0.5)
    assert (start.atoms, start.iteration) == (0, 0)
    state = BILGO(eigenvectors=1, backend="dense")._looked(start, evaluation, {})
    assert proofs == [False, True]
    assert state.smallest == pytest.approx(-2.0)
    assert state.proven_at == np.inf
