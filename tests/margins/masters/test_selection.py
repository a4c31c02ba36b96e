"""The margins that a master looks at."""

from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.newton_system import MOST_ROWS
from psdopt.margins.masters.selection import widest_block


def test_many_margins_bound_the_width_that_is_factorised():
    many = 20 * MOST_ROWS
    assert widest_block(CappedMargin(many, 10.0 / MOST_ROWS)) > many
    width = widest_block(CappedMargin(many, 0.1 / MOST_ROWS))
    assert width**2 <= 2 * MOST_ROWS  # the entries of one block are as many as rows that are factorised
    assert widest_block(CappedMargin(MOST_ROWS, 1.0 / MOST_ROWS)) > width
