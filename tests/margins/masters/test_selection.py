"""The margins that a master looks at."""

from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.selection import widest_block


def test_many_margins_bound_the_width_that_is_factorised():
    assert widest_block(CappedMargin(10_000, 1e-3)) > 10_000
    assert widest_block(CappedMargin(100_000, 1e-4)) <= 130
