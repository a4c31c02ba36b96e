"""Step lengths by Armijo's rule."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.searches.armijo import armijo_step


@settings(max_examples=50, deadline=None)
@given(st.floats(-12, 12), st.floats(-12, 12))
def test_armijo_decreases_enough_at_any_scale(log_size, log_place):
    size, place = 10.0**log_size, 10.0**log_place

    def f(t):
        return size * (t / place - 1.0) ** 2

    slope = -2.0 * size / place
    mu = armijo_step(f, f(0.0), slope)
    assert 0.0 < mu < 2.0 * place
    assert f(mu) <= f(0.0) + 1e-4 * mu * slope
    assert mu > 0.1 * place  # doubling keeps it from being needlessly short


def test_armijo_at_the_edges():
    """No step uphill or along a level, however F goes on; inf where the decrease has no end; none into NaN."""
    assert armijo_step(lambda t: t, 0.0, 1.0) == 0.0
    assert armijo_step(lambda t: 0.5 * t - t * t, 0.0, 0.5) == 0.0
    assert armijo_step(lambda t: -t * t, 0.0, 0.0) == 0.0
    assert armijo_step(lambda t: -t, 0.0, -1.0) == math.inf
    assert armijo_step(lambda t: math.nan if t else 0.0, 0.0, -1.0) == 0.0


@pytest.mark.parametrize("longest", [0.3, 1.0, 7.0])
def test_armijo_stays_within_the_longest_step(longest):
    mu = armijo_step(lambda t: -t, 0.0, -1.0, longest=longest)
    assert 0.5 * longest < mu <= longest


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0, math.nan])
def test_a_direction_that_does_not_lead_down_is_never_tried(slope):
    tried = []
    assert armijo_step(lambda mu: tried.append(mu) or -mu, 0.0, slope) == 0.0
    assert tried == []
