"""The geometry's contract: the least that a geometry has to offer, the defaults, the names that were."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, Status, compatible, solve
from psdopt.linalg.arrays import norm
from tests.geometries.test_own_sets import Elliptope
from tests.instances import psd
from tests.methods.searched import N, R, problem


@pytest.mark.parametrize("search", ["exact", "armijo"])
def test_the_minimal_riemannian_group_is_enough(search):
    """No velocity, no transport, no word on what is kept: the run ends where the tangent part of 2 S Y vanishes."""
    geometry, f, method = Elliptope(N, R), problem(), ConjugateGradient(search=search)
    assert compatible(f, geometry, method).ok
    result = solve(f, geometry, method, max_iterations=2000)
    assert result.status is Status.STATIONARY, result.message
    assert "Elliptope" in result.message
    point, S = result.point, result.state.evaluation.gradient
    assert norm(geometry.gradient(point, S)) <= 1e-4 * norm(2.0 * (S @ point))


def test_default_velocity_and_tangent_part_are_those_of_the_retraction():
    rng = np.random.default_rng(0)
    geometry, S = Elliptope(N, R), psd(rng, N) - 0.5 * np.eye(N)
    point = geometry.random_point(rng)
    v = 7.0 * geometry.random_vector(point, rng)
    np.testing.assert_allclose(geometry.velocity(point, v), v, atol=1e-8 * norm(v))
    np.testing.assert_array_equal(geometry.velocity(point, 0.0 * v), 0.0 * v)
    g = geometry.gradient(point, S)
    np.testing.assert_allclose(geometry.tangent_part(point, S), g, atol=1e-8 * norm(g))


def test_old_names_of_members_say_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"Old\.movable is no longer read; its new name is tangent_part"):

        class Old(FlatQuotient):
            def movable(self, Y, G):
                return G
