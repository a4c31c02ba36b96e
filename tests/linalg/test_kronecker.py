"""Kronecker products against ``np.kron``."""

from functools import reduce

import numpy as np
import pytest

from psdopt.errors import InvalidInputError
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
    ("factors", "text"),
    [
        ([], "factors must hold at least one matrix; found none"),
        ([np.eye(2), np.ones(3)], r"factor 1 must be a 2-D array of finite numbers; found shape \(3,\)"),
        ([[[np.inf]]], "factor 0 must be a 2-D array of finite numbers"),
        ([[["a"]]], "factor 0 must be a 2-D array of finite numbers"),
    ],
)
def test_bad_input(factors, text):
    with pytest.raises(InvalidInputError, match=text):
        kronecker_product(factors)
