"""Limits of methods, and what their fields refuse."""

import numpy as np
import pytest

from psdopt import ADMM, BILGO, AugmentedLagrangian, BoundaryPoint, FrankWolfe, InteriorPoint, LagrangeNewton
from psdopt.errors import InvalidInputError
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


OUT_OF_RANGE = [
    (ADMM, "imbalance", 0.5), (ADMM, "patience", 0), (ADMM, "restarts", -1),
    (BILGO, "search_fraction", 1.0), (BILGO, "first_steps", 0),
    (AugmentedLagrangian, "penalty_threshold", 1.0), (AugmentedLagrangian, "tightening", 0.0),
    (AugmentedLagrangian, "bounds_from", 0.0), (AugmentedLagrangian, "patience", 0),
    (BoundaryPoint, "factor", 1.0), (BoundaryPoint, "patience", 0),
    (FrankWolfe, "corrections", 0), (InteriorPoint, "patience", 0), (LagrangeNewton, "patience", 0),
]  # fmt: skip


@pytest.mark.parametrize(("method", "field", "value"), OUT_OF_RANGE)
def test_a_number_out_of_range_is_refused_by_name(method, field, value):
    with pytest.raises(InvalidInputError, match=f"{field} must be"):
        method(**{field: value})


def test_the_patience_of_newton_steps_under_constraints_is_the_one_given():
    on = [LagrangeNewton(patience=given).on(cut(9)) for given in (None, 5)]
    assert all(isinstance(method, ConstrainedNewton) for method in on)
    assert [method.patience for method in on] == [ConstrainedNewton.patience, 5]
