"""Points, vectors and curves of the polar geometry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.geometries.polar import Polar
from psdopt.linalg.tolerances import EPS
from psdopt.methods.searches.paths import locate, path_along
from tests.geometries.regressions import SEEDS, data, point, regression


@given(SEEDS, st.sampled_from([False, True]))
@settings(max_examples=20)
def test_paths_agree_with_points_and_cost_one_application(seed, straight):
    X, y, rng = data(7, 3, 30, seed)
    problem, geometry, p = regression(X, y), Polar(7, 3), point(rng, 7, 3)
    here = locate(problem, geometry, p)
    v = -0.1 * geometry.gradient(here.point, here.evaluation.gradient)
    v = (0.3 / geometry.norm(p, v)) * v
    before = problem.counts()["operator_applications"]
    path = path_along(problem, geometry, here, v, straight)
    values = {s: path.value(s) for s in (0.0, 0.3, 1.0)}
    moved = path.at(1.0)
    assert problem.counts()["operator_applications"] == before + 1
    fresh = problem.at(moved.point.factor).value
    assert moved.evaluation.value == pytest.approx(fresh, rel=1e6 * EPS)
    assert values[1.0] == pytest.approx(fresh, rel=1e6 * EPS)
    assert geometry.check_point(moved.point) is None
    if not straight:
        retracted = geometry.retract(here.point, v)
        np.testing.assert_allclose(moved.point.factor, retracted.factor, atol=1e5 * EPS * np.linalg.norm(p.R))
