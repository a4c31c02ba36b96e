"""Defaults reach the certificate from whatever start the user gives, in few steps, on both geometries."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from psdopt import ConjugateGradient, FlatQuotient, LagrangeNewton, LowRankPSD, MomentPreconditioner, Status, solve
from psdopt.geometries.polar import Polar
from psdopt.problems import moment_preconditioner as module
from psdopt_plugins.regression import PSDRegressor, psd_regression_problem

STARTS = {
    "gaussian": lambda Y: Y,
    "tiny": lambda Y: 1e-6 * Y,
    "huge": lambda Y: 1e6 * Y,
    "zero columns": lambda Y: np.where(np.arange(Y.shape[1]) < 1, Y, 0.0),
    "repeated columns": lambda Y: np.repeat(Y[:, :1], Y.shape[1], axis=1),
    "graded": lambda Y: Y * np.logspace(0, -6, Y.shape[1]),
    "zero": lambda Y: 0.0 * Y,
}
#: (n, rank of the target, r, noise, condition of the second moment of the data)
DATA = {
    "full rank": (8, 8, 8, 0.1, 1.0),
    "low rank": (8, 3, 8, 0.1, 1.0),
    "rank binds": (8, 8, 4, 0.1, 1.0),
    "exact": (8, 3, 8, 0.0, 1.0),
    "ill-conditioned": (8, 8, 8, 0.1, 1e4),
    "ill-conditioned, exact": (8, 3, 8, 0.0, 1e4),
}


def problem_of(name):
    n, rank, r, noise, condition = DATA[name]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, n)) * np.logspace(0, -0.5 * np.log10(condition), n)
    y = ((X @ rng.standard_normal((n, rank))) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(160))
    return psd_regression_problem(X, y), n, r


def in_units(problem, scales):
    """The same with X diag(scales)."""
    return psd_regression_problem(problem.maps[0].data * scales, problem.terms[0].loss.target)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", DATA)
def test_certificate_from_any_start_on_both_geometries(name, start):
    problem, n, r = problem_of(name)
    Y = STARTS[start](np.random.default_rng(5).standard_normal((n, r)))
    geometries, options = (FlatQuotient(n, r), Polar(n, r)), {"tol": 1e-6, "max_iterations": 160}
    results = [solve(problem, geometry, start=LowRankPSD(Y), **options) for geometry in geometries]
    for result in results:
        assert result.converged, result.message
        assert result.optimal or r < n, result.message
    drop = problem.value_at_zero()
    assert abs(results[0].value - results[1].value) <= 2e-6 * drop or r < n


def test_iris_takes_tens_of_steps_where_it_took_thousands():
    X, y = load_iris(return_X_y=True)
    for geometry in ("flat", "polar"):
        model = PSDRegressor(geometry=geometry, random_state=0).fit(X, y)
        assert model.result_.optimal
        assert model.result_.iterations <= 60


def test_units_of_features_do_not_matter():
    """X → X diag(c) and M → diag(1/c) M diag(1/c): the same run on the flat geometry, up to the ridge."""
    problem, n, r = problem_of("low rank")
    scales, Y = np.logspace(-3, 3, n), np.random.default_rng(1).standard_normal((n, r))
    plain, other = (
        solve(p, FlatQuotient(n, r), ConjugateGradient(), start=LowRankPSD(Z), tol=1e-12, max_iterations=10)
        for p, Z in ((problem, Y), (in_units(problem, scales), Y / scales[:, None]))
    )
    np.testing.assert_allclose(other.history["value"], plain.history["value"], rtol=1e-4)


@pytest.mark.parametrize("spread", [0.0, 1.0, 2.0])
def test_the_default_reaches_the_same_value_in_any_units(spread):
    """Newton's damping has units: at a rank that binds, and there alone, that may cost it its turn."""
    problem, n, r = problem_of("rank binds")
    scales = np.logspace(-spread, spread, n)
    start = LowRankPSD(np.random.default_rng(1).standard_normal((n, r)) / scales[:, None])
    newton, plain = (
        solve(in_units(problem, scales), FlatQuotient(n, r), method, start=start, max_iterations=500)
        for method in (LagrangeNewton(), ConjugateGradient())
    )
    assert newton.status is plain.status is Status.STATIONARY
    assert newton.value == pytest.approx(plain.value, rel=1e-8)
    assert newton.iterations <= 2 * plain.iterations


@pytest.mark.parametrize("form", ["rows", "sparse rows", "pairs", "sparse pairs", "kernel"])
def test_moment_is_the_mean_of_the_measured_matrices(form, monkeypatch):
    rng = np.random.default_rng(0)
    n, N, m = 6, 30, 50
    X = rng.standard_normal((N, n))
    pairs = rng.integers(N if "kernel" not in form else n, size=(4 * m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:m]
    if form == "kernel":
        problem, x = psd_regression_problem(None, 1.0, pairs, n=n), np.eye(n)[pairs[:, 0]] - np.eye(n)[pairs[:, 1]]
    else:
        given = pairs if "pairs" in form else None
        problem = psd_regression_problem(sp.csr_array(X) if "sparse" in form else X, 1.0, given)
        x = X if given is None else X[pairs[:, 0]] - X[pairs[:, 1]]
    C = x.T @ x / len(x)
    expected = np.diagonal(C) if form == "kernel" else C
    found = MomentPreconditioner(problem.terms).moment
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.max(C))
    monkeypatch.setattr(module, "SPECTRUM_ORDER", 3)
    diagonal = MomentPreconditioner(problem.terms).moment
    np.testing.assert_allclose(diagonal, np.diagonal(C), rtol=1e-7)


@pytest.mark.parametrize("full", [True, False])
def test_the_preconditioner_turns_with_the_columns(full, monkeypatch):
    if not full:
        monkeypatch.setattr(module, "SPECTRUM_ORDER", 3)
    problem, n, r = problem_of("ill-conditioned")
    rng = np.random.default_rng(0)
    for Y in (rng.standard_normal((n, r)), rng.standard_normal((n, r)) * np.logspace(0, -5, r)):
        A, Q = rng.standard_normal((n, r)), np.linalg.qr(rng.standard_normal((r, r)))[0]
        expected = problem.at(Y).preconditioner()(A) @ Q
        turned = problem.at(Y @ Q).preconditioner()(A @ Q)
        np.testing.assert_allclose(turned, expected, rtol=1e-6, atol=1e-6 * np.linalg.norm(expected))


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_lifted_preconditioner_is_symmetric_in_the_polar_metric(weight):
    """⟨g, P⁻¹h⟩ = ⟨P⁻¹g, h⟩ for the gradients g, h of two functions, and ⟨g, P⁻¹g⟩ > 0."""
    rng = np.random.default_rng(0)
    n, r = 7, 3
    geometry = Polar(n, r, weight)
    point = geometry.validated(geometry.from_factor(rng.standard_normal((n, r))))
    C = np.diag(np.logspace(0, 2, n))

    def inverse(G):
        return np.linalg.solve(C, G) @ np.diag([1.0, 3.0, 0.2])

    def gradients():
        A = rng.standard_normal((n, n))
        S = A + A.T
        lifted = geometry.from_velocity(point, inverse(geometry.tangent_part(point, S)))
        return geometry.gradient(point, S), lifted

    (g, Pg), (h, Ph) = gradients(), gradients()
    assert geometry.check_vector(point, Pg) is None
    assert geometry.inner(point, g, Ph) == pytest.approx(geometry.inner(point, Pg, h), rel=1e-9)
    assert geometry.inner(point, g, Pg) > 0.0


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9, 1e-12])
def test_damping_knows_a_column_below_the_rounding_of_the_gram_matrix(size):
    """Its Rayleigh quotient is that of its own length, |column|², not of eps times the largest."""
    problem, n, _ = problem_of("low rank")
    Y = 5.0 * np.random.default_rng(2).standard_normal((n, 3))  # so large that S is positive
    Y[:, 2] *= size
    evaluation = problem.at(Y)
    G = np.zeros((n, 3))
    G[:, 2] = np.random.default_rng(3).standard_normal(n)
    step = evaluation.preconditioner()(G)[:, 2]
    C = MomentPreconditioner(problem.terms).moment
    y = Y[:, 2] / size
    quotient = float(y @ (problem.at(Y[:, :2]).gradient @ y)) / float(y @ C @ y)
    assert quotient > 0.0
    assert np.linalg.norm(step) <= 4.0 * np.linalg.norm(np.linalg.solve(C, G[:, 2])) / quotient
