"""A master without an answer ends the run where it is; the margins that a master looks at."""

import numpy as np
import pytest

from psdopt import Status, solve
from psdopt.geometries import Spectraplex
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters import BlockMaster, Unsolved
from psdopt.margins.masters.base import FEWEST_ROWS, widest_block, working_rows
from psdopt.margins.masters.newton_system import MOST_ROWS
from psdopt.methods import ColumnGeneration
from tests.margins.instances import only


def test_a_run_ends_with_the_best_matrix_when_its_master_gives_up(monkeypatch):
    method = ColumnGeneration()
    problem = only(d=6, m=80)
    whole = solve(problem, Spectraplex(6), method, tol=1e-6)
    assert whole.iterations >= 2
    right, calls = BlockMaster.solve, []

    def gives_up(self, *given, **named):
        calls.append(1)
        if len(calls) == whole.iterations:
            raise Unsolved("not solved")
        return right(self, *given, **named)

    monkeypatch.setattr(BlockMaster, "solve", gives_up)
    result = solve(problem, Spectraplex(6), method, tol=1e-12)
    assert result.status is Status.NO_PROGRESS
    # one round short of the optimum, and better than before the first
    assert whole.value <= result.value + 1e-12
    assert result.value < result.history.records[0]["value"]
    assert result.value == pytest.approx(min(record["value"] for record in result.history.records), rel=1e-14)
    assert result.certificate.gap is not None


def test_many_margins_bound_the_width_that_is_factorised():
    many = 20 * MOST_ROWS
    assert widest_block(CappedMargin(many, 10.0 / MOST_ROWS)) > many
    width = widest_block(CappedMargin(many, 0.1 / MOST_ROWS))
    assert width**2 <= 2 * MOST_ROWS  # the entries of one block are as many as rows that are factorised
    assert widest_block(CappedMargin(MOST_ROWS, 1.0 / MOST_ROWS)) > width


def test_a_master_looks_at_low_margins_at_those_that_carry_weight_and_at_those_before():
    rng, m = np.random.default_rng(0), 3 * FEWEST_ROWS
    loss, a, w = CappedMargin(m, 0.5), rng.permutation(m).astype(float), np.zeros(m)
    highest = np.argsort(a)[-3:]
    w[highest] = 0.5, 1e-9, 0.0
    rows = working_rows(a, w, loss, 0.0, None)
    assert np.all(rows[a <= FEWEST_ROWS])
    assert rows[highest].tolist() == [True, False, False]
    assert np.count_nonzero(rows) == FEWEST_ROWS + 2
    before = a > m - 2.5
    assert np.array_equal(working_rows(a, w, loss, 0.0, before), rows | before)
    assert np.all(working_rows(a[:FEWEST_ROWS], w[:FEWEST_ROWS], CappedMargin(FEWEST_ROWS, 0.5), 0.0, None))


def test_far_from_the_end_only_large_weights_keep_a_margin():
    m = 3 * FEWEST_ROWS
    loss, a, w = CappedMargin(m, 0.5), np.arange(m, dtype=float), np.zeros(m)
    w[-1] = 0.1
    assert working_rows(a, w, loss, 0.0, None)[-1]
    assert not working_rows(a, w, loss, 1.0, None)[-1]
