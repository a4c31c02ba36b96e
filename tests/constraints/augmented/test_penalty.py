"""The loss of the augmented Lagrangian: multipliers as its derivative, signs, curvature."""

import numpy as np

from psdopt.constraints.augmented.penalty import Penalty
from psdopt.testing import parametrize_with_checks

RNG = np.random.default_rng(0)
LOWER, UPPER = np.array([-1.0, 0.0, -np.inf, 2.0]), np.array([1.0, 0.0, 0.5, np.inf])
PENALTY = Penalty(RNG.standard_normal(4), np.array([1.0, 2.0, 0.5, 3.0]), LOWER, UPPER)
EQUATIONS = Penalty(np.zeros(2), np.ones(2), np.ones(2), np.ones(2))


@parametrize_with_checks([PENALTY, EQUATIONS])
def test_conformance(check):
    check()


def test_the_derivative_is_a_multiplier_with_the_sign_of_its_bound() -> None:
    for a in 3.0 * RNG.standard_normal((20, 4)):
        assert np.all(PENALTY.derivative(a)[2:] * np.array([1.0, -1.0]) >= 0.0)
    assert PENALTY.degree is None
    assert EQUATIONS.degree == 2


def test_inside_the_bounds_nothing_is_paid_without_multipliers() -> None:
    penalty = Penalty(np.zeros(2), np.ones(2), np.array([-1.0, -np.inf]), np.array([1.0, 0.0]))
    assert penalty.value(np.array([0.5, -7.0])) == 0.0
    assert np.all(penalty.derivative(np.array([0.5, -7.0])) == 0.0)
    assert penalty.value(np.array([3.0, 1.0])) == 0.5 * (4.0 + 1.0)
