"""The ability ``quadratic-fit`` is a member: any object with it will do, and one without it is refused by name."""

import numpy as np
import pytest

from psdopt import EntryFit
from psdopt.contracts.quadratic_fit import OffersQuadraticFit, quadratic_fit_of
from psdopt.errors import IncompatibleError


def test_the_fit_is_what_the_member_returns():
    class Offers:
        def quadratic_fit(self):
            return "a fit"

    assert isinstance(Offers(), OffersQuadraticFit)
    assert quadratic_fit_of(Offers()) == "a fit"


@pytest.mark.parametrize("value", [None, 3])
def test_no_member_or_one_that_is_no_method_is_refused(value):
    class Lacks:
        quadratic_fit = value

    for problem in (Lacks(), object()):
        with pytest.raises(IncompatibleError, match=f"{type(problem).__name__} offers no quadratic-fit: a problem"):
            quadratic_fit_of(problem)


def test_the_members_give_value_and_gradient_of_the_problem():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((5, 5))
    problem = EntryFit(L + L.T, [0, 1, 2], [3, 1, 4], [1.0, -0.5, 2.0], [1.0, 2.0, 3.0])
    fit = quadratic_fit_of(problem)
    here = problem.at(rng.standard_normal((5, 2)))
    Y, measured = fit.at(here)
    M = here.factor @ here.factor.T
    assert np.allclose(measured, M[[0, 1, 2], [3, 1, 4]])
    assert np.allclose(fit.gradient(fit.multipliers(measured)), here.gradient @ np.eye(5))
    assert np.isclose(fit.linear(Y, Y), np.vdot(L + L.T, M))
