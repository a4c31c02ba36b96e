"""pymanopt both ways: geometries of its manifolds, manifolds of our geometries, judged by the kit."""

import numpy as np
import pytest
from pymanopt.manifolds import Elliptope, PSDFixedRank, Sphere, SymmetricPositiveDefinite
from pymanopt.optimizers import ConjugateGradient, SteepestDescent, TrustRegions

import psdopt
from psdopt import FixedTrace, FlatQuotient, LowRankPSD, Polar, PositiveDefinite, PSDCone, QuadraticSDP, certify, solve
from psdopt.errors import InvalidInputError
from psdopt.interop.pymanopt import PymanoptOptimizer, from_pymanopt, pymanopt_problem, to_pymanopt
from psdopt.testing import parametrize_with_checks, run_checks
from psdopt.testing.gallery import problems, with_spectrum
from psdopt_plugins.regression import psd_regression_problem

A = with_spectrum(np.linspace(0.5, 2.0, 6), 1)
C = with_spectrum(np.linspace(-2.0, 1.0, 6), 2)
PROBLEM = QuadraticSDP(A, 0.5, C)


OPTIMIZERS = [SteepestDescent, ConjugateGradient, TrustRegions]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: o.__name__)
@pytest.mark.parametrize("geometry", [FlatQuotient(6, 6), Polar(6, 6), PositiveDefinite(6)], ids=repr)
def test_pymanopts_optimizers_reach_our_certificate(optimizer, geometry):
    """To the tolerance that psdopt.solve is asked for, judged by the same certificate."""
    shipped = problems(6, definite=not geometry.closed)["quadratic"]
    problem = pymanopt_problem(shipped, geometry)
    start = geometry.random_point(np.random.default_rng(1))
    found = optimizer(verbosity=0, max_iterations=2000, min_gradient_norm=1e-8).run(problem, initial_point=start)
    certificate = certify(shipped, geometry.to_matrix(found.point), tol=1e-6)
    assert certificate.proves(1e-6)
    assert abs(certificate.value - solve(shipped, tol=1e-8).value) <= 1e-6 * abs(certificate.value)


def test_an_optimizer_is_a_method():
    result = solve(PROBLEM, FlatQuotient(6, 6), PymanoptOptimizer(SteepestDescent(), inner=50), tol=1e-5)
    assert result.optimal
    reference = solve(PROBLEM, tol=1e-8)
    assert abs(result.value - reference.value) <= 1e-4 * abs(reference.value)
    with pytest.raises(InvalidInputError, match="pymanopt optimizer"):
        PymanoptOptimizer(3)
    with pytest.raises(InvalidInputError, match="inner"):
        PymanoptOptimizer(SteepestDescent(), inner=0)


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


N, R = 7, 3


@pytest.mark.parametrize("weight", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("r", [R, N])
def test_both_trust_regions_agree_and_converge_quadratically(r, weight):
    rng = np.random.default_rng(2)
    X, W = rng.standard_normal((150, N)), rng.standard_normal((N, r))
    problem = psd_regression_problem(X, ((X @ W) ** 2).sum(axis=1) * (1 + 0.1 * rng.standard_normal(150)))
    Y = rng.standard_normal((N, r))
    geometry = Polar(N, r, weight)
    ours = solve(problem, geometry, psdopt.TrustRegions(), start=LowRankPSD(Y), tol=1e-9, max_iterations=60)
    assert ours.converged
    decay = ours.history["gradient_norm"]
    fast = np.log(decay[1:-1]) - np.log(decay[:-2])
    assert fast[-1] < np.log(0.3)  # superlinear at the end: no first-order method falls so fast
    optimizer = TrustRegions(verbosity=0, max_iterations=200, min_gradient_norm=1e-9 * decay[0])
    theirs = optimizer.run(
        pymanopt_problem(problem, geometry, to_pymanopt(geometry)), initial_point=geometry.from_factor(Y)
    )
    assert theirs.cost == pytest.approx(ours.value, rel=1e-8)
    certificate = certify(problem, geometry.to_matrix(theirs.point), tol=1e-6)
    assert certificate.stationarity_relative <= 1e-6
    assert certificate.proves(1e-6) or r < N


def test_points_are_checked_by_shape_finiteness_and_the_retraction():
    geometry = from_pymanopt(Sphere(5, 2), n=5)
    Y = geometry.random_point(np.random.default_rng(0))
    assert geometry.check_point(Y) is None
    assert "shape" in geometry.check_point(Y[:4]).reason
    assert "non-finite" in geometry.check_point(np.where(Y[0, 0] == Y, np.nan, Y)).reason
    defect = geometry.check_point(1.5 * Y)
    assert abs(defect.magnitude - 0.5) < 1e-12
    vector = geometry.random_vector(Y, np.random.default_rng(1))
    assert geometry.check_vector(Y, vector) is None
    assert abs(geometry.check_vector(Y, vector + 0.25 * Y).magnitude - 0.25) < 1e-12


def test_factors_of_other_widths_become_points():
    geometry = from_pymanopt(PSDFixedRank(5, 2), n=5)
    wide = np.random.default_rng(0).standard_normal((5, 4))
    U, s, _ = np.linalg.svd(wide, full_matrices=False)
    best = (U[:, :2] * s[:2]) @ (U[:, :2] * s[:2]).T
    Y = geometry.from_factor(wide)
    assert np.allclose(Y @ Y.T, best)
    assert geometry.from_factor(wide[:, :1]).shape == (5, 2)
    doubled = from_pymanopt(PSDFixedRank(5, 2), n=5, from_factor=lambda Y: 2.0 * Y[:, :2])
    assert np.array_equal(doubled.from_factor(wide), 2.0 * wide[:, :2])


def test_what_is_no_manifold_of_arrays_of_that_order_is_refused():
    with pytest.raises(InvalidInputError, match="points must be 'factors' or 'matrices'; found 'rows'"):
        from_pymanopt(PSDFixedRank(4, 2), n=4, points="rows")
    with pytest.raises(InvalidInputError, match=r"must be real arrays with n = 5 rows; found \(4, 2\)"):
        from_pymanopt(PSDFixedRank(4, 2), n=5)


def test_definite_matrices_are_not_closed_and_factors_are_unless_stated():
    for manifold, points in ((SymmetricPositiveDefinite(3), "matrices"), (PSDFixedRank(4, 2), "factors")):
        n = 3 if points == "matrices" else 4
        assert from_pymanopt(manifold, n=n, points=points).closed is (points == "factors")
        for closed in (True, False):
            assert from_pymanopt(manifold, n=n, points=points, closed=closed).closed is closed
    definite = from_pymanopt(SymmetricPositiveDefinite(3), n=3, points="matrices")
    assert "singular" in definite.check_point(np.diag([1.0, 1.0, 0.0])).reason


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    from_pymanopt(PSDFixedRank(4, 2), n=4).random_point(np.random.default_rng(5))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_points_and_vectors_are_those_of_the_geometry():
    geometry = FlatQuotient(5, 2)
    manifold = to_pymanopt(geometry, seed=3)
    Y = manifold.random_point()
    D, E = (manifold.random_tangent_vector(Y) for _ in range(2))
    assert geometry.check_point(Y) is None
    assert geometry.check_vector(Y, D) is None
    assert manifold.inner_product(Y, D, E) == geometry.inner(Y, D, E)
    assert np.array_equal(manifold.retraction(Y, D), geometry.retract(Y, D))
    assert not np.any(manifold.zero_vector(Y))
    assert np.array_equal(to_pymanopt(geometry, seed=3).random_point(), Y)
    assert (manifold.dim, manifold.typical_dist) == (9, 3.0)
    assert [to_pymanopt(FixedTrace(n, 3)).dim for n in (6, 600)] == [14, 1796]  # one less than of any trace


def test_distances_are_those_of_geodesics():
    manifold = to_pymanopt(FlatQuotient(5, 2))
    rng = np.random.default_rng(1)
    Y, Z = rng.standard_normal((2, 5, 2))
    singular = np.linalg.svd(Y.T @ Z, compute_uv=False)  # min over rotations O of |Z O − Y|
    expected = np.sqrt(np.sum(Y**2) + np.sum(Z**2) - 2.0 * singular.sum())
    assert abs(manifold.dist(Y, Z) - expected) < 1e-12
    reached = manifold.exp(Y, manifold.log(Y, Z))
    assert np.allclose(reached @ reached.T, Z @ Z.T)


def test_euclidean_gradients_convert_on_straight_lines_only():
    manifold = to_pymanopt(FlatQuotient(4, 2))
    rng = np.random.default_rng(2)
    Y = manifold.random_point()
    G = rng.standard_normal((4, 2))
    converted = manifold.euclidean_to_riemannian_gradient(Y, G)
    D = manifold.random_tangent_vector(Y)
    assert abs(np.vdot(converted, D) - np.vdot(G, D)) < 1e-12
    curved = to_pymanopt(Polar(4, 2))
    point = curved.random_point()
    with pytest.raises(NotImplementedError, match=r"offers no euclidean_to_riemannian_gradient; see psdopt.interop"):
        curved.euclidean_to_riemannian_gradient(point, G)


def test_a_geometry_without_vectors_is_refused():
    with pytest.raises(InvalidInputError, match="geometry must be Riemannian"):
        to_pymanopt(PSDCone(4))
