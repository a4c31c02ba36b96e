"""Units of the rows of M: powers of two, one where nothing tells rows apart, and the same problem in them."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.central_path.equilibrium import in_units, row_units
from psdopt.constraints.central_path.standard import StandardForm


def conic_of(forms, lower, upper=None):
    lower = np.asarray(lower, dtype=float)
    n = len(forms[0])
    group = constraints.sparse_forms(
        [np.asarray(A, dtype=float) for A in forms], lower=lower, upper=lower if upper is None else upper
    )
    return Constrained(QuadraticSDP(C=np.ones((n, n))), group).conic


def test_units_are_the_sizes_that_constraints_leave() -> None:
    assert row_units(conic_of([np.diag([2.0**-20, 1.0, 4.0])], [1.0])).tolist() == [2.0**10, 1.0, 0.5]
    assert row_units(conic_of(list(np.eye(3)[:, :, None] * np.eye(3)[:, None]), [2.0**12, 1.0, 2.0**-4])).tolist() == [
        2.0**6,
        1.0,
        0.25,
    ]
    # the smaller bound counts; a row of M in no such constraint has the median
    assert row_units(
        conic_of([np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0])], [1.0, 1.0], [1.0, 1e10])
    ).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("forms", "bounds"),
    [
        ([np.eye(3)], [7.0]),  # all alike
        ([np.diag([1e-8, 0.0, 1.0])], [0.0]),  # no bound
        ([np.diag([1e-8, -1.0, 1.0])], [1.0]),  # M may be of any size
        ([np.array([[0.0, 1e8, 0.0], [1e8, 0.0, 0.0], [0.0, 0.0, 0.0]])], [1.0]),
    ],
)
def test_where_constraints_tell_no_row_from_another_units_are_one(forms, bounds) -> None:
    conic = conic_of(forms, bounds)
    assert np.all(row_units(conic) == 1.0)
    assert StandardForm(conic).units is None


def test_the_problem_is_the_same_in_other_units() -> None:
    conic = conic_of([np.diag([2.0**-20, 1.0, 4.0]), np.ones((3, 3))], [1.0, 3.0])
    d = row_units(conic)
    other = in_units(conic, d)
    N = np.array([[1.0], [2.0], [3.0]])
    y = np.array([0.5, -2.0])
    assert np.array_equal(other.slack(y).toarray(), conic.slack(y).toarray() * np.outer(d, d))
    form = StandardForm(conic)
    X = [N @ N.T]
    Y = form.factor(X, np.zeros(0))
    assert np.allclose(Y @ Y.T, form.beta * np.outer(d, d) * X[0], rtol=1e-12)
    assert form.trace(X, np.zeros(0)) == pytest.approx(form.beta * 14.0)
    measured = conic.forms.B @ (Y @ Y.T)[conic.forms.i, conic.forms.j]
    expected = np.linalg.norm(form.b - form.row_scale * measured / form.beta)
    assert form.residual(X, np.zeros(0)) == pytest.approx(expected)
