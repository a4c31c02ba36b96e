"""The local search between atoms: when it is over, what it keeps, what it drops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psdopt import ConjugateGradient, Outcome, PSDCone, QuadraticSDP
from psdopt.methods.bilgo_search import (
    FIRST_STEPS,
    GROWING_STEPS,
    LAST_FRACTION,
    SEARCH_FRACTION,
    LocalSearch,
)
from psdopt.methods.bilgo_state import AtomState
from tests.methods.planted import planted

METHOD = LocalSearch(ConjugateGradient())


def begun(problem, Y, smallest=-1.0, vectors=0, **known):
    V = np.eye(problem.n)[:, :vectors]
    state = AtomState(problem, PSDCone(problem.n), Y, problem.at(Y), vectors=V, smallest=smallest, **known)
    return METHOD.continued(state)


def test_its_steps_are_those_of_the_method_on_the_factor():
    problem, _, _ = planted(8, 2)
    Y = np.random.default_rng(0).standard_normal((8, 3))
    state = begun(problem, Y)
    inner = state.inner
    for _ in range(3):
        state, inner = METHOD.step(state), ConjugateGradient().step(inner)
        np.testing.assert_array_equal(state.evaluation.factor, inner.evaluation.factor)
    assert isinstance(state.geometry, PSDCone)  # the run's, whatever the rank of the factor


@pytest.mark.parametrize(("goal", "limit", "steps"), [(0.0, 3, 3), (1e9, 100, 1), (0.0, 5, 5)])
def test_it_is_over_at_its_goal_or_its_limit(goal, limit, steps):
    problem, _, _ = planted(8, 2)
    state = replace(begun(problem, np.random.default_rng(1).standard_normal((8, 3))), goal=goal, limit=limit)
    made = 0
    while not state.over:
        state, made = METHOD.step(state), made + 1
    assert made == state.steps == steps


def test_the_gradient_norm_counts_the_eigenvalue_that_was_known():
    problem, _, _ = planted(8, 2)
    Y = 1e-3 * np.random.default_rng(2).standard_normal((8, 2))
    state = METHOD.step(begun(problem, Y, smallest=-7.0))
    assert state.gradient_norm >= 2.0 * 7.0 * np.linalg.norm(state.evaluation.factor) * (1.0 - 1e-12)


def test_a_block_of_atoms_is_searched_to_a_finer_goal():
    problem, _, _ = planted(8, 2)
    Y = np.random.default_rng(3).standard_normal((8, 2))
    growing, last = begun(problem, Y, vectors=1).goal, begun(problem, Y).goal
    for vectors in (0, 1):
        assert begun(problem, Y, vectors=vectors, block=True).goal == last < 1e-2 * growing


def test_a_ray_is_passed_on():
    problem = QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2))
    state = begun(problem, np.ones((2, 1)))
    while state.outcome is Outcome.RUNNING and not state.over:
        state = METHOD.step(state)
    assert state.outcome is Outcome.UNBOUNDED
    assert state.ray is not None


def test_goals_and_limits_follow_the_eigenvalue_and_the_number_of_its_directions():
    """A share of |λ_min| while S has many directions beside the columns of M, then a much smaller one."""
    problem, _, _ = planted(10, 2)
    Y = 0.1 * np.random.default_rng(3).standard_normal((10, 8))
    assert LAST_FRACTION < 0.1 * SEARCH_FRACTION < 0.1
    for vectors, columns, growing in ((1, 2, True), (1, 8, False), (4, 8, True)):
        state = begun(problem, Y[:, :columns], smallest=-0.5, vectors=vectors)
        assert state.growing == growing
        assert state.goal == pytest.approx(0.5 * (SEARCH_FRACTION if growing else LAST_FRACTION), rel=1e-14)
        assert state.limit == (GROWING_STEPS if growing else FIRST_STEPS)
    assert begun(problem, Y, smallest=0.5).goal == 0.0
    alone = METHOD.init(problem, PSDCone(10), Y[:, :2])
    assert (alone.goal, alone.growing, alone.iteration, alone.steps) == (0.0, False, 0, 0)


@pytest.mark.parametrize("smallest", [-1e6, -3.0, -1e-9, 2.0])
def test_the_gradient_norm_is_the_larger_of_both_conditions(smallest):
    problem, _, _ = planted(8, 2)
    state = begun(problem, 0.03 * np.random.default_rng(2).standard_normal((8, 2)), smallest=smallest)
    for after in (state, METHOD.step(state)):
        Y = after.evaluation.factor
        expected = max(after.inner.gradient_norm, -2.0 * smallest * np.linalg.norm(Y))
        assert after.gradient_norm == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("size", [0.02, 50.0])
def test_the_goal_is_the_residual_by_the_size_of_the_factor(size):
    problem = QuadraticSDP(np.diag(np.arange(1.0, 9.0)), 0.1, -(size**2) * np.eye(8))
    state = replace(begun(problem, size * np.random.default_rng(1).standard_normal((8, 3))), goal=0.0, limit=100)
    once = METHOD.step(state)
    residual = 0.5 * once.inner.gradient_norm / np.linalg.norm(once.evaluation.factor)
    for share, over in ((0.99, False), (1.01, True)):
        after = METHOD.step(replace(state, goal=share * residual))
        assert after.over == over
        # the step that ends the search is counted where atoms take over
        assert after.iteration == state.iteration + (not over)
