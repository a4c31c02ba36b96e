"""Second-order cones of some values: projections and their derivatives, multipliers, distances, and the whole set."""

import numpy as np
import pytest

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.cones import Cones, moved_onto_cones, onto_cones
from psdopt.errors import InvalidInputError

RNG = np.random.default_rng(0)
#: Values 0 to 2 and 3 to 6 are in cones, value 7 in [−1, 2].
OFFSET = np.array([-1.0, 0.5, 0.0, 0.2, 0.0, 1.0, 0.0])
CONES = Cones.joined([(7, Cones.of([3, 4], OFFSET)), (1, None)])
FREE = np.full(7, np.inf)
ALLOWED = Allowed(np.append(-FREE, -1.0), np.append(FREE, 2.0), CONES)


def inside(w: np.ndarray, allowed: float = 0.0) -> bool:
    return w[0] >= np.linalg.norm(w[1:]) - allowed


def test_positions_of_cones_follow_the_values() -> None:
    assert [rows.tolist() for rows in CONES.groups] == [[[0, 1, 2]], [[3, 4, 5, 6]]]
    assert CONES.offset.tolist() == [*OFFSET, 0.0]
    assert CONES.member.tolist() == [True] * 7 + [False]
    assert np.flatnonzero(CONES.later).tolist() == [1, 2, 4, 5, 6]
    twice = Cones.joined([(2, None), (3, Cones.of([3], np.ones(3))), (3, Cones.of([3], np.zeros(3)))])
    assert [rows.tolist() for rows in twice.groups] == [[[2, 3, 4], [5, 6, 7]]]
    assert twice.offset.tolist() == [0, 0, 1, 1, 1, 0, 0, 0]
    assert Cones.joined([(3, None), (2, None)]) is None


@pytest.mark.parametrize("first", [-3.0, -0.5, 0.0, 0.5, 3.0])
def test_the_projection_is_the_nearest_vector(first) -> None:
    """w = Π(w) − Π*(−w), both in the cone and orthogonal (Moreau 1962)."""
    w = np.append(first, RNG.standard_normal(3))
    near = onto_cones(w[None])[0]
    rest = near - w
    assert inside(near, 1e-14)
    assert inside(rest, 1e-14)
    assert abs(near @ rest) <= 1e-14
    assert np.array_equal(onto_cones(np.array([[2.0, 1.0, 1.0]]))[0], [2.0, 1.0, 1.0])
    assert np.array_equal(onto_cones(np.zeros((1, 3)))[0], np.zeros(3))


@pytest.mark.parametrize("first", [-3.0, -0.5, 0.0, 0.5, 3.0])
def test_the_derivative_of_the_projection(first) -> None:
    w, d, h = np.append(first, RNG.standard_normal(3))[None], RNG.standard_normal((1, 4)), 1e-6
    slope = (onto_cones(w + h * d) - onto_cones(w - h * d)) / (2.0 * h)
    assert moved_onto_cones(w, d) == pytest.approx(slope, abs=1e-8)


def test_multipliers_are_moved_into_the_dual_cone_and_no_further() -> None:
    y = RNG.standard_normal(8)
    found = ALLOWED.admissible(y)
    for rows in ([0, 1, 2], [3, 4, 5, 6]):
        assert inside(-found[rows])
        assert np.array_equal(found[rows[1:]], y[rows[1:]])
        assert found[rows[0]] == pytest.approx(min(y[rows[0]], -np.linalg.norm(y[rows[1:]])))
    assert np.array_equal(ALLOWED.admissible(found), found)


def test_the_support_is_the_largest_product_with_allowed_values() -> None:
    y = ALLOWED.admissible(RNG.standard_normal(8))
    assert ALLOWED.support(y) == pytest.approx(y[:7] @ OFFSET + max(-y[7], 2.0 * y[7]))
    for _ in range(50):
        assert y @ ALLOWED.nearest(5.0 * RNG.standard_normal(8)) <= ALLOWED.support(y) + 1e-12


def test_a_violation_is_the_distance_from_the_cone() -> None:
    a = np.array([0.0, 4.0, 3.0, 10.0, 0.0, 0.0, 0.0, 5.0])
    assert ALLOWED.violation(a) == pytest.approx(a - ALLOWED.nearest(a), abs=1e-14)
    assert not np.any(ALLOWED.violation(np.array([0.1, 0.3, 0.3, 7.3, 0.1, 0.2, 0.7, 1.1])))
    off, scales = ALLOWED.relative(ALLOWED.violation(a), np.arange(1.0, 9.0))
    length = np.hypot(3.5, 3.0)
    assert off[:3] == pytest.approx((length - 1.0) / np.sqrt(2.0))
    assert off[3:].tolist() == [0.0] * 4 + [3.0]
    assert scales.tolist() == [3.0] * 3 + [7.0] * 4 + [8.0]
    assert ALLOWED.alike(np.arange(8.0)).tolist() == [2.0] * 3 + [6.0] * 4 + [7.0]


def test_directions_have_no_offset_and_no_finite_bound() -> None:
    along = ALLOWED.recession()
    assert (along.lower[7], along.upper[7]) == (0.0, 0.0)
    assert np.array_equal(along.nearest(np.array([2.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0])), [2, 1, 1, 1, 1, 0, 0, 0])
    bounds = Allowed(np.array([1.0, -np.inf, -3.0]), np.array([1.0, 5.0, np.inf])).recession()
    assert bounds.lower.tolist() == [0.0, -np.inf, 0.0]
    assert bounds.upper.tolist() == [0.0, 0.0, np.inf]


def test_equations_are_appended() -> None:
    longer = ALLOWED.with_equations(2)
    assert longer.lower[8:].tolist() == longer.upper[8:].tolist() == [0.0, 0.0]
    assert longer.cones.size == 10
    assert [rows.tolist() for rows in longer.cones.groups] == [rows.tolist() for rows in CONES.groups]


def test_a_form_that_is_zero_must_be_allowed_to_be() -> None:
    norms = np.ones(8)
    norms[3] = 0.0
    with pytest.raises(InvalidInputError, match=r"constraint 3 .* a cone where it is at least 0\.2"):
        ALLOWED.refuse_impossible(norms)
    norms = np.ones(8)
    norms[0] = 0.0
    ALLOWED.refuse_impossible(norms)
