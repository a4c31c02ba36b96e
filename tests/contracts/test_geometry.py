"""The geometry's contract: the least that a geometry has to offer, the names that were, curves."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FixedTrace, FlatQuotient, Polar, PositiveDefinite, Status, compatible, solve
from psdopt.linalg.arrays import norm
from tests.geometries.test_own_sets import Elliptope
from tests.methods.searched import N, R, problem


def test_the_minimal_riemannian_group_is_enough():
    """No velocity, no transport, no word on what is kept: the run ends where the tangent part of 2 S Y vanishes."""
    geometry, f, method = Elliptope(N, R), problem(), ConjugateGradient()
    assert compatible(f, geometry, method).ok
    result = solve(f, geometry, method, max_iterations=2000)
    assert result.status is Status.STATIONARY, result.message
    assert "Elliptope" in result.message
    point, S = result.point, result.state.evaluation.gradient
    assert norm(geometry.gradient(point, S)) <= 1e-4 * norm(2.0 * (S @ point))


def test_old_names_of_members_say_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"Old\.movable is no longer read; its new name is tangent_part"):

        class Old(FlatQuotient):
            def movable(self, Y, G):
                return G


CURVED = [
    Polar(6, 2), Polar(5, 3, 0.2), Polar(4, 4), FixedTrace(6, 2), FixedTrace(5, 5, 20.0), PositiveDefinite(4),
    PositiveDefinite(3, retraction="first-order"),
]  # fmt: skip
EPS = np.finfo(float).eps


def drawn(geometry, seed=0):
    rng = np.random.default_rng(seed)
    point = geometry.random_point(rng)
    return point, 0.4 * geometry.random_vector(point, rng)


def spanned(geometry, curve, point):
    """The arrays that a curve combines, side by side."""
    parts = geometry.frame(point)
    frame = geometry.factor(point) if parts is None else parts[0]
    return frame if curve.block is None else np.hstack([frame, curve.block])


def factor_on(geometry, curve, point, s):
    """The factor and the point at s, from the arrays that the curve combines."""
    mixture, wide = curve.mixture(s), spanned(geometry, curve, point)
    here = wide[:, : geometry.rank] if mixture.frame is None else wide @ mixture.frame
    Y = here if mixture.factor is None else here @ mixture.factor
    return Y, curve.point(here, mixture, Y), mixture


@pytest.mark.parametrize("geometry", CURVED, ids=repr)
@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_a_curve_is_the_retraction(geometry, s):
    point, v = drawn(geometry)
    curve = geometry.curve(point, v)
    Y, moved, _ = factor_on(geometry, curve, point, s)
    expected = geometry.factor(geometry.retract(point, s * v))
    allowed = 1e4 * EPS * np.linalg.norm(expected) ** 2
    assert np.linalg.norm(Y @ Y.T - expected @ expected.T) <= allowed
    assert np.linalg.norm(geometry.factor(moved) - Y) <= allowed
    assert s <= curve.longest


@pytest.mark.parametrize("geometry", CURVED, ids=repr)
def test_the_velocity_is_how_the_matrix_begins_to_move(geometry):
    point, v = drawn(geometry, 1)
    curve, Y = geometry.curve(point, v), geometry.factor(point)
    D = spanned(geometry, curve, point) @ curve.velocity
    h = EPS ** (1 / 3)
    ahead, behind = (geometry.to_matrix(geometry.retract(point, t * v)).to_dense() for t in (h, -h))
    assert np.linalg.norm((ahead - behind) / (2 * h) - (D @ Y.T + Y @ D.T)) <= 1e-8 * np.linalg.norm(Y) ** 2


@pytest.mark.parametrize("geometry", CURVED[:5], ids=repr)
def test_the_turn_carries_the_start(geometry):
    """`turn` is orthogonal, I where it is None: the curve began at Y and is at factor · turnᵀ in the same gauge."""
    point, v = drawn(geometry, 2)
    curve = geometry.curve(point, v, straight=True)
    _, _, mixture = factor_on(geometry, curve, point, 1e-6)
    Y = geometry.factor(point)
    r = Y.shape[1]
    turn = np.eye(r) if mixture.turn is None else mixture.turn
    assert np.linalg.norm(turn.T @ turn - np.eye(r)) <= 64 * EPS * r
    near = factor_on(geometry, curve, point, 1e-6)[0] @ turn.T
    assert np.linalg.norm(near - Y) <= 1e-5 * np.linalg.norm(Y)
