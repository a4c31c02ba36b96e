"""Kronecker products against ``np.kron``."""

from functools import reduce

import numpy as np
import pytest

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import kronecker_product

RNG = np.random.default_rng(0)


def test_products_are_those_of_the_matrix():
    factors = [
        RNG.standard_normal((3, 2)),
        RNG.standard_normal((2, 2)) + 1j * RNG.standard_normal((2, 2)),
        np.ones((1, 3)),
    ]
    A, whole = kronecker_product(factors), reduce(np.kron, factors)
    V, U = RNG.standard_normal((12, 4)), RNG.standard_normal((6, 2)) * 1j
    assert A.shape == whole.shape
    assert A.dtype == whole.dtype
    assert np.allclose(A @ V, whole @ V, rtol=1e-13)
    assert np.allclose(A.rmatmat(U), whole.conj().T @ U, rtol=1e-13)
    assert np.allclose(A @ V[:, 0], whole @ V[:, 0], rtol=1e-13)
    assert np.allclose(A.rmatvec(U[:, 0]), whole.conj().T @ U[:, 0], rtol=1e-13)


@pytest.mark.parametrize(
    ("factors", "kind", "text"),
    [
        ([], InvalidInputError, r"factors must be a sequence of at least one matrix; found \[\]"),
        (np.float64(1.0), InvalidInputError, "factors must be a sequence of at least one matrix"),
        (
            [np.eye(2), np.ones(3)],
            InvalidInputError,
            r"factors\[1\] must be a 2-D array, not empty; found shape \(3,\)",
        ),
        ([[[np.inf]]], InvalidInputError, r"factors\[0\] must be finite; found 1 NaN or infinite entries"),
        ([[["a"]]], InvalidTypeError, r"factors\[0\] must hold real or complex numbers; found \[\['a'\]\]"),
    ],
)
def test_bad_input(factors, kind, text):
    with pytest.raises(kind, match=text):
        kronecker_product(factors)
