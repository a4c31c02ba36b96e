"""One group of constraints, by short spellings too: what each measures, bounds of every shape, and refusals."""

import numpy as np
import pytest

from psdopt import Constrained, Constraint, QuadraticSDP, constraints
from psdopt.constraints import Zero
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms.measurements import Entries

ENTRIES = Entries([0, 1, 2], [0, 2, 2], 3)


def test_numbers_are_bounds_of_all_and_arrays_of_each() -> None:
    group = Constraint(ENTRIES, -1.0, [0.0, 1.0, 2.0])
    assert np.array_equal(group.lower, [-1.0, -1.0, -1.0])
    assert np.array_equal(group.upper, [0.0, 1.0, 2.0])
    assert (group.size, group.n, group.name) == (3, 3, "Entries")
    assert repr(Constraint(ENTRIES, group.upper, group.upper)) == "Constraint(Entries, m=3, equations=3)"
    group.lower[0] = -5.0  # an array of its own
    assert group.lower[1] == -1.0


def test_bounds_that_are_left_out_are_infinite() -> None:
    group = Constraint(ENTRIES, name="nothing")
    assert np.all(np.isneginf(group.lower))
    assert np.all(np.isposinf(group.upper))
    assert repr(group) == "Constraint(nothing, m=3, equations=0)"


ORDER = 5
Y = np.random.default_rng(0).standard_normal((ORDER, 3))
M = Y @ Y.T
X = np.random.default_rng(1).standard_normal((4, ORDER))


def measured(group: constraints.Constraint) -> np.ndarray:
    return Constrained(QuadraticSDP(C=np.eye(ORDER)), group).measured(Y)


@pytest.mark.parametrize(("make", "expected"), [
    (lambda **bounds: constraints.diagonal(ORDER, **bounds), np.diagonal(M)),
    (lambda **bounds: constraints.trace(ORDER, **bounds), [np.trace(M)]),
    (lambda **bounds: constraints.entries([0, 2], [3, 2], ORDER, **bounds), [M[0, 3], M[2, 2]]),
    (
        lambda **bounds: constraints.distances([0, 1], [4, 2], n=ORDER, **bounds),
        [M[0, 0] + M[4, 4] - 2.0 * M[0, 4], M[1, 1] + M[2, 2] - 2.0 * M[1, 2]],
    ),
    (lambda **bounds: constraints.distances([0], [3], X=X, **bounds), [(X[0] - X[3]) @ M @ (X[0] - X[3])]),
    (lambda **bounds: constraints.quadratic_forms(X, **bounds), np.einsum("ti,ij,tj->t", X, M, X)),
    (
        lambda **bounds: constraints.sparse_forms([np.eye(ORDER), np.ones((ORDER, ORDER))], **bounds),
        [np.trace(M), M.sum()],
    ),
])  # fmt: skip
def test_each_measures_what_it_says_with_the_bounds_given(make, expected) -> None:
    group = make(lower=-1.0, upper=2.0)
    assert np.allclose(measured(group), expected, rtol=1e-13)
    assert np.all(group.lower == -1.0)
    assert np.all(group.upper == 2.0)
    equal = make(equals=0.5)
    assert np.all(equal.lower == 0.5)
    assert np.array_equal(equal.lower, equal.upper)
    above, below = make(lower=0.0), make(upper=0.0)
    assert np.all(np.isposinf(above.upper))
    assert np.all(np.isneginf(below.lower))
    with pytest.raises(InvalidInputError, match="needs equals, lower or upper"):
        make()
    with pytest.raises(InvalidInputError, match="either equals or lower and upper"):
        make(equals=1.0, lower=0.0)


def test_the_names_are_those_of_the_spellings() -> None:
    assert constraints.diagonal(3, 1.0).name == "diagonal"
    assert constraints.trace(3, 1.0).name == "trace"
    assert constraints.quadratic_forms(X, 1.0).name == "quadratic_forms"


@pytest.mark.parametrize(("make", "error", "words"), [
    (lambda: Constraint(ENTRIES, [0.0, 2.0, 0.0], 1.0), InvalidInputError, "found 2 > 1 at position 1 of Entries"),
    (lambda: Constraint(ENTRIES, [0.0, np.nan, np.nan], 1.0), InvalidInputError,
     "lower must not be NaN; found 2 in Entries"),
    (lambda: Constraint(ENTRIES, 0.0, np.nan), InvalidInputError, "upper must not be NaN"),
    (lambda: Constraint(ENTRIES, np.inf, np.inf), InvalidInputError,
     "lower and upper, where equal, must be finite; found inf at position 0"),
    (lambda: Constraint(ENTRIES, [0.0, -np.inf, 0.0], [1.0, -np.inf, 1.0]), InvalidInputError,
     "finite; found -inf at position 1"),
    (lambda: Constraint(ENTRIES, [0.0, 0.0], 1.0), InvalidInputError, r"array of length 3; found shape \(2,\)"),
    (lambda: Constraint(ENTRIES, np.zeros((3, 1)), 1.0), InvalidInputError, r"found shape \(3, 1\)"),
    (lambda: Constraint(ENTRIES, "low", 1.0), InvalidTypeError, "lower must hold real numbers; found str"),
    (lambda: Constraint(ENTRIES, 0.0, [object()] * 3), InvalidTypeError, "upper must hold real numbers; found list"),
    (lambda: Constraint(np.eye(3), 0.0, 1.0), InvalidTypeError, "measurement"),
    (lambda: Constraint(ENTRIES, 0.0, 1.0, name=3), InvalidTypeError, "name"),
    (lambda: constraints.diagonal(0, 1.0), InvalidInputError, "n "),
    (lambda: constraints.diagonal(2.5, 1.0), InvalidInputError, "n "),
    (lambda: constraints.trace(-1, 1.0), InvalidInputError, "n "),
    (lambda: constraints.entries([0, 1], [0], 3, 1.0), InvalidInputError, "i and j|length"),
    (lambda: constraints.quadratic_forms([[np.nan, 1.0]], 1.0), InvalidInputError, "finite"),
    (lambda: constraints.sparse_forms([np.eye(2), np.zeros((2, 3))], 1.0), InvalidInputError, r"matrices\[1\]"),
    (lambda: constraints.hermitian_forms([np.eye(3), np.eye(2)], 1.0), InvalidInputError,
     r"matrices\[1\] must be of order 3; found shape \(2, 2\)"),
    (lambda: constraints.diagonal(3, np.ones(2)), InvalidInputError, "^equals must be a number or an array of"),
    (lambda: constraints.trace(3, 1j), InvalidTypeError, "^equals must hold real numbers"),
    (lambda: constraints.entries([0], [1], 3, np.inf), InvalidInputError, "^equals must be finite; found inf"),
    (lambda: Constraint(ENTRIES, Zero([np.nan] * 3)), InvalidInputError, "^target must not be NaN"),
])  # fmt: skip
def test_bad_arguments_are_named(make, error, words) -> None:
    with pytest.raises(error, match=words):
        make()
