"""The geometry's contract: the least that a geometry has to offer, the defaults, the names that were."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import (
    Ability,
    ConjugateGradient,
    Defect,
    FlatQuotient,
    Geometry,
    Status,
    compatible,
    solve,
)
from psdopt.linalg.arrays import inner, norm
from tests.instances import psd
from tests.methods.searched import N, R, problem


class UnitRows(Geometry):
    """Rows of length one: the group that a Riemannian geometry must have, and nothing else of it."""

    def __init__(self, n, r):
        self.n, self.r = n, r
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})

    def check_point(self, point):
        off = np.abs(np.linalg.norm(point, axis=1) - 1.0).max()
        return None if off < 1e-12 else Defect("rows must have length one, off by", off, 1e-12)

    def check_vector(self, point, vector):
        return None

    def random_point(self, rng):
        return self.from_factor(rng.standard_normal((self.n, self.r)))

    def random_vector(self, point, rng):
        v = self.horizontal(point, rng.standard_normal(point.shape))
        return v / norm(v)

    def factor(self, point):
        return point

    def from_factor(self, Y):
        return Y / np.linalg.norm(Y, axis=1, keepdims=True)

    def inner(self, point, left, right):
        return inner(left, right)

    def horizontal(self, point, ambient):
        across = ambient - np.sum(ambient * point, axis=1, keepdims=True) * point
        s, Q = np.linalg.eigh(point.T @ point)
        skew = Q.T @ (point.T @ across - across.T @ point) @ Q
        return across - point @ (Q @ (skew / (s[:, None] + s[None, :])) @ Q.T)

    def gradient(self, point, S):
        G = 2.0 * (S @ point)
        return G - np.sum(G * point, axis=1, keepdims=True) * point

    def retract(self, point, vector):
        return self.from_factor(point + vector)


@pytest.mark.parametrize("search", ["exact", "armijo"])
def test_the_minimal_riemannian_group_is_enough(search):
    """No velocity, no transport, no word on what is kept: the run ends where the tangent part of 2 S Y vanishes."""
    geometry, f, method = UnitRows(N, R), problem(), ConjugateGradient(search=search)
    assert compatible(f, geometry, method).ok
    result = solve(f, geometry, method, max_iterations=2000)
    assert result.status is Status.STATIONARY, result.message
    assert "UnitRows" in result.message
    point, S = result.point, result.state.evaluation.gradient
    assert norm(geometry.gradient(point, S)) <= 1e-4 * norm(2.0 * (S @ point))


def test_default_velocity_and_tangent_part_are_those_of_the_retraction():
    rng = np.random.default_rng(0)
    geometry, S = UnitRows(N, R), psd(rng, N) - 0.5 * np.eye(N)
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
