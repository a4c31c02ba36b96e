"""Numbers by which a user steers a method: what is out of range is refused, and the error names the field."""

import pytest

from psdopt import ADMM, BILGO, AugmentedLagrangian, BoundaryPoint, FrankWolfe, InteriorPoint, LagrangeNewton
from psdopt.errors import InvalidInputError
from psdopt.methods.lagrange_newton.constrained import ConstrainedNewton
from tests.methods.constrained import cut

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
