"""Trust regions: radii in the metric's own lengths, and moves that overflow are refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Polar, PositiveDefinite, QuadraticSDP, Status, TrustRegions, solve
from psdopt.method import Outcome

N = 6


def problem(s=1.0):
    """F(M / s) of |M|² / 2 + ⟨C, M⟩ with its minimum inside the cone."""
    C = np.random.default_rng(0).standard_normal((N, N))
    return QuadraticSDP(None, 0.5 / s**2, -(C @ C.T + np.eye(N)) / (2.0 * s))


@pytest.mark.parametrize("geometry", [Polar(N, 2), PositiveDefinite(N), PositiveDefinite(N, "log-euclidean")], ids=repr)
def test_where_metrics_measure_relative_changes_a_radius_has_no_unit(geometry):
    point = geometry.random_point(np.random.default_rng(1))
    Y = geometry.factor(point)
    radii = [
        TrustRegions().init(problem(s), geometry, geometry.from_factor(np.sqrt(s) * Y)).radius
        for s in (1.0, 2.0**40, 2.0**-40)
    ]
    np.testing.assert_allclose(radii, radii[0], rtol=1e-8)
    assert 0.01 < radii[0] < 100.0


@pytest.mark.parametrize("geometry", [FlatQuotient(N, 3), FixedTrace(N, 3, 2.0)], ids=repr)
def test_where_vectors_are_moves_of_the_factor_it_is_half_the_factor(geometry):
    point = geometry.random_point(np.random.default_rng(1))
    state = TrustRegions().init(problem(), geometry, point)
    assert state.radius == pytest.approx(0.5 * np.linalg.norm(geometry.factor(point)))


def test_a_move_that_overflows_is_refused():
    geometry = PositiveDefinite(N)
    method = TrustRegions()
    state = method.init(problem(), geometry, geometry.random_point(np.random.default_rng(1)))
    # F falls for ever along I: the radius alone limits the move
    falling = dataclasses.replace(state, problem=QuadraticSDP(C=-np.eye(N)), radius=1e5)
    there = falling.problem.at(falling.evaluation.factor)
    falling = dataclasses.replace(falling, evaluation=there, gradient=geometry.gradient(falling.point, there.gradient))
    with np.errstate(over="ignore", invalid="ignore"):
        after = method.step(falling)
    assert after.outcome is Outcome.RUNNING
    assert after.point is falling.point
    assert after.radius == 0.25 * falling.radius
    assert after.refused == 1
    assert solve(problem(), geometry, method, rng=0).status is Status.OPTIMAL


def test_the_radius_doubles_after_a_good_step_that_it_cut_short_and_shrinks_after_a_poor_one():
    geometry, method = FlatQuotient(N, 3), TrustRegions()
    state = method.init(problem(), geometry, 0.1 * geometry.random_point(np.random.default_rng(1)))
    short = method.step(dataclasses.replace(state, radius=1e-3))
    assert short.step == pytest.approx(1e-3)
    assert short.radius == 2e-3
    assert short.evaluation.value < state.evaluation.value
    far = method.step(dataclasses.replace(state, radius=1e3))  # the quartic lies far above its model there
    assert far.refused == 1
    assert far.radius == pytest.approx(0.25 * 1e3)
    assert far.point is state.point
