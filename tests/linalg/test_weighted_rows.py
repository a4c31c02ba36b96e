"""Weighted rows and the adjoints that form them block by block."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt.linalg.limits import CACHED
from psdopt.linalg.operators import LinearMap, WeightedRows
from psdopt.linalg.row_blocks import RowBlocks
from psdopt.linalg.row_sources import row_source

RNG = np.random.default_rng(0)
M, N, K = CACHED // 8, 7, 3  # several blocks of rows


def weighted(parts=2):
    pairs = [(RNG.standard_normal(M), RNG.standard_normal((M, K))) for _ in range(parts)]
    return WeightedRows(*pairs), sum(w[:, None] * Z for w, Z in pairs)


@pytest.mark.parametrize("parts", [1, 2])
def test_rows_sums_and_multiples_are_those_of_the_matrix(parts):
    G, expected = weighted(parts)
    other, more = weighted(1)
    assert G.shape == expected.shape
    assert np.array_equal(G[5:9], G[:][5:9])
    assert np.allclose(G[:], expected)
    assert np.allclose((G + other)[:], expected + more)
    assert np.allclose((-(2.0 * G) * 3.0)[:], -6.0 * expected)
    for total in (G + more, more + G):
        assert isinstance(total, np.ndarray)
        assert np.allclose(total, expected + more)


@pytest.mark.parametrize(
    "given", [np.asarray, sp.csr_array, aslinearoperator, lambda X: RowBlocks(row_source(Rows(X)))]
)
def test_adjoints_take_them(given):
    X = RNG.standard_normal((M, N))
    made = given(X)
    A = made if isinstance(made, LinearMap) else LinearMap(made)
    G, expected = weighted()
    allowed = 1e-12 * np.abs(X).max() * np.abs(expected).sum()
    assert np.allclose(A.adjoint(G), X.T @ expected, rtol=0.0, atol=allowed)
    assert np.allclose(A.adjoint(expected), X.T @ expected, rtol=0.0, atol=allowed)
    assert (A.applications, A.columns) == (2, 2 * K)


def test_an_adjoint_forms_one_block_at_a_time():
    formed = []

    class Noted(WeightedRows):
        def __getitem__(self, rows):
            formed.append(len(range(*rows.indices(M))))
            return super().__getitem__(rows)

    G, _ = weighted()
    LinearMap(RNG.standard_normal((M, N))).adjoint(Noted(*G.parts))
    assert sum(formed) == M
    assert max(formed) * (N + K) <= CACHED


class Rows:
    """An array that is read in blocks of rows."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        return self.X[rows]
