"""Second-order methods on the polar geometry: pymanopt's optimizer on our manifold, and our method."""

from __future__ import annotations

import numpy as np
import pytest
from pymanopt.optimizers import TrustRegions as PymanoptTrustRegions

from psdopt import LowRankPSD, certify, solve
from psdopt.geometries.polar import Polar
from psdopt.interop.pymanopt import pymanopt_problem, to_pymanopt
from psdopt.methods.trust_regions import TrustRegions
from psdopt_plugins.regression import psd_regression_problem

N, R = 7, 3


def instance(r):
    rng = np.random.default_rng(2)
    X, W = rng.standard_normal((150, N)), rng.standard_normal((N, r))
    y = ((X @ W) ** 2).sum(axis=1) * (1 + 0.1 * rng.standard_normal(150))
    return psd_regression_problem(X, y), rng.standard_normal((N, r))


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("r", [R, N])
def test_both_trust_regions_agree_and_converge_quadratically(r, weight):
    problem, Y = instance(r)
    geometry = Polar(N, r, weight)
    ours = solve(problem, geometry, TrustRegions(), start=LowRankPSD(Y), tol=1e-9, max_iterations=60)
    assert ours.converged
    decay = ours.history["gradient_norm"]
    fast = np.log(decay[1:-1]) - np.log(decay[:-2])
    assert fast[-1] < np.log(0.3)  # superlinear at the end: no first-order method falls so fast
    optimizer = PymanoptTrustRegions(verbosity=0, max_iterations=200, min_gradient_norm=1e-9 * decay[0])
    theirs = optimizer.run(
        pymanopt_problem(problem, geometry, to_pymanopt(geometry)), initial_point=geometry.from_factor(Y)
    )
    assert theirs.cost == pytest.approx(ours.value, rel=1e-8)
    certificate = certify(problem, geometry.to_matrix(theirs.point), tol=1e-6)
    assert certificate.stationarity_relative <= 1e-6
    assert certificate.proves(1e-6) or r < N


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_trust_regions_keep_what_the_weight_fixes(weight):
    problem, Y = instance(R)
    geometry = Polar(N, R, weight)
    start = geometry.from_factor(Y)
    U, B = start.U, start.R @ start.R.T
    point = solve(problem, geometry, TrustRegions(), start=start, max_iterations=15).point
    if weight == 0.0:
        np.testing.assert_array_equal(point.U, U)
    else:
        np.testing.assert_array_equal(point.R @ point.R.T, B)
    assert problem.at(point.factor).value < problem.at(Y).value
