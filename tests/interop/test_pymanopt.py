"""pymanopt both ways, judged by the kit and by pymanopt's own diagnostics."""

import numpy as np
import pytest
from pymanopt.manifolds import Elliptope, PSDFixedRank, SymmetricPositiveDefinite
from pymanopt.optimizers import ConjugateGradient, SteepestDescent, TrustRegions
from pymanopt.tools import diagnostics
from pymanopt.tools.diagnostics import check_directional_derivative

import psdopt
from psdopt import FlatQuotient, QuadraticSDP, certify, solve
from psdopt.errors import InvalidInputError
from psdopt.interop.pymanopt import PymanoptOptimizer, from_pymanopt, pymanopt_problem, to_pymanopt
from psdopt.testing import parametrize_with_checks, run_checks
from psdopt.testing.gallery import with_spectrum

A = with_spectrum(np.linspace(0.5, 2.0, 6), 1)
C = with_spectrum(np.linspace(-2.0, 1.0, 6), 2)
PROBLEM = QuadraticSDP(A, 0.5, C)


def riemannian_geometries():
    import psdopt.geometries as shipped

    found = [FlatQuotient(6, 3), FlatQuotient(6, 1)]
    if "Polar" in shipped.__all__:
        found.append(shipped.Polar(6, 3))
    return found


GEOMETRIES = riemannian_geometries()


def linear_piece(x, y, window_length):
    """identify_linear_piece of pymanopt 2.2.1, which converts arrays to numbers in a way that NumPy 2.4 refuses."""
    best = (np.inf, None, None)
    for k in range(len(x) - window_length):
        segment = np.arange(k, k + window_length + 1)
        poly, residuals, *_ = np.polyfit(x[segment], y[segment], deg=1, full=True)
        residue = float(np.sqrt(residuals).sum())
        if residue < best[0]:
            best = residue, segment, poly
    return best[1], best[2]


@pytest.fixture(autouse=True)
def _repaired_diagnostics(monkeypatch):
    monkeypatch.setattr(diagnostics, "identify_linear_piece", linear_piece)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=repr)
class TestPymanoptsOwnChecks:
    """The quantities that pymanopt's check_gradient, check_hessian and check_retraction print and plot."""

    def setup_method(self):
        np.random.seed(0)  # noqa: NPY002  pymanopt's checks draw from the global generator

    def test_check_gradient(self, geometry):
        problem = pymanopt_problem(PROBLEM, geometry)
        manifold = problem.manifold
        point = manifold.random_point()
        _, _, _, poly = check_directional_derivative(problem, point, manifold.random_tangent_vector(point))
        assert 1.9 < poly[0] < 2.1
        gradient = problem.riemannian_gradient(point)
        residual = gradient - manifold.to_tangent_space(point, gradient)
        assert manifold.norm(point, residual) <= 1e-12 * manifold.norm(point, gradient)

    def test_check_hessian(self, geometry):
        problem = pymanopt_problem(PROBLEM, geometry)
        manifold = problem.manifold
        point = manifold.random_point()
        u, v = manifold.random_tangent_vector(point), manifold.random_tangent_vector(point)
        _, _, _, poly = check_directional_derivative(problem, point, u, use_quadratic_model=True)
        assert 2.9 < poly[0] < 3.1
        Hu, Hv = problem.riemannian_hessian(point, u), problem.riemannian_hessian(point, v)
        both = problem.riemannian_hessian(point, 2.0 * u + (-3.0) * v)
        size = manifold.norm(point, Hu) + manifold.norm(point, Hv)
        assert manifold.norm(point, both - (2.0 * Hu - 3.0 * Hv)) <= 1e-12 * size
        assert manifold.norm(point, Hu - manifold.to_tangent_space(point, Hu)) <= 1e-12 * size
        assert abs(manifold.inner_product(point, u, Hv) - manifold.inner_product(point, Hu, v)) <= 1e-12 * size

    def test_check_retraction(self, geometry):
        manifold = to_pymanopt(geometry)
        point = manifold.random_point()
        v = manifold.random_tangent_vector(point)
        steps = np.logspace(-12, 0, 251)
        try:
            errors = np.array(
                [manifold.dist(manifold.exp(point, t * v), manifold.retraction(point, t * v)) for t in steps]
            )
        except NotImplementedError:
            pytest.skip("no exponential map to compare with: pymanopt's check refuses too")
        if np.max(errors) > 1e-12:  # pymanopt: where both are the same, the slope is irrelevant
            _, poly = linear_piece(np.log10(steps), np.log10(errors), 10)
            assert poly[0] > 1.9


@pytest.mark.parametrize("optimizer", [SteepestDescent, ConjugateGradient, TrustRegions], ids=lambda o: o.__name__)
def test_pymanopts_optimizers_reach_our_certificate(optimizer):
    geometry = FlatQuotient(6, 6)
    problem = pymanopt_problem(PROBLEM, geometry)
    start = geometry.random_point(np.random.default_rng(1))
    found = optimizer(verbosity=0, max_iterations=2000, min_gradient_norm=1e-9).run(problem, initial_point=start)
    certificate = certify(PROBLEM, geometry.to_matrix(found.point), tol=1e-6)
    assert certificate.proves(1e-6)


def test_an_optimizer_is_a_method():
    result = solve(PROBLEM, FlatQuotient(6, 6), PymanoptOptimizer(SteepestDescent(), inner=50), tol=1e-5)
    assert result.optimal
    reference = solve(PROBLEM, tol=1e-8)
    assert abs(result.value - reference.value) <= 1e-4 * abs(reference.value)
    with pytest.raises(InvalidInputError, match="pymanopt optimizer"):
        PymanoptOptimizer(3)
    with pytest.raises(InvalidInputError, match="inner"):
        PymanoptOptimizer(SteepestDescent(), inner=0)


def test_trust_regions_converge_in_few_steps():
    method = psdopt.methods.trust_regions.TrustRegions()
    result = solve(PROBLEM, FlatQuotient(6, 6), method, tol=1e-9)
    assert result.optimal
    assert result.iterations < 40
    for argument in ({"kappa": 0.0}, {"theta": 0.0}, {"accept": 0.3}, {"inner": 0}):
        with pytest.raises(InvalidInputError, match=next(iter(argument))):
            psdopt.methods.trust_regions.TrustRegions(**argument)


@parametrize_with_checks(
    [from_pymanopt(PSDFixedRank(5, 3), 5), from_pymanopt(SymmetricPositiveDefinite(4), 4, "matrices")],
    expected_failures={},
)
def test_right_manifolds_pass(check):
    check()


def test_the_kit_finds_the_wrong_sign_in_elliptope():
    """pymanopt 2.2.1 solves the Lyapunov equation of Elliptope.projection with the wrong sign."""
    broken = {record.name for record in run_checks(from_pymanopt(Elliptope(5, 3), 5)) if not record.ok}
    assert broken == {
        "geometry.horizontal_idempotent",
        "geometry.horizontal_removes_fibre",
        "geometry.horizontal_orthogonal",
        "geometry.transport",
        "geometry.vectors_valid",
    }


@pytest.mark.filterwarnings(
    "ignore:Input .* has an eigenvalue pair:RuntimeWarning"
)  # their Lyapunov solve, rank dropping
def test_our_problem_on_their_manifold():
    geometry = from_pymanopt(PSDFixedRank(6, 6), 6)
    result = solve(PROBLEM, geometry, psdopt.methods.trust_regions.TrustRegions(), tol=1e-7)
    assert result.optimal
    assert abs(result.value - solve(PROBLEM, tol=1e-8).value) <= 1e-6 * abs(result.value)


def test_global_randomness_is_put_back():
    geometry = from_pymanopt(PSDFixedRank(5, 3), 5)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (geometry.random_point(np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_refusals():
    with pytest.raises(InvalidInputError, match="Riemannian"):
        to_pymanopt(psdopt.PSDCone(4))
    with pytest.raises(InvalidInputError, match="points must be"):
        from_pymanopt(PSDFixedRank(5, 3), 5, "vectors")
    with pytest.raises(InvalidInputError, match="n = 7 rows"):
        from_pymanopt(PSDFixedRank(5, 3), 7)
