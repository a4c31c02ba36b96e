"""The flat quotient: its gradient, its abilities, what it refuses."""

import numpy as np
import pytest

from psdopt import FlatQuotient, PSDCone
from psdopt.contracts.abilities import Ability
from psdopt.errors import InvalidInputError


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
