"""The flat quotient: its gradient, its abilities, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from psdopt import FlatQuotient, PSDCone
from psdopt.contracts.abilities import Ability
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from tests.geometries.test_factor_quotient import points


@settings(max_examples=40, deadline=None)
@given(points())
def test_gradient_is_the_derivative_and_horizontal(case):
    geometry, Y, rng, _ = case
    S = rng.standard_normal((geometry.n, geometry.n))
    S = S + S.T
    G = geometry.gradient(Y, S)
    assert geometry.check_vector(Y, G) is None
    D = geometry.random_vector(Y, rng)
    assert geometry.norm(Y, D) == pytest.approx(1.0)
    # F = <S, YYᵀ> is quadratic along a line: central differences are exact up to rounding
    h = np.linalg.norm(Y)
    F = lambda t: float(np.vdot(S, geometry.to_matrix(geometry.retract(Y, t * D)).to_dense()))  # noqa: E731
    assert abs((F(h) - F(-h)) / (2 * h) - geometry.inner(Y, G, D)) <= 1e3 * EPS * np.linalg.norm(S) * h
    moved = geometry.retract(Y, h * D)
    carried = geometry.transport(Y, moved, D)
    Q = np.linalg.cond(moved) if min(moved.shape) else 1.0
    assert geometry.norm(moved, carried) <= 1.0 + 64 * EPS * Q**2


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FlatQuotient(0, 1), "n must be an integer of at least 1; found 0"),
        (lambda: FlatQuotient(3, 0), r"r \(rank\) must be an integer between 1 and n = 3; found 0"),
        (lambda: FlatQuotient(3, 4), r"r \(rank\) must be an integer between 1 and n = 3; found 4"),
        (lambda: FlatQuotient(3, 1.5), r"r \(rank\) must be an integer between 1 and n = 3; found 1.5"),
        (lambda: PSDCone(0), "n must be an integer of at least 1; found 0"),
        (lambda: PSDCone(2).validated(np.ones((3, 1))), "start is not a point of PSDCone.*a factor must have shape"),
    ],
)
def test_bad_arguments(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


@pytest.mark.parametrize("r", [1, 4, 5])
def test_only_factors_of_full_width_are_the_whole_cone(r):
    offered = FlatQuotient(5, r).abilities
    assert {Ability.FACTOR, Ability.STRAIGHT, Ability.RIEMANNIAN} <= offered
    assert (Ability.FULL_CONE in offered) is (r == 5)
