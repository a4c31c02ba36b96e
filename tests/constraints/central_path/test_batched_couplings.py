"""Products of many small blocks, dense and sparse, against traces of matrices written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.couplings import BatchedCouplings


def instance(count: int, size: int, m: int, places: int) -> tuple[BatchedCouplings, np.ndarray]:
    """Couplings and the A_tk, (m, K, s, s), each constraint with entries in two neighbouring blocks."""
    rng = np.random.default_rng(count + size)
    i, j = np.triu_indices(size)
    kept = np.sort(rng.choice(len(i), min(places, len(i)), replace=False))
    i, j = i[kept], j[kept]
    entries = np.zeros((m, count, len(i)))
    for t in range(m):
        entries[t, [t % count, (t + 1) % count]] = rng.standard_normal((2, len(i)))
    A = np.zeros((m, count, size, size))
    A[:, :, i, j] += 0.5 * entries
    A[:, :, j, i] += 0.5 * entries
    return BatchedCouplings(i, j, sp.csr_array(entries.reshape(m, -1)), count), A


@pytest.mark.parametrize(("count", "size", "m", "places"), [(2, 2, 3, 3), (5, 4, 12, 6), (9, 3, 40, 6), (6, 7, 20, 5)])
@pytest.mark.parametrize("cached", [True, False])
def test_products_are_the_traces(count, size, m, places, cached, monkeypatch) -> None:
    """Also where X and Q are far from each other, and where the entries are too many for a dense array."""
    if not cached:
        monkeypatch.setattr("psdopt.linalg.arrays.CACHED", 0)
        monkeypatch.setattr("psdopt.linalg.arrays.FILLED", 0.0)
    couplings, A = instance(count, size, m, places)
    assert isinstance(couplings.forth, np.ndarray) is cached
    G, H = np.random.default_rng(1).standard_normal((2, count, size, size))
    for X, Q in ((G @ G.mT, H @ H.mT), (G @ G.mT, 1e-6 * np.eye(size) + 1e6 * H @ H.mT)):
        expected = np.einsum("skij,tkji->st", A, X @ A @ Q)
        close = {"rtol": 1e-11, "atol": 1e-12 * np.abs(expected).max()}
        assert np.allclose(couplings.dense(X, Q), expected, **close)
        found = couplings.sparse(X, Q)
        assert np.allclose(found.toarray(), expected, **close)


def test_constraints_that_share_no_block_share_no_entry() -> None:
    couplings, A = instance(10, 3, 10, 6)
    X = np.stack([np.eye(3)] * 10)
    met = np.einsum("skij,tkij->st", np.abs(A), np.abs(A)) > 0.0
    found = couplings.sparse(X, X)
    assert found.nnz == np.count_nonzero(met) == 30
    assert np.array_equal(found.toarray() != 0.0, met)
