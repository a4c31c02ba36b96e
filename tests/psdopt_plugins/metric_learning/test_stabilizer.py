"""Smoothed duals: between the best dual so far and the linear program's own."""

import numpy as np

from psdopt.margins import CappedMargin
from psdopt_plugins.metric_learning.linear_program import LinearProgram
from psdopt_plugins.metric_learning.matrix_generation import Smoothing, Stabilizer


def test_the_oracle_is_asked_between_the_best_dual_and_the_last():
    rng, weights, program = np.random.default_rng(1), CappedMargin(12, 0.3), LinearProgram()
    columns = [rng.standard_normal(12) for _ in range(4)]
    first, best = Smoothing(), np.full(12, 1.0 / 12)
    assert isinstance(first, Stabilizer)
    answer, query, same = first.ask(program, columns, weights)
    assert query is answer.dual
    assert same is first
    centred = first.observe(best, 2.0)
    answer, query, _ = centred.ask(program, columns, weights)
    assert np.allclose(query, 0.8 * best + 0.2 * answer.dual, rtol=1e-14)
    assert centred.observe(answer.dual, 3.0) is centred  # no better bound
    assert centred.observe(answer.dual, 1.0).centre is answer.dual
    printed = Smoothing(0.0).observe(best, 2.0)
    answer, query, _ = printed.ask(program, columns, weights)
    assert query is answer.dual
