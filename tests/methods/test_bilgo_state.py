"""The state of BILGO: pickled, left as it was, its eigenvectors found from any start."""

import pickle

import numpy as np
import pytest

import psdopt
from psdopt import PSDCone, QuadraticSDP
from psdopt.methods.bilgo import BILGO
from tests.methods.planted import planted, zero


def test_state_is_picklable_and_steps_leave_it_alone():
    problem, _, _ = planted(10, 2)
    method = BILGO()
    state = method.init(problem, PSDCone(10), np.zeros((10, 1)))
    for _ in range(4):
        twin = pickle.loads(pickle.dumps(state))
        value = state.evaluation.value
        nxt = method.step(state)
        assert state.evaluation.value == value
        assert method.step(twin).evaluation.value == pytest.approx(nxt.evaluation.value, rel=1e-13)
        state = nxt


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
