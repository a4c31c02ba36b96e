"""The ability ``quadratic-fit`` is a member: any object with it will do, and one without it is refused by name."""

import pytest

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
