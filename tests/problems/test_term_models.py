"""Lines and planes of sums of terms, against the twin that is recomputed from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problems.twins import CASES, ROUNDING, assert_close, assert_same_point, composed, size_of

from ..instances import INSTANCES, N


@pytest.mark.parametrize(("name", "r"), CASES)
def test_lines(name, r):
    instance, rng, Y = composed(name, r)
    D = rng.standard_normal((N, r))
    here = instance.problem.at(Y)
    line, twin = here.along(D), instance.twin.at(Y).along(D)
    assert (line.coefficients is not None) == instance.quadratic
    assert line.value(0.0) == pytest.approx(here.value, rel=ROUNDING)
    for mu in (0.0, 1e-3, 0.7, 1.0, -1.3, 30.0):
        fresh = instance.problem.at(Y + mu * D)
        size = size_of(fresh) + size_of(here)
        assert_close(line.value(mu), fresh.value, size * max(1.0, mu**2))
        slope, curvature = line.derivatives(mu)
        slope_twin, curvature_twin = twin.derivatives(mu)
        scale = np.linalg.norm(fresh.gradient @ np.eye(N)) * np.linalg.norm(D) * np.linalg.norm(fresh.factor)
        assert_close(slope, slope_twin, scale)
        assert_close(curvature, curvature_twin, scale)
        assert_same_point(line.step(mu), fresh)
        assert here.along(D).value(mu) == line.value(mu)  # whatever was asked of the line before


@pytest.mark.parametrize("name", [name for name in INSTANCES if name not in ("triplets", "one-sided")])
def test_coefficients_are_those_of_the_quartic(name):
    """Interpolation of the twin at five points gives the same polynomial."""
    instance, rng, Y = composed(name, 2)
    D = rng.standard_normal((N, 2))
    line = instance.problem.at(Y).along(D)
    mus = np.cos(np.pi * (np.arange(5) + 0.5) / 5)
    values = [instance.twin.at(Y + mu * D).value for mu in mus]
    fitted = np.linalg.solve(np.vander(mus, increasing=True), values)
    condition = np.linalg.cond(np.vander(mus))
    assert np.max(np.abs(line.coefficients - fitted)) <= ROUNDING * condition * np.max(np.abs(values))


@pytest.mark.parametrize(("name", "r"), CASES)
def test_the_minimiser_on_a_line_beats_a_scan(name, r):
    instance, rng, Y = composed(name, r)
    here = instance.problem.at(Y)
    for D in (-here.factor_gradient(), rng.standard_normal((N, r)), -Y):
        line = here.along(D)
        mu = line.minimize()
        if mu == np.inf:
            assert line.value(1e12) < line.value(1e9)
            continue
        allowed = ROUNDING * (size_of(here) + abs(line.value(mu)))
        assert line.value(mu) <= here.value + allowed
        if mu > 0.0:
            assert abs(line.derivatives(mu)[0]) * mu <= 1e4 * ROUNDING * (size_of(here) + abs(line.value(mu)))
        if instance.quadratic:
            scan = mu * np.linspace(0, 3, 61) if mu > 0 else np.logspace(-6, 3, 60)
            assert line.value(mu) <= min(map(line.value, scan)) + allowed
        assert line.minimize(0.5 * mu) <= 0.5 * mu


@pytest.mark.parametrize(("name", "r"), CASES)
def test_planes(name, r):
    instance, rng, Y = composed(name, r)
    v = rng.standard_normal(N)
    here = instance.problem.at(Y)
    plane, twin = here.along_atom(v), instance.twin.at(Y).along_atom(v)
    assert (plane.quadratic is not None) == instance.quadratic
    for alpha, beta in ((1.0, 0.0), (0.0, 0.0), (0.4, 2.5), (3.0, 1e-4)):
        fresh = instance.problem.at(np.column_stack([np.sqrt(alpha) * Y, np.sqrt(beta) * v]))
        size = size_of(fresh) + size_of(here)
        assert_close(plane.value(alpha, beta), fresh.value, size)
        assert_close(plane.value(alpha, beta), twin.value(alpha, beta), size)
        g, H = plane.derivatives(alpha, beta)
        g_twin, H_twin = twin.derivatives(alpha, beta)
        assert_close(g, g_twin, size + np.abs(H_twin).max() * (alpha + beta))
        assert_close(H, H_twin, size)
        assert_same_point(plane.step(alpha, beta), fresh)
    if plane.quadratic is not None:
        c, g, H = plane.quadratic
        x = np.array([0.3, 0.9])
        assert_close(c + g @ x + 0.5 * x @ H @ x, plane.value(*x), size_of(here))
    alpha, beta = plane.minimize()
    assert alpha >= 0.0
    assert beta >= 0.0
    if np.isfinite(alpha) and np.isfinite(beta):
        allowed = 1e3 * ROUNDING * (size_of(here) + abs(plane.value(alpha, beta)))
        for a in (0.0, 0.5 * alpha, alpha, 1.0, 2.0 * alpha):
            for b in (0.0, 0.5 * beta, beta, beta + 1.0):
                assert plane.value(alpha, beta) <= plane.value(a, b) + allowed
    pinned = plane.minimize(alpha=(1.0, 1.0), beta=(0.0, 0.25))
    assert pinned[0] == 1.0
    assert 0.0 <= pinned[1] <= 0.25
