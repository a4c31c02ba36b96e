"""What counts as level: rounding of a value, or of its distance to what decreases are measured from."""

import pytest

from psdopt.linalg.tolerances import EPS, tie


@pytest.mark.parametrize(
    ("value", "other", "scale"), [(1.0, 1.0, 1.0), (0.0, 3.0, 3.0), (-2.0, 1.0, 3.0), (5.0, 4.0, 5.0)]
)
def test_a_tie_is_a_few_roundings_of_the_larger_scale(value, other, scale):
    assert tie(value, other) == 4.0 * EPS * scale
    assert tie(2.0**40 * value, 2.0**40 * other) == 2.0**40 * tie(value, other)
    assert value + tie(value, other) != value
