"""Greedy turns: atoms until a search is due, and the same search again where S offers nothing new."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from psdopt import BILGO, ConjugateGradient, FlatQuotient, Outcome, PSDCone
from psdopt.methods.bilgo_atoms import GreedyAtoms
from psdopt.methods.bilgo_search import LocalSearch
from tests.methods.planted import planted, zero

ALONE = GreedyAtoms(False, 5, 1, "bilgo", "auto", 0)
SEARCHED = GreedyAtoms(True, 5, 0, "bilgo", "auto", 0)


def test_without_a_search_bilgo_is_the_greedy_method():
    problem, _, _ = planted(10, 2)
    one = ALONE.init(problem, PSDCone(10), zero(problem))
    other = BILGO(None, eigenvectors=1).init(problem, PSDCone(10), zero(problem))
    for _ in range(5):
        one, other = ALONE.step(one), BILGO(None, eigenvectors=1).step(other)
        np.testing.assert_array_equal(one.evaluation.factor, other.evaluation.factor)


def test_a_search_is_due_after_as_many_atoms_as_asked_for_and_never_without_one():
    problem, _, _ = planted(10, 2)
    for method, due in ((SEARCHED, True), (ALONE, False)):
        state = method.init(problem, PSDCone(10), zero(problem))
        for _ in range(5):
            state = method.step(state)
            if state.due:
                break
        assert state.due == due


def test_where_m_has_all_directions_the_same_search_goes_on_with_a_finer_goal():
    problem, _, _ = planted(8, 2)
    Y = np.random.default_rng(0).standard_normal((8, 8))
    search = LocalSearch(ConjugateGradient()).init(problem, FlatQuotient(8, 8), Y)
    search = LocalSearch(ConjugateGradient()).step(search)
    state = SEARCHED.continued(replace(search, goal=math.inf, limit=16, over=True))
    assert state.resumed is not None
    assert state.resumed.known is not state
    assert (state.resumed.over, state.resumed.steps, state.resumed.limit) == (False, 0, 32)
    assert state.resumed.goal < math.inf
    assert LocalSearch(ConjugateGradient()).continued(state) is state.resumed
    passed = SEARCHED.step(state)  # a turn without a move
    assert passed.outcome is Outcome.STALLED
    assert passed.evaluation is state.evaluation


def test_a_direction_that_m_lacks_becomes_an_atom():
    problem, _, _ = planted(8, 3)
    Y = np.eye(8)[:, :1]
    search = LocalSearch(ConjugateGradient()).init(problem, PSDCone(8), Y)
    state = SEARCHED.continued(replace(search, over=True, goal=0.0))
    assert state.resumed is None
    assert state.vectors.shape[1] >= 1
    after = SEARCHED.step(state)
    assert after.evaluation.value < state.evaluation.value
