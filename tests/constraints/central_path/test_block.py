"""One block: measured values and adjoints against the matrices themselves, sparse and dense."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.block import Block


def block(size: int, density: float, m: int = 5) -> tuple[Block, np.ndarray]:
    rng = np.random.default_rng(size)
    i, j = np.triu_indices(size)
    kept = (rng.random(len(i)) < density) | (np.arange(len(i)) < 2)
    i, j = i[kept], j[kept]
    B = sp.csr_array(rng.standard_normal((m, len(i))) * (rng.random((m, len(i))) < 0.7))
    A = np.zeros((m, size, size))
    for t in range(m):
        A[t, i, j] += 0.5 * B.toarray()[t]
        A[t, j, i] += 0.5 * B.toarray()[t]
    return Block(np.arange(size), np.eye(size), i, j, B), A


@pytest.mark.parametrize(("size", "density", "scattered"), [(6, 0.8, False), (60, 0.01, True)])
def test_measured_and_adjoint_are_those_of_the_matrices(size, density, scattered) -> None:
    found, A = block(size, density)
    assert found.scattered is scattered
    rng = np.random.default_rng(1)
    X, v, V = rng.standard_normal((size, size)), rng.standard_normal(5), rng.standard_normal((size, 3))
    assert np.allclose(found.measure(X), np.einsum("tij,ij->t", A, X), rtol=0, atol=1e-12 * size)
    S = np.einsum("t,tij->ij", v, A)
    assert np.allclose(found.adjoint(v), S, rtol=0, atol=1e-13)
    assert np.allclose(found.adjoint_times(v, V), S @ V, rtol=0, atol=1e-12)
    assert found.measure(X) @ v == pytest.approx(np.sum(S * X), rel=1e-12)
    assert np.allclose(found.measure(np.asfortranarray(X)), found.measure(X), rtol=0, atol=1e-13)


def test_the_schur_complement_is_that_of_its_couplings() -> None:
    found, A = block(6, 0.8)
    G, H = np.random.default_rng(2).standard_normal((2, 6, 6))
    X, Q, M = G @ G.T, H @ H.T, np.full((5, 5), 2.0)
    found.add_schur(M, X, Q)
    expected = 2.0 + np.einsum("sij,jk,tkl,li->st", A, X, A, Q)
    assert np.allclose(np.triu(M), np.triu(expected), rtol=1e-12, atol=1e-11)
    assert list(found.used) == [0, 1, 2, 3, 4]
