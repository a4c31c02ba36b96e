"""Tests of topk.py against LAPACK."""

import numpy as np
import pytest

from psdopt.linalg.leading import top_eigenpairs


@pytest.mark.parametrize("spectrum", ["indefinite", "few positive", "negative", "low rank", "zero"])
@pytest.mark.parametrize(("n", "k"), [(60, 5), (600, 10)])
def test_objective_and_orthonormality(spectrum, n, k):
    rng = np.random.default_rng(2)
    values = {
        "indefinite": rng.standard_normal(n),
        "few positive": np.r_[3.0, 2.0, 1.0, -rng.random(n - 3)],
        "negative": -rng.random(n),
        "low rank": np.r_[np.arange(1.0, k), np.zeros(n + 1 - k)],
        "zero": np.zeros(n),
    }[spectrum]
    F = np.linalg.qr(rng.standard_normal((n, n)))[0]
    K = (F * values) @ F.T
    K = 0.5 * (K + K.T)
    top = top_eigenpairs(K, k)
    expected = np.sort(values[values > 0])[::-1][:k]
    assert top.converged
    assert top.values.size == expected.size
    assert expected.sum() * (1 - 1e-6) <= top.values.sum() + 1e-300
    assert top.values.sum() <= expected.sum() * (1 + 1e-12)
    assert np.abs(top.vectors.T @ top.vectors - np.eye(expected.size)).max(initial=0.0) < 1e-12
    residual = np.linalg.norm(K @ top.vectors - top.vectors * top.values, axis=0)
    np.testing.assert_allclose(top.residuals, residual, atol=1e-12)


def test_refusals_and_budget():
    with pytest.raises(ValueError, match="square"):
        top_eigenpairs(np.ones((3, 2)), 1)
    with pytest.raises(FloatingPointError):
        top_eigenpairs(np.full((5, 5), np.nan), 1)
    K = np.diag(np.linspace(0.0, 1.0, 700))
    short = top_eigenpairs(K, 10, max_products=60)
    assert not short.converged
    assert short.products <= 60
