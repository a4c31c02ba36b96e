"""Curvatures of sums, and their arguments."""

import numpy as np
import pytest

from psdopt import Curvature
from psdopt.contracts.curvature import added
from psdopt.errors import InvalidInputError


def test_moduli_of_identities_are_added_and_a_declared_one_counts_if_it_is_larger():
    root = np.eye(2)
    found = added([Curvature(1.0), Curvature(3.0, root), Curvature(2.0)])
    assert [(each.modulus, each.root is root) for each in found] == [(3.0, False), (3.0, True)]
    assert [each.modulus for each in added([Curvature(1.0)], 4.0)] == [4.0]
    assert [each.modulus for each in added([Curvature(1.0)], 0.5)] == [1.0]
    assert added([]) == added([], 0.0) == added([], np.inf) == []


@pytest.mark.parametrize("modulus", [0.0, -1.0, np.nan, np.inf])
def test_a_modulus_is_a_positive_number(modulus):
    with pytest.raises(InvalidInputError, match="modulus"):
        Curvature(modulus)
