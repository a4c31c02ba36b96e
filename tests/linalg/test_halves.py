"""Halves of matrices in a sequence: the error promised, and how often a matrix is decomposed."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt.linalg import halves as module
from psdopt.linalg.halves import halves


def matrix(n: int, below: int, rng: np.random.Generator) -> np.ndarray:
    """A symmetric matrix with `below` eigenvalues below zero, and a gap around zero."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.concatenate([-rng.uniform(0.1, 1.0, below), rng.uniform(0.1, 2.0, n - below)])
    return (Q * values) @ Q.T


def small(n: int, rng: np.random.Generator) -> np.ndarray:
    """A symmetric matrix of norm one."""
    E = rng.standard_normal((n, n))
    E += E.T
    return E / np.linalg.norm(E)


def exact(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, V = np.linalg.eigh(W)
    return (V * np.maximum(values, 0.0)) @ V.T, (V * np.maximum(-values, 0.0)) @ V.T


@pytest.mark.parametrize("below", [20, 380])
def test_near_matrices_are_split_without_decompositions(below: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One decomposition at first, and the errors of all are within those allowed."""
    n, rng = 400, np.random.default_rng(below)
    taken = []
    monkeypatch.setattr(module, "spectrum", lambda W: taken.append(1) or np.linalg.eigh(W))
    W, edge = matrix(n, below, rng), None
    for step in range(8):
        length = 0.3**step
        allowed = 0.1 * length
        plus, minus, H, edge = halves(W, edge, allowed)
        assert edge is not None
        expected = exact(W)
        assert np.linalg.norm(plus - expected[0]) <= allowed
        assert np.linalg.norm(minus - expected[1]) <= allowed
        assert np.linalg.norm(plus - minus - W) <= 1e-12
        assert np.linalg.norm(H @ H.T - minus) <= 0.5 * allowed + 1e-12
        W = W + length * small(n, rng)
    assert len(taken) == 1


def test_an_eigenvalue_below_zero_that_no_vector_meets_is_found() -> None:
    """The last vectors are orthogonal to the new eigenvector: the factorisation fails, and the matrix is decomposed."""
    n, rng = 400, np.random.default_rng(1)
    W = matrix(n, 20, rng)
    edge = halves(W)[3]
    values, V = np.linalg.eigh(W)
    changed = W - (values[-1] + 0.3) * np.outer(V[:, -1], V[:, -1])
    plus, _, _, after = halves(changed, edge, 1e-3)
    assert after is not None
    assert after.short == 0.0
    np.testing.assert_allclose(plus, exact(changed)[0], atol=1e-12)


def test_matrices_far_from_the_last_one_or_without_a_small_part_are_decomposed() -> None:
    n, rng = 400, np.random.default_rng(2)
    edge = halves(matrix(n, 20, rng))[3]
    far = halves(matrix(n, 20, rng), edge, 1e-12)[3]
    assert far is not None
    assert far.short == 0.0
    assert halves(matrix(n, 190, rng))[3] is None
    assert halves(matrix(100, 10, rng))[3] is None
    for below in (0, n):
        plus, minus, H, _ = halves(W := matrix(n, below, rng))
        np.testing.assert_allclose(plus - minus, W, atol=1e-12)
        np.testing.assert_allclose(H @ H.T, minus, atol=1e-12)
