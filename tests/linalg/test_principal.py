"""Principal axes of Y Yᵀ: eigenvalues in order, columns of no size left out."""

from __future__ import annotations

import numpy as np

from psdopt.linalg import principal_axes
from psdopt.linalg.tolerances import EPS


def test_they_are_the_eigenvalues_of_the_product_in_descending_order():
    Y = np.random.default_rng(0).standard_normal((9, 4))
    values, W = principal_axes(Y)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(Y @ Y.T)[:-5:-1], rtol=1e-12)
    np.testing.assert_allclose((Y @ W).T @ (Y @ W), np.diag(values), rtol=0, atol=64 * EPS * values[0])
    np.testing.assert_allclose(W.T @ W, np.eye(4), rtol=0, atol=64 * EPS)


def test_what_has_no_size_is_left_out():
    rng = np.random.default_rng(1)
    Y = np.column_stack([rng.standard_normal((9, 2)), np.zeros(9)])
    Y = Y @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert principal_axes(Y)[1].shape == (3, 2)
    assert len(principal_axes(np.zeros((4, 2)))[0]) == 0
    sizes = np.diag([1.0, 1e-2, 1e-4])
    assert len(principal_axes(sizes)[0]) == 3
    assert len(principal_axes(sizes, 1e-6)[0]) == 2
