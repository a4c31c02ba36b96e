"""The margins that a master looks at."""

import numpy as np

from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.newton_system import MOST_ROWS
from psdopt.margins.masters.selection import FEWEST_ROWS, widest_block, working_rows


def test_many_margins_bound_the_width_that_is_factorised():
    many = 20 * MOST_ROWS
    assert widest_block(CappedMargin(many, 10.0 / MOST_ROWS)) > many
    width = widest_block(CappedMargin(many, 0.1 / MOST_ROWS))
    assert width**2 <= 2 * MOST_ROWS  # the entries of one block are as many as rows that are factorised
    assert widest_block(CappedMargin(MOST_ROWS, 1.0 / MOST_ROWS)) > width


def test_a_master_looks_at_low_margins_and_at_those_that_carry_weight():
    rng, m = np.random.default_rng(0), 3 * FEWEST_ROWS
    loss, a, w = CappedMargin(m, 0.5), rng.permutation(m).astype(float), np.zeros(m)
    highest = np.argsort(a)[-3:]
    w[highest] = 0.5, 1e-9, 0.0
    rows = working_rows(a, w, loss)
    assert np.all(rows[a <= FEWEST_ROWS])
    assert rows[highest].tolist() == [True, False, False]
    assert np.count_nonzero(rows) == FEWEST_ROWS + 2
    assert np.all(working_rows(a[:FEWEST_ROWS], w[:FEWEST_ROWS], CappedMargin(FEWEST_ROWS, 0.5)))
