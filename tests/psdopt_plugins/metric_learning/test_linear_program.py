"""The linear program of matrix generation: both solvers, and answers that are feasible to rounding."""

import numpy as np
import pytest

from psdopt.margins import CappedMargin
from psdopt_plugins.metric_learning.linear_program import LinearProgram, _from_scratch, feasible

EPS = np.finfo(float).eps


def test_the_two_solvers_agree():
    pytest.importorskip("highspy")
    rng = np.random.default_rng(7)
    loss, program = CappedMargin(15, 0.2), LinearProgram()
    columns = [rng.standard_normal(15) for _ in range(6)]
    for count in (1, 3, 6, 4):
        warm, cold = program.solve(columns[:count], loss), _from_scratch(columns[:count], loss)
        A = np.array(columns[:count])
        assert np.isclose((A @ warm.dual).max(), (A @ cold.dual).max())
        assert np.isclose(loss.value(warm.theta @ A), -(A @ warm.dual).max())


@pytest.mark.parametrize("cap", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("error", [0.0, 1e-9, -1e-9, 1e-3, -1e-3])
def test_a_nearly_feasible_dual_is_moved_into_the_set(cap, error):
    rng, loss = np.random.default_rng(0), CappedMargin(10, cap)
    w = loss.weights(rng.standard_normal(10))
    moved = feasible(w + error * rng.random(10), loss)
    assert moved.min() >= 0.0
    assert moved.max() <= cap + EPS
    assert abs(moved.sum() - 1.0) <= 16 * EPS
    assert np.abs(moved - w).max() <= 10 * abs(error) + 16 * EPS
