"""The interior point of the master: gaps, warm starts."""

import numpy as np

from psdopt.margins.masters import BlockMaster
from tests.margins.instances import instance


def test_block_master_stops_at_the_gap_it_is_given():
    problem, _, _ = instance(d=7, m=50, seed=9)
    squares = problem.margins().squares(problem.at(np.eye(7)))
    best = None
    for gap in (1e-1, 1e-3, 1e-6):
        answer = BlockMaster().solve(squares, problem.loss, gap)
        primal = -problem.loss.value(squares.forms(answer.weights))
        dual = np.linalg.eigvalsh(squares.combination(answer.dual / answer.dual.sum()))[-1]
        assert primal - 1e-12 <= dual <= primal + gap
        assert np.linalg.eigvalsh(answer.weights)[0] > 0.0
        best = answer if best is None or answer.steps >= best.steps else best
    assert best.steps > 0
    warm = BlockMaster().solve(squares, problem.loss, 1e-6, (best.weights, best.dual))
    assert warm.steps <= best.steps
