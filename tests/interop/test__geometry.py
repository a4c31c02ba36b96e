"""pymanopt manifolds as geometries: validity, factors, and every option has an effect."""

import numpy as np
import pytest
from pymanopt.manifolds import PSDFixedRank, Sphere, SymmetricPositiveDefinite

from psdopt.errors import InvalidInputError
from psdopt.interop.pymanopt import from_pymanopt


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


def test_definite_matrices_are_not_closed_unless_stated():
    singular = np.diag([1.0, 1.0, 0.0])
    geometry = from_pymanopt(SymmetricPositiveDefinite(3), n=3, points="matrices")
    assert not geometry.closed
    assert "singular" in geometry.check_point(singular).reason
    assert from_pymanopt(SymmetricPositiveDefinite(3), n=3, points="matrices", closed=True).closed


def test_factors_are_closed_unless_stated():
    assert from_pymanopt(PSDFixedRank(4, 2), n=4).closed
    geometry = from_pymanopt(PSDFixedRank(4, 2), n=4, closed=False)
    assert not geometry.closed
    assert geometry.check_point(geometry.random_point(np.random.default_rng(0))) is None


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


def test_the_velocity_of_the_factor_of_a_matrix_moves_the_matrix():
    geometry = from_pymanopt(SymmetricPositiveDefinite(3), n=3, points="matrices")
    rng = np.random.default_rng(0)
    M = geometry.random_point(rng)
    V = geometry.random_vector(M, rng)
    Y, D = geometry.factor(M), geometry.velocity(M, V)
    assert np.allclose(Y @ Y.T, M)
    assert np.allclose(D @ Y.T + Y @ D.T, V)


def test_randomness_is_that_of_the_generator_and_the_global_one_is_left_alone():
    geometry = from_pymanopt(PSDFixedRank(4, 2), n=4)
    np.random.seed(3)  # noqa: NPY002
    first = geometry.random_point(np.random.default_rng(5))
    left = np.random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    assert np.random.random() == left  # noqa: NPY002
    assert np.array_equal(geometry.random_point(np.random.default_rng(5)), first)


def test_what_is_no_manifold_of_arrays_of_that_order_is_refused():
    with pytest.raises(InvalidInputError, match="points must be 'factors' or 'matrices'; found 'rows'"):
        from_pymanopt(PSDFixedRank(4, 2), n=4, points="rows")
    with pytest.raises(InvalidInputError, match=r"must be real arrays with n = 5 rows; found \(4, 2\)"):
        from_pymanopt(PSDFixedRank(4, 2), n=5)
