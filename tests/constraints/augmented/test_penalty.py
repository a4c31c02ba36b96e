"""The loss of the augmented Lagrangian: multipliers as its derivative, signs, curvature."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.augmented.penalty import Penalty


def test_the_penalty_has_the_next_multiplier_as_its_derivative() -> None:
    rng = np.random.default_rng(0)
    lower = np.array([-1.0, 0.0, -np.inf, 2.0])
    upper = np.array([1.0, 0.0, 0.5, np.inf])
    penalty = Penalty(rng.standard_normal(4), np.array([1.0, 2.0, 0.5, 3.0]), lower, upper)
    for _ in range(20):
        a, h = 3.0 * rng.standard_normal(4), 1e-6
        slope = [(penalty.value(a + h * e) - penalty.value(a - h * e)) / (2.0 * h) for e in np.eye(4)]
        assert np.allclose(slope, penalty.derivative(a), atol=1e-5)
        assert np.all(penalty.derivative(a)[2:] * np.array([1.0, -1.0]) >= 0.0)
    assert penalty.degree is None
    assert Penalty(np.zeros(2), np.ones(2), np.ones(2), np.ones(2)).degree == 2


def test_second_derivatives_are_those_of_the_first_away_from_bounds() -> None:
    rng = np.random.default_rng(1)
    lower, upper = np.array([-1.0, 0.5, -np.inf]), np.array([1.0, 0.5, 2.0])
    penalty, h = Penalty(rng.standard_normal(3), np.array([2.0, 5.0, 0.3]), lower, upper), 1e-6
    for _ in range(20):
        a = 3.0 * rng.standard_normal(3)
        both = penalty.derivatives(a)
        assert np.array_equal(both[0], penalty.derivative(a))
        assert np.array_equal(both[1], penalty.second(a))
        difference = (penalty.derivative(a + h) - penalty.derivative(a - h)) / (2.0 * h)
        assert np.allclose(difference, both[1], atol=1e-6)


def test_inside_the_bounds_nothing_is_paid_without_multipliers() -> None:
    penalty = Penalty(np.zeros(2), np.ones(2), np.array([-1.0, -np.inf]), np.array([1.0, 0.0]))
    assert penalty.value(np.array([0.5, -7.0])) == 0.0
    assert np.all(penalty.derivative(np.array([0.5, -7.0])) == 0.0)
    assert penalty.value(np.array([3.0, 1.0])) == 0.5 * (4.0 + 1.0)
