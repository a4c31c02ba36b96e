"""Geometries as pymanopt manifolds: the same numbers under pymanopt's names, and refusals that say where to look."""

import numpy as np
import pytest

from psdopt import FlatQuotient, Polar, PSDCone
from psdopt.errors import InvalidInputError
from psdopt.interop.pymanopt import to_pymanopt


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


def test_the_dimension_is_the_number_of_independent_horizontal_vectors():
    geometry = FlatQuotient(5, 2)
    rng = np.random.default_rng(0)
    Y = geometry.random_point(rng)
    vectors = np.array([geometry.random_vector(Y, rng).ravel() for _ in range(20)])
    assert to_pymanopt(geometry).dim == np.linalg.matrix_rank(vectors) == 9
    assert to_pymanopt(geometry).typical_dist == 3.0


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
