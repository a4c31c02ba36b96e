"""The example package passes its own test file, and its problem is solved over its geometry."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psdopt import solve
from psdopt.interop.pymanopt import pymanopt_problem
from psdopt.methods.trust_regions import TrustRegions
from psdopt.testing.slopes import derivative

FOLDER = Path(__file__).parents[2] / "examples" / "third_party_plugin"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def test_its_own_tests_pass():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    path = [str(FOLDER), *(entry for entry in sys.path if entry)]
    import os

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_nearest_correlation_of_low_rank():
    from nearest_correlation import LowRankCorrelation, UnitDiagonal, example_problem

    problem, geometry = example_problem(), UnitDiagonal(4, 2)
    result = solve(problem, geometry, TrustRegions(), tol=1e-8, max_iterations=200)
    assert np.allclose(np.diag(result.matrix.to_dense()), 1.0)
    assert result.rank == 2
    gradient = geometry.gradient(result.point, problem.at(result.point).gradient)
    assert np.linalg.norm(gradient) <= 1e-6
    X = np.random.default_rng(0).standard_normal((30, 5))
    fitted = LowRankCorrelation(rank=5).fit(X)
    assert np.allclose(fitted.correlation_, np.corrcoef(X.T), atol=1e-5)  # no limit: the correlation itself


def test_its_hessian_is_the_derivative_of_its_gradient():
    from nearest_correlation import UnitDiagonal, example_problem

    problem, geometry = example_problem(), UnitDiagonal(4, 2)
    rng = np.random.default_rng(1)
    point = geometry.random_point(rng)
    v = geometry.random_vector(point, rng)
    found = pymanopt_problem(problem, geometry).riemannian_hessian(point, v)

    def slope(t):
        moved = geometry.retract(point, t * v)
        return geometry.horizontal(point, geometry.gradient(moved, problem.at(moved).gradient))

    expected, error = derivative(slope, 0.1)
    assert np.linalg.norm(found - expected) <= 100 * error + 1e-9 * np.linalg.norm(found)
