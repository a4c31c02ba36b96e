"""FixedTrace: tangent space of the sphere, order of the retraction, errors."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, QuadraticSDP, RiemannianGradient
from psdopt.errors import InvalidInputError
from psdopt.geometries.fixed_trace import FixedTrace
from psdopt.testing.gallery import with_spectrum

EPS = np.finfo(float).eps


@pytest.mark.parametrize("method", [ConjugateGradient(), RiemannianGradient()], ids=lambda method: method.name)
def test_a_step_applies_each_map_once_and_drift_is_bounded(method):
    problem = QuadraticSDP(A=with_spectrum(np.linspace(0.5, 2.0, 9), 1), C=with_spectrum(np.linspace(-2.0, 1.0, 9), 2))
    geometry = FixedTrace(9, 3, 2.0)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    spent = []
    for _ in range(12):
        before = problem.counts()["operator_applications"]
        state = method.step(state)
        spent.append(problem.counts()["operator_applications"] - before)
    assert spent == [2] * 12  # one with A and one with C, whatever the search tries
    for _ in range(80):
        state = method.step(state)
    assert geometry.check_point(state.point) is None
    fresh = problem.at(state.point)
    assert abs(fresh.value - state.evaluation.value) <= 1e-12 * abs(fresh.value)


def test_however_long_a_step_is_it_ends_in_the_set():
    geometry, rng = FixedTrace(5, 2, 3.0), np.random.default_rng(1)
    point = geometry.random_point(rng)
    curve = geometry.curve(point, 1e-3 * geometry.random_vector(point, rng))
    T = curve.mixture(curve.longest).frame
    assert geometry.check_point(np.hstack([point, curve.block]) @ T) is None


def test_points_and_vectors_that_are_none():
    geometry = FixedTrace(5, 2)
    Y = geometry.random_point(np.random.default_rng(0))
    assert "trace" in str(geometry.check_point(2 * Y))
    assert "sphere" in str(geometry.check_vector(Y, Y))
    assert geometry.check_point(geometry.from_factor(np.ones((5, 1)))) is None
    assert geometry.with_rank(4).r == 4
    assert geometry.with_rank(4).trace == 1.0
    with pytest.raises(InvalidInputError, match="Y = 0"):
        geometry.from_factor(np.zeros((5, 2)))
    with pytest.raises(InvalidInputError, match="trace must"):
        FixedTrace(5, 2, 0.0)
    with pytest.raises(InvalidInputError, match="r \\(rank\\)"):
        FixedTrace(5, 6)
