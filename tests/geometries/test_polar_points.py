"""Points and vectors of the polar geometry."""

from __future__ import annotations

import numpy as np

from psdopt.geometries.polar import Polar
from psdopt.linalg.tolerances import EPS
from tests.geometries.regressions import point


def test_velocity_and_its_inverse():
    rng = np.random.default_rng(5)
    geometry, p = Polar(7, 3), point(rng, 7, 3)
    v = geometry.random_vector(p, rng)
    back = geometry.from_velocity(p, geometry.velocity(p, v))
    tol = 1e4 * EPS * np.linalg.cond(p.R) ** 2
    np.testing.assert_allclose(back.U, v.U, atol=tol)
    np.testing.assert_allclose(back.K, v.K, atol=tol)
