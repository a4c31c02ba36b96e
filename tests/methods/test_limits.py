"""Limits of methods, and what their fields refuse."""

import numpy as np
import pytest

from psdopt import LagrangeNewton
from psdopt.linalg.tolerances import MINOR, ROOT_EPS
from psdopt.methods.augmented_lagrangian.columns import independent
from psdopt.methods.factor_moves import outside
from psdopt.methods.lagrange_newton.constrained import ConstrainedNewton
from psdopt.methods.limits import VANISHED
from tests.methods.constrained import cut


def test_what_has_vanished_lies_between_a_minor_part_and_rounding() -> None:
    assert ROOT_EPS < VANISHED < MINOR


@pytest.mark.parametrize(("factor", "columns"), [(0.9, 1), (1.1, 2)])
def test_a_column_shorter_than_what_counts_is_zero(factor: float, columns: int) -> None:
    assert independent(np.diag([1.0, factor * VANISHED]), 1.0).shape[1] == columns


@pytest.mark.parametrize(("factor", "beyond"), [(0.9, True), (1.1, False)])
def test_a_principal_axis_that_does_not_count_is_no_direction_of_a_matrix(factor: float, beyond: bool) -> None:
    found = outside(np.eye(2), np.diag([1.0, np.sqrt(factor * VANISHED)]))
    np.testing.assert_array_equal(found, [False, beyond])


def test_the_patience_of_newton_steps_under_constraints_is_the_one_given():
    on = [LagrangeNewton(patience=given).on(cut(9)) for given in (None, 5)]
    assert all(isinstance(method, ConstrainedNewton) for method in on)
    assert [method.patience for method in on] == [ConstrainedNewton.patience, 5]
