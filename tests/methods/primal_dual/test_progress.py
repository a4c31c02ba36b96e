"""When a run has stopped to come nearer, and which of its iterates a certificate would like best."""

import math

import numpy as np
import pytest

from psdopt import QuadraticSDP
from psdopt.methods.primal_dual.progress import Nearest, Progress


def test_a_step_counts_once_one_residual_fell_by_a_tenth_since_it_last_did() -> None:
    begun = Progress().after(1.0, math.inf)
    assert begun.since == 0
    slow = begun.after(0.95, math.inf).after(0.91, math.inf)
    assert (slow.least, slow.since) == ((1.0, math.inf), 2)
    assert slow.after(0.89, math.inf) == Progress((0.89, math.inf), 0)
    assert slow.after(2.0, 5.0) == Progress((1.0, 5.0), 0)
    assert slow.after(math.nan, math.nan).since == 3
    assert slow.after(-1.0, math.inf).since == 0


def test_residuals_are_compared_in_one_order() -> None:
    with pytest.raises(ValueError, match="zip"):
        Progress().after(1.0, 2.0).after(1.0)


def test_the_error_is_the_gap_to_a_bound_or_the_violation() -> None:
    at = QuadraticSDP(C=0.5 * np.eye(2)).at(np.eye(2))  # F = 2
    seen = Nearest(at, 0.25, 0.5)
    assert seen.above(1.0, 2.0).error == 0.5
    assert seen.above(1.9, 2.0).error == 0.25
    assert seen.above(1.0, 2.0).evaluation is at
