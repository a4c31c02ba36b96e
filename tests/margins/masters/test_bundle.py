"""Columns and the aggregate of those that were dropped: the matrix and its margins stay."""

import numpy as np
import pytest

from psdopt.margins.masters import Bundle
from psdopt.margins.masters.growth import grown
from tests.margins.instances import only


@pytest.mark.parametrize("aggregated", [False, True])
def test_aggregation_keeps_the_matrix_and_its_margins(aggregated):
    problem, rng = only(d=8, m=30), np.random.default_rng(3)
    V = np.linalg.qr(rng.standard_normal((8, 6)))[0]
    bundle, T = Bundle(problem.at(V)), np.diag(rng.dirichlet(np.ones(6)))
    if aggregated:
        bundle, T, _ = grown(bundle, T, np.linalg.qr(rng.standard_normal((8, 2)))[0], 5)
        assert bundle.aggregated
        T = 0.7 * T + 0.3 * np.diag(rng.dirichlet(np.ones(bundle.order)))
    before = bundle.matrix(T, 1.0, -np.inf if aggregated else 0.0).factor
    M = before @ before.T
    margins = problem.margins().values(problem.at(before))
    squares = bundle.squares(problem.margins())
    assert np.allclose(squares.forms(T), margins, atol=1e-5)
    small, T2, wider = grown(bundle, T, rng.standard_normal((8, 2)), 5)
    assert wider
    assert small.width <= 5
    assert small.order == len(T2)
    after = small.evaluation.mix(
        np.linalg.cholesky(_expanded(small, T2) + 1e-14 * np.eye(small.evaluation.factor.shape[1]))
    )
    assert np.allclose(after.factor @ after.factor.T, M, atol=1e-5)
    assert np.allclose(small.squares(problem.margins()).forms(T2), margins, atol=1e-5)
    assert np.allclose(small.columns.T @ small.columns, np.eye(small.width), atol=1e-10)


def _expanded(bundle, T):
    """Weights of the factor's columns: θ on each of the aggregate's, T on the others."""
    q = bundle.aggregated
    W = np.zeros((q + bundle.width,) * 2)
    W[:q, :q] = T[0, 0] * np.eye(q)
    W[q:, q:] = T[bundle.order - bundle.width :, bundle.order - bundle.width :]
    return W
