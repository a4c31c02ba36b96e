"""One group of constraints: bounds of every shape, and what is refused with its position."""

import numpy as np
import pytest

from psdopt import Constraint
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms.measurements import Entries

ENTRIES = Entries([0, 1, 2], [0, 2, 2], 3)


def test_numbers_are_bounds_of_all_and_arrays_of_each() -> None:
    group = Constraint(ENTRIES, -1.0, [0.0, 1.0, 2.0])
    assert np.array_equal(group.lower, [-1.0, -1.0, -1.0])
    assert np.array_equal(group.upper, [0.0, 1.0, 2.0])
    assert (group.size, group.n, group.name) == (3, 3, "Entries")
    group.lower[0] = -5.0  # an array of its own
    assert group.lower[1] == -1.0


def test_bounds_that_are_left_out_are_infinite() -> None:
    group = Constraint(ENTRIES, name="nothing")
    assert np.all(np.isneginf(group.lower))
    assert np.all(np.isposinf(group.upper))
    assert repr(group) == "Constraint(nothing, m=3, equations=0)"


def test_given_arrays_are_copied() -> None:
    bound = np.array([0.0, 1.0, 2.0])
    group = Constraint(ENTRIES, bound, bound)
    bound[:] = 7.0
    assert np.array_equal(group.lower, [0.0, 1.0, 2.0])
    assert repr(group) == "Constraint(Entries, m=3, equations=3)"


@pytest.mark.parametrize(
    ("lower", "upper", "error", "words"),
    [
        ([0.0, 2.0, 0.0], 1.0, InvalidInputError, "found 2 > 1 at position 1 of Entries"),
        ([0.0, np.nan, np.nan], 1.0, InvalidInputError, "lower must not be NaN; found 2 in Entries"),
        (0.0, np.nan, InvalidInputError, "upper must not be NaN"),
        (np.inf, np.inf, InvalidInputError, "equal bounds must be finite; found inf at position 0"),
        ([0.0, -np.inf, 0.0], [1.0, -np.inf, 1.0], InvalidInputError, "finite; found -inf at position 1"),
        ([0.0, 0.0], 1.0, InvalidInputError, r"array of length 3; found shape \(2,\)"),
        (np.zeros((3, 1)), 1.0, InvalidInputError, r"found shape \(3, 1\)"),
        ("low", 1.0, InvalidTypeError, "lower must hold real numbers; found str"),
        (0.0, [object()] * 3, InvalidTypeError, "upper must hold real numbers; found list"),
    ],
)
def test_bad_bounds_are_one_clear_error(lower, upper, error, words) -> None:
    with pytest.raises(error, match=words):
        Constraint(ENTRIES, lower, upper)


def test_only_measurements_and_names_are_taken() -> None:
    with pytest.raises(InvalidTypeError, match="measurement"):
        Constraint(np.eye(3), 0.0, 1.0)
    with pytest.raises(InvalidTypeError, match="name"):
        Constraint(ENTRIES, 0.0, 1.0, name=3)
