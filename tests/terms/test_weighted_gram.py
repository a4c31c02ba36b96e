"""Weighted Gram forms where random signs find the trace exactly."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from psdopt.terms.forms import GramForm, MatrixForm
from psdopt.terms.weighted_gram import WeightedGramForm
from tests.terms.dense_forms import M, N


def test_probed_traces_are_exact_where_random_signs_are():
    """sᵀAs = tr A for diagonal A, |X s|² = |X|² for orthogonal columns of X, whatever the signs s."""
    d = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
    assert MatrixForm(aslinearoperator(np.diag(d)), 2.0).full_trace() == pytest.approx(2.0 * d.sum(), rel=1e-14)
    np.testing.assert_allclose(MatrixForm(aslinearoperator(np.diag(d))).diagonal(), np.full(N, d.mean()))
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((M, N)))[0] * d
    assert GramForm(aslinearoperator(X), 0.5).full_trace() == pytest.approx(0.5 * np.sum(d**2), rel=1e-13)
    diagonal = WeightedGramForm(aslinearoperator(np.vstack([np.diag(d), np.zeros((3, N))])), np.diag(np.arange(9.0)))
    assert diagonal.full_trace() == pytest.approx(np.sum(np.arange(6.0) * d**2), rel=1e-13)
