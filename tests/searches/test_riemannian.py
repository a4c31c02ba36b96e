"""Paths: rounding at the end of a search, trials that have no point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from psdopt import PositiveDefinite, QuadraticSDP
from psdopt.linalg.tolerances import EPS
from psdopt.searches.riemannian import Path, RetractionPath, halved, locate, modelled, retracted


class Given(Path):
    """A path of which only values are looked at."""

    def __init__(self, f, longest=math.inf):
        self.value, self.longest = f, longest

    def at(self, s):
        raise AssertionError

    def tangent(self):
        raise AssertionError


def test_halving_takes_a_decrease_below_the_rounding_of_the_value_as_met():
    """Next to a minimiser F rises by a rounding where the slope promises a decrease of a few: that ends the search."""
    assert halved(Given(lambda s: 1.0 + 2.0 * EPS), 1.0, -10.0 * EPS, 1.0, 0.5) == 1.0
    assert halved(Given(lambda s: 1.0 + 40.0 * EPS), 1.0, -10.0 * EPS, 1.0, 0.5) == 0.0
    assert halved(Given(lambda s: 1.0 + 40.0 * EPS), 1.0, -1e6 * EPS, 1.0, 0.5) == 0.0


def test_halving_stays_within_the_longest_step_and_never_goes_uphill():
    assert halved(Given(lambda s: -s, longest=0.3), 0.0, -1.0, 100.0, 0.5) == 0.3
    assert halved(Given(lambda s: s), 0.0, 1.0, 1.0, 0.5) == 0.0
    assert halved(Given(lambda s: (s - 1.0) ** 2), 1.0, -2.0, 100.0, 0.5) == pytest.approx(100.0 / 128.0)


@pytest.mark.parametrize("metric", ["log-euclidean", "von-neumann"])
def test_where_a_retraction_has_no_point_the_value_is_infinite(metric):
    geometry, problem = PositiveDefinite(3, metric), QuadraticSDP(C=-np.eye(3))
    here = locate(problem, geometry, geometry.from_factor(np.eye(3)))
    path = RetractionPath(problem, geometry, here, np.eye(3))
    assert retracted(geometry, here.point, 1e4 * np.eye(3)) is None
    assert path.value(1e4) == math.inf
    assert path.value(1.0) == pytest.approx(math.e * here.evaluation.value)
    s = modelled(path, here.evaluation.value, -3.0)
    assert 0.0 < s < math.inf
    assert path.value(s) < here.evaluation.value
