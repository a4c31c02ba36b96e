"""Least squares up to an offset: against the offset minimised by hand, and under the conformance kit."""

import numpy as np
import pytest

from psdopt import solve
from psdopt.errors import InvalidInputError
from psdopt.testing import parametrize_with_checks
from psdopt_plugins.regression import psd_regression_problem
from psdopt_plugins.regression.measurements import LeastSquaresWithOffset

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Y = np.einsum("mi,ij,mj->m", X, np.diag([1.0, 2.0, 0.0, 0.5]), X) - 7.0


def test_the_loss_is_that_of_the_best_offset():
    loss, a = LeastSquaresWithOffset(Y), RNG.standard_normal(30)
    best = loss.offset(a)
    assert loss.value(a) == pytest.approx(np.sum((a + best - Y) ** 2))
    for other in (best - 0.1, best + 0.1):
        assert loss.value(a) < np.sum((a + other - Y) ** 2)
    np.testing.assert_allclose(loss.curvature(a, np.ones(30)), 0.0, atol=1e-14)


def test_the_form_is_recovered_below_zero():
    result = solve(psd_regression_problem(X, Y, offset=True))
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense(), np.diag([1.0, 2.0, 0.0, 0.5]), atol=1e-4)


def test_bad_targets():
    with pytest.raises(InvalidInputError, match=r"target must have shape \(m,\), m >= 1; found \(\)"):
        LeastSquaresWithOffset(1.0)
    with pytest.raises(InvalidInputError, match="target must be finite"):
        LeastSquaresWithOffset([1.0, np.nan])


@parametrize_with_checks([psd_regression_problem(X, Y, offset=True)])
def test_conformance(check):
    check()
