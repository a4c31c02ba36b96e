"""Σ Aᵀ G over forces equals the sum formed densely, with one adjoint per map; maps are listed once."""

import numpy as np
import pytest

from psdopt.errors import InvalidTypeError
from psdopt.linalg import LinearMap
from psdopt.terms import IdentityForm, LinearTerm
from psdopt.terms.base import Term, combine, distinct_maps


def test_forces_of_one_map_are_summed_before_it_is_applied():
    rng = np.random.default_rng(0)
    X, Z = LinearMap(rng.standard_normal((7, 4)), "X"), LinearMap(rng.standard_normal((5, 4)), "Z")
    G, H, J, K = (rng.standard_normal((rows, 2)) for rows in (7, 7, 5, 4))
    total = combine([(X, G), (None, K), (Z, J), (X, H), (None, K)], (4, 2))
    assert np.allclose(total, X.data.T @ (G + H) + Z.data.T @ J + 2.0 * K)
    assert (X.applications, Z.applications) == (1, 1)


def test_no_force_is_zero():
    assert np.array_equal(combine([], (3, 2)), np.zeros((3, 2)))


def test_maps_are_listed_once_in_order_of_appearance():
    maps = [LinearMap(np.eye(2), name) for name in "XYZ"]

    class Needs:
        def __init__(self, *needed):
            self.maps = needed

    assert distinct_maps([Needs(maps[1], maps[0]), Needs(maps[0]), Needs(), Needs(maps[2])]) == (
        maps[1],
        maps[0],
        maps[2],
    )


class Bare(Term):
    """A term with the required members only."""

    n = 3

    def features(self, U):
        return None

    value = gradient = along = along_atom = features


def test_optional_members_are_refused_by_name():
    with pytest.raises(InvalidTypeError, match="Bare offers no Hessian"):
        Bare().hessian(None, None, None, None)
    with pytest.raises(InvalidTypeError, match="Bare offers no entries of its gradient"):
        Bare().add_gradient_to(np.zeros((3, 3)), None, None)
    assert LinearTerm(IdentityForm(3)).maps == ()
