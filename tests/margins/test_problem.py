"""MarginProblem: what its certificate makes of any hint."""

import numpy as np
import pytest

from psdopt import certify
from psdopt.errors import InvalidInputError
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.margins.problem import _checked_cost
from tests.margins.instances import conic_optimum, instance, matrices


def test_certificate_makes_any_hint_feasible():
    problem, X, t = instance(seed=6)
    optimum = conic_optimum(matrices(X, t), problem.C)
    Y = Spectraplex(6).random_point(np.random.default_rng(0))
    for hint in (None, np.zeros(40), np.full(40, 7.0), np.random.default_rng(1).standard_normal(40)):
        certificate = certify(problem, Y, trace=1.0, dual=hint)
        assert certificate.value - certificate.gap <= -optimum + 1e-6
    with pytest.raises(InvalidInputError, match="dual"):
        certify(problem, Y, trace=1.0, dual=np.ones(3))


def test_the_least_cost_is_accepted_whatever_the_rounding_of_its_reciprocal():
    """C = 1/m pays exactly what it costs; (1/49) · 49 is below 1 by a rounding. A thousandth less is refused."""
    for m in (1, 3, 49, 98, 1000, 99_991):
        assert _checked_cost(1.0 / m, m) == 1.0 / m
        with pytest.raises(InvalidInputError, match="C must be at least 1/m"):
            _checked_cost(0.999 / m, m)
