"""The state of column generation: pickled, stepped again, and resumed from a checkpoint."""

import pickle

import numpy as np

from psdopt import solve
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.margins.column_generation import ColumnGeneration
from tests.margins.instances import instance


def test_a_state_can_be_pickled_and_stepped_again():
    problem, _, _ = instance()
    method = ColumnGeneration()
    geometry = Spectraplex(6)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    for _ in range(3):
        state = method.step(state)
    expected = method.step(state)
    again, resumed = method.step(state), method.step(pickle.loads(pickle.dumps(state)))
    for other in (again, resumed):
        assert np.isclose(other.gap, expected.gap, rtol=1e-6)
        assert np.allclose(other.dual, expected.dual, atol=1e-6)


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    problem, _, _ = instance(d=4)
    method, file = ColumnGeneration(columns=1), tmp_path / "run"
    whole = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9)
    solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=2, checkpoint=file)
    resumed = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9, resume=file)
    assert whole.iterations > 2
    assert resumed.iterations == whole.iterations
    assert np.isclose(resumed.value, whole.value, rtol=1e-6)
