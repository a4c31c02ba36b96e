"""Words and proofs do not depend on units: F times c, M times s, data in other units, for several losses."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, TermSum, certify, solve
from psdopt.terms import HalfSquaredOneSided, LeastSquares, Loss, MeasuredTerm, QuadraticForms, SquaredHinge
from tests.instances import LogCosh

rng = np.random.default_rng(1)
N, X = 4, rng.standard_normal((9, 4))
B = np.sum((X @ rng.standard_normal((4, 2))) ** 2, axis=1) + 3.0 * rng.standard_normal(9)


class InUnits(Loss):
    """c phi(a / u)."""

    convex = True

    def __init__(self, loss, c, u):
        self.loss, self.c, self.u, self.nonnegative = loss, c, u, True

    def value(self, a):
        return self.c * self.loss.value(a / self.u)

    def derivative(self, a):
        return self.c / self.u * self.loss.derivative(a / self.u)

    def second(self, a):
        return self.c / self.u**2 * self.loss.second(a / self.u)


LOSSES = {
    "log-cosh": LogCosh(B),
    "squares": LeastSquares(B),
    "hinge": SquaredHinge(np.abs(B) + 0.5, np.sign(B)),
    "one-sided": HalfSquaredOneSided(np.abs(B), -1),
}
#: (c, s, x): F times c, data in units of s, features times x; M is then in units of s / x².
UNITS = [(2.0**e, 1.0, 1.0) for e in (-26, 26)] + [(1.0, 2.0**e, 1.0) for e in (-26, 26)]
UNITS += [(1.0, 1.0, 2.0**e) for e in (-26, 26)] + [(2.0**20, 2.0**-26, 2.0**26)]


def in_units(loss, c, s, x):
    return TermSum([MeasuredTerm(QuadraticForms(x * X), InUnits(loss, c, s))])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
@pytest.mark.parametrize("trace", [False, True])
def test_a_certificate_in_other_units_is_the_same(loss, trace):
    """All units are powers of two, so that operations round alike; an absolute number in a proof would show."""
    plain = in_units(loss, 1.0, 1.0, 1.0)
    best = solve(plain, FlatQuotient(N, N), ConjugateGradient()).matrix.factor
    for Y in (best, 1.01 * best, rng.standard_normal((N, 2))):
        mine = certify(plain, Y, trace=float(np.sum(Y**2)) if trace else None)
        for c, s, x in UNITS:
            Z = Y * (np.sqrt(s) / x)
            other = certify(in_units(loss, c, s, x), Z, trace=float(np.sum(Z**2)) if trace else None)
            assert other.value == pytest.approx(c * mine.value, rel=1e-12)
            assert other.unit == pytest.approx(c * mine.unit, rel=1e-9)
            for name in ("stationarity_relative", "dual_infeasibility_relative", "complementarity_relative"):
                assert getattr(other, name) == pytest.approx(getattr(mine, name), rel=1e-6, abs=1e-12)
            assert (other.gap is None) is (mine.gap is None)
            if mine.gap is not None:
                assert other.gap == pytest.approx(c * mine.gap, rel=1e-6, abs=1e-13 * c * mine.unit)
            assert [other.proves(tol) for tol in (1e-9, 1e-6, 1e-3)] == [mine.proves(tol) for tol in (1e-9, 1e-6, 1e-3)]
