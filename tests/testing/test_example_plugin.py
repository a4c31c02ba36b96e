"""The example package passes its own test file, and its problem is solved over its geometry."""

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from psdopt import solve
from psdopt.methods.trust_regions import TrustRegions
from psdopt.plugins import Parameter
from psdopt.testing import run_checks

FOLDER = Path(__file__).parents[2] / "examples" / "third_party_plugin"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


TUTORIAL = (FOLDER.parents[1] / "docs" / "tutorials" / "write_a_plugin.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL, re.DOTALL)


def test_the_failure_in_the_tutorial_is_what_the_kit_prints():
    from nearest_correlation import example_problem
    from nearest_correlation.problem import WeightedDistance

    from psdopt.terms.models import PolynomialCurve

    class Forgetful(WeightedDistance):
        def along(self, U, R, D):
            P = U.factor @ D.factor.T
            P, Q = P + P.T, D.factor @ D.factor.T
            c = [self._dot(R, R), 2 * self._dot(R, P), self._dot(P, P) + self._dot(R, Q), 2 * self._dot(P, Q)]
            return PolynomialCurve(0.5 * np.array([*c, self._dot(Q, Q)]), lambda mu: R + mu * (P + mu * Q))

    problem = example_problem()
    problem.terms = (Forgetful(problem.G, problem.W),)
    (record,) = run_checks(problem, only=["problem.polynomial_degree"])
    printed = str(record).splitlines()
    (shown,) = blocks("text")
    # the tolerance is measured: its digits are those of a machine
    first, *rest = [line for line in shown.splitlines() if line.strip() != "..."]
    assert [re.sub(r"tolerance .*", "", line) for line in (first, printed[0])] == [
        first[: first.index("tolerance")]
    ] * 2
    assert rest == [line for line in printed[1:] if "import base64" not in line and "obj = " not in line]


def test_the_listings_of_the_tutorial_are_code_that_runs():
    import autograd.numpy as anp
    import nearest_correlation
    from nearest_correlation import example_problem

    example = example_problem()
    names = {**vars(nearest_correlation.problem), **vars(nearest_correlation), "W": example.W, "G": example.G,
             "anp": anp, "Parameter": Parameter, "partial": partial, "dot": np.vdot}  # fmt: skip
    for listing in blocks("python"):
        if "self.result_" not in listing:  # one line out of a method
            exec(listing, names)
    assert names["NearestCorrelation"].reference
    line, plane = names["Line"](), names["Plane"]()
    line.delta_I = plane.delta_I = 0.7 * np.eye(3)
    line.A = plane.A = np.diag([1.0, 2.0, 0.0])
    line.P, line.Q, plane.B = np.ones((3, 3)), np.eye(3), np.ones((3, 3))
    slope, bend = line.derivatives(0.3)
    assert slope == pytest.approx((line.value(0.3 + 1e-5) - line.value(0.3 - 1e-5)) / 2e-5, rel=1e-8)
    change = (line.derivatives(0.3 + 1e-5)[0] - line.derivatives(0.3 - 1e-5)[0]) / 2e-5
    assert bend == pytest.approx(change, rel=1e-8)
    gradient, hessian = plane.derivatives(0.8, 0.6)
    assert gradient[1] == pytest.approx((plane.value(0.8, 0.6 + 1e-5) - plane.value(0.8, 0.6 - 1e-5)) / 2e-5, rel=1e-8)
    change = (plane.derivatives(0.8, 0.6 + 1e-5)[0] - plane.derivatives(0.8, 0.6 - 1e-5)[0]) / 2e-5
    assert hessian[:, 1] == pytest.approx(change, rel=1e-8)
    assert len(list(names["psdopt_components"]())) == 3
    printed = " ".join(blocks("console"))
    commands = (FOLDER.parents[1] / ".ci" / "run").read_text(encoding="utf-8")
    for command in ('psdopt" list', 'psdopt" check nearest_correlation'):
        assert command.replace('"', "") in printed
        assert command in commands


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
