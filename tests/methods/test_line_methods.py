"""What conjugate gradient and L-BFGS share: finite termination, states that can be kept and stored, rest."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from psdopt import LBFGS, ConjugateGradient, Outcome
from psdopt.linalg.tolerances import EPS
from psdopt.methods.conjugate_gradient import RULES

from .quadratics import N, problem_and_start, residual_after

PLAIN = [LBFGS(preconditioner="none"), *(ConjugateGradient(rule, preconditioner="none") for rule in sorted(RULES))]
SEARCHED = [LBFGS(memory=2), LBFGS(search="armijo"), ConjugateGradient(), ConjugateGradient("HS", "armijo")]


@pytest.mark.parametrize("method", PLAIN, ids=str)
def test_finite_termination_on_a_quadratic(method):
    """In exact arithmetic N steps suffice; a textbook loop leaves 2e-13 here, and loses it at condition 100 too."""
    assert residual_after(method, N) <= 1e4 * N * EPS
    assert residual_after(method, N // 2) > 1e-6


@pytest.mark.parametrize("method", SEARCHED, ids=str)
def test_a_step_leaves_the_old_state_as_it_was(method):
    problem, geometry, start = problem_and_start()
    state = method.init(problem, geometry, start)
    for _ in range(4):
        state = method.step(state)
    copy = {key: np.array(v, copy=True) for key, v in vars(state).items() if isinstance(v, np.ndarray)}
    one, two = method.step(state), method.step(state)
    np.testing.assert_array_equal(one.evaluation.factor, two.evaluation.factor)
    for key, value in copy.items():
        np.testing.assert_array_equal(value, getattr(state, key))


@pytest.mark.parametrize("method", [LBFGS(memory=2), ConjugateGradient()], ids=str)
def test_states_and_methods_can_be_pickled(method):
    problem, geometry, start = problem_and_start()
    state = method.step(method.step(method.init(problem, geometry, start)))
    again = pickle.loads(pickle.dumps(state))
    np.testing.assert_array_equal(method.step(again).evaluation.factor, method.step(state).evaluation.factor)
    assert pickle.loads(pickle.dumps(method)) == method
    with pytest.raises(AttributeError):
        method.search = "armijo"


@pytest.mark.parametrize("method", [LBFGS(), ConjugateGradient()], ids=str)
def test_at_a_stationary_point_nothing_moves(method):
    problem, geometry, _ = problem_and_start()
    state = method.step(method.init(problem, geometry, np.zeros((N, 3))))
    assert state.outcome is Outcome.STALLED
    assert state.step == 0.0
    np.testing.assert_array_equal(state.evaluation.factor, np.zeros((N, 3)))
