"""The Schur complement by the structure of each A_t, against products of matrices written out."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path import couplings
from psdopt.constraints.central_path.couplings import Couplings
from psdopt.linalg.tolerances import EPS


def forms(n: int, counts: list[int], rng: np.random.Generator) -> tuple[Couplings, np.ndarray]:
    """Random A_t of `counts` entries each, then one a aᵀ; the A_t (m, n, n) as arrays."""
    i, j = np.triu_indices(n)
    B = np.zeros((len(counts) + 1, len(i)))
    for row, count in zip(B, counts, strict=False):
        row[rng.choice(len(i), count, replace=False)] = rng.standard_normal(count)
    a = np.zeros(n)
    a[[1, 3, 4]] = [1.0, -2.0, 0.5]
    B[-1] = np.outer(a, a)[i, j] * np.where(i == j, 1.0, 2.0)
    A = np.zeros((len(B), n, n))
    A[:, i, j] += 0.5 * B
    A[:, j, i] += 0.5 * B
    return Couplings(i, j, sp.csr_array(B), n), A


@pytest.mark.parametrize("block", [1, 250, 2**20])
def test_all_kinds_of_rows_are_coupled(monkeypatch, block):
    """Light rows of an entry, heavy ones of few and of many rows of A_t, in pieces of any size, and a aᵀ."""
    rng, n = np.random.default_rng(3), 20
    made, A = forms(n, [1, 1, 2, 4, 4, 4, 4, 4, 5, 60, 150], rng)
    # heavy by choice, so that each kind is there at this order
    made.light, made.heavy = np.array([0, 1]), np.arange(2, 11)
    made.arrange()
    assert len(made.outer) == 1
    assert sorted(len(rows) for rows, _, _ in made.few)[-1] >= 2
    assert [rows.tolist() for rows, _ in made.whole] == [[9, 10]]
    monkeypatch.setattr(couplings, "CACHED", block)
    X, Q = ((lambda G: G @ G.T)(rng.standard_normal((n, n))) for _ in range(2))
    M = np.zeros((len(A), len(A)))
    made.add(M, X, Q)
    wanted = np.einsum("sij,tji->st", A, X @ A @ Q)
    size = np.einsum("sij,tji->st", abs(A), abs(X) @ abs(A) @ abs(Q))
    above = np.triu_indices(len(A))
    assert np.all(abs(M - wanted)[above] <= 100 * n * EPS * size[above])


def test_heavy_rows_take_no_memory_for_all_their_products_at_once():
    """200 A_t with 50 of 100 rows each: the A_t Z⁻¹ of all would be a million numbers."""
    rng, n, m = np.random.default_rng(4), 100, 200
    i, j = np.triu_indices(n)
    B = np.zeros((m, len(i)))
    for row in B:
        touched = np.isin(np.arange(n), rng.choice(n, n // 2, replace=False))
        row[touched[i] & touched[j]] = 1.0
        row[rng.choice(np.flatnonzero(row))] = -1.0  # not a aᵀ
    made, X = Couplings(i, j, sp.csr_array(B), n), np.eye(n)
    assert [rows.shape for rows, _, _ in made.few] == [(m,)]
    M = np.zeros((m, m))
    tracemalloc.start()
    try:
        made.add(M, X, X, True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 10**6  # bytes: 17 MB for all at once
