"""Unknowns as affine functions of slacks: the rows that define them, and which need a factor."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from psdopt.interop._elimination import eliminate
from psdopt.linalg.tolerances import ROOT_EPS


@pytest.mark.parametrize("seed", range(60))
def test_rows_define_as_many_unknowns_as_their_rank_and_hold_for_all_slacks(seed) -> None:
    rng = np.random.default_rng(seed)
    rows, unknowns = rng.integers(2, 14, 2)
    A = rng.standard_normal((rows, unknowns)) * (rng.random((rows, unknowns)) < (0.15, 0.3, 0.6)[seed % 3])
    if seed % 4 == 0:
        A[-1] = 2.0 * A[0]
    b, order = rng.standard_normal(rows), rng.integers(-1, 3, rows) if seed % 2 else np.zeros(rows, dtype=np.intp)
    found = eliminate(sp.csr_array(A), b, order)
    rank = np.linalg.matrix_rank(A[order >= 0])
    assert np.count_nonzero(found.used) == rank
    assert not np.any(found.used & (order < 0))
    assert found.Z.shape == (unknowns, unknowns - rank)
    s, u = rng.standard_normal(rows), rng.standard_normal(unknowns - rank)
    x = found.offset + found.K @ s + found.Z @ u
    assert np.array_equal(x[found.free], u)
    assert np.allclose((A @ x + s)[found.used], b[found.used], rtol=0.0, atol=ROOT_EPS * (1.0 + np.abs(x).max()))


@pytest.mark.parametrize("small", [True, False])
def test_rows_with_unknowns_of_their_own_need_no_factor(small, monkeypatch) -> None:
    """Residuals of squares, y = X − S, and differences of these: z_k = y_k − y_{k + 1}."""
    monkeypatch.setattr(scipy.linalg, "qr", lambda *_, **__: pytest.fail("a factor"))
    n = 5 if small else 200
    one, none = sp.eye_array(n), sp.csr_array((n, n))
    differences = sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(n, n))
    A = sp.csr_array(sp.block_array([[one, -one, none], [none, differences, -one]]))
    found = eliminate(A, np.zeros(2 * n), np.zeros(2 * n, dtype=np.intp))
    assert np.all(found.used)
    assert found.Z.shape[1] == n
    assert abs(A @ found.Z).max() == 0.0
    assert found.Z.nnz <= 4 * n
