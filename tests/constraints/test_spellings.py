"""Short spellings: what each measures, against the matrix, and which bounds it takes."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.errors import InvalidInputError

N = 5
Y = np.random.default_rng(0).standard_normal((N, 3))
M = Y @ Y.T
X = np.random.default_rng(1).standard_normal((4, N))


def measured(group: constraints.Constraint) -> np.ndarray:
    return Constrained(QuadraticSDP(C=np.eye(N)), group).measured(Y)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda **bounds: constraints.diagonal(N, **bounds), np.diagonal(M)),
        (lambda **bounds: constraints.trace(N, **bounds), [np.trace(M)]),
        (lambda **bounds: constraints.entries([0, 2], [3, 2], N, **bounds), [M[0, 3], M[2, 2]]),
        (
            lambda **bounds: constraints.distances([0, 1], [4, 2], n=N, **bounds),
            [M[0, 0] + M[4, 4] - 2.0 * M[0, 4], M[1, 1] + M[2, 2] - 2.0 * M[1, 2]],
        ),
        (lambda **bounds: constraints.distances([0], [3], X=X, **bounds), [(X[0] - X[3]) @ M @ (X[0] - X[3])]),
        (lambda **bounds: constraints.quadratic_forms(X, **bounds), np.einsum("ti,ij,tj->t", X, M, X)),
        (lambda **bounds: constraints.sparse_forms([np.eye(N), np.ones((N, N))], **bounds), [np.trace(M), M.sum()]),
    ],
)
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


def test_an_array_of_equal_values_is_one_for_each() -> None:
    group = constraints.diagonal(3, np.array([1.0, 2.0, 3.0]))
    assert np.array_equal(group.upper, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: constraints.diagonal(0, 1.0), InvalidInputError, "n "),
        (lambda: constraints.diagonal(2.5, 1.0), InvalidInputError, "n "),
        (lambda: constraints.trace(-1, 1.0), InvalidInputError, "n "),
        (lambda: constraints.entries([0, 1], [0], 3, 1.0), InvalidInputError, "i and j|length"),
        (lambda: constraints.quadratic_forms([[np.nan, 1.0]], 1.0), InvalidInputError, "finite"),
        (lambda: constraints.sparse_forms([np.eye(2), np.zeros((2, 3))], 1.0), InvalidInputError, "matrix 1"),
    ],
)
def test_bad_arguments_are_named(make, error, words) -> None:
    with pytest.raises(error, match=words):
        make()
