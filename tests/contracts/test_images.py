"""Images of a factor: linear in Y, computed once, and nothing derived from them outlives them."""

import pickle

import numpy as np

from psdopt.contracts.images import Images
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms.measurements import PairDistances


def composed(r=3):
    rng = np.random.default_rng(0)
    maps = (LinearMap(rng.standard_normal((9, 5)), "X"), LinearMap(rng.standard_normal((5, 5)), "A"))
    return rng, maps, Images(maps, rng.standard_normal((5, r)))


def test_each_image_is_computed_once_and_the_identity_is_free():
    _, (X, A), here = composed()
    assert here.of(None) is here.factor
    assert here.of(X) is here.of(X)
    assert (X.applications, A.applications) == (1, 0)
    np.testing.assert_allclose(here.of(X), X.data @ here.factor)


def test_moves_combine_what_is_at_hand_and_leave_the_rest_for_later():
    rng, maps, here = composed()
    X, A = maps
    here.of(X)
    direction = Images(maps, rng.standard_normal((5, 3)))
    moved = here.step(0.3, direction)
    mixed = moved.mix(rng.standard_normal((3, 2)))
    wide = mixed.append(Images(maps, rng.standard_normal((5, 1))))
    before = X.applications
    for images in (moved, mixed, wide):
        np.testing.assert_allclose(images.of(X), X.data @ images.factor, atol=1e3 * EPS)
    assert X.applications == before == 3  # Y, D and the appended column
    assert A.applications == 0
    np.testing.assert_allclose(wide.of(A), A.data @ wide.factor, atol=1e3 * EPS)
    assert A.applications == 1


def test_drift_bounds_the_rounding_of_many_steps():
    rng, maps, here = composed()
    X = maps[0]
    here.of(X)
    for _ in range(300):
        here = here.step(0.1, Images(maps, rng.standard_normal((5, 3))))
    error = np.linalg.norm(here.of(X) - X.data @ here.factor)
    assert 0.0 < error <= here.drift * np.linalg.norm(X.data, 2) * np.linalg.norm(here.factor)
    assert here.refreshed().drift == 0.0
    np.testing.assert_array_equal(here.refreshed().of(X), X.data @ here.factor)


def test_derived_arrays_are_shared_within_and_not_beyond():
    rng, maps, here = composed()
    calls = []

    def double(Z):
        calls.append(1)
        return 2.0 * Z

    owner, other = object(), object()
    assert here.derived(owner, maps[0], double) is here.derived(owner, maps[0], double)
    here.derived(other, None, double)
    assert len(calls) == 2
    moved = here.step(1.0, Images(maps, rng.standard_normal((5, 3))))
    np.testing.assert_array_equal(moved.derived(owner, maps[0], double), 2.0 * moved.of(maps[0]))
    again = pickle.loads(pickle.dumps(here))
    np.testing.assert_array_equal(again.factor, here.factor)
    assert again._derived == {}


def test_a_factor_changed_in_place_is_not_taken_for_the_old_one():
    """Images belong to one evaluation; nothing is remembered by the identity of the caller's array."""
    measurement = PairDistances([0, 1], [2, 3], n=5)
    Y = np.random.default_rng(0).standard_normal((5, 2))
    first = measurement.pair(Images((), Y), Images((), Y))
    Y *= 2.0
    images = Images((), Y)
    np.testing.assert_allclose(measurement.pair(images, images), 4.0 * first)
