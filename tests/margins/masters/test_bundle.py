"""Columns and the aggregate of those that were dropped: the matrix and its margins stay."""

import numpy as np
import pytest

from psdopt import solve
from psdopt.geometries import Spectraplex
from psdopt.margins.masters import Bundle
from psdopt.methods import ColumnGeneration
from tests.margins.instances import only


@pytest.mark.parametrize("aggregated", [False, True])
def test_aggregation_keeps_the_matrix_and_its_margins(aggregated):
    problem, rng = only(d=8, m=30), np.random.default_rng(3)
    V = np.linalg.qr(rng.standard_normal((8, 6)))[0]
    bundle, T = Bundle(problem.at(V)), np.diag(rng.dirichlet(np.ones(6)))
    if aggregated:
        bundle, T, _ = bundle.grown(T, np.linalg.qr(rng.standard_normal((8, 2)))[0], 5)
        assert bundle.aggregated
        T = 0.7 * T + 0.3 * np.diag(rng.dirichlet(np.ones(bundle.order)))
    before = bundle.matrix(T, 1.0, -np.inf if aggregated else 0.0).factor
    M = before @ before.T
    margins = problem.margins().values(problem.at(before))
    squares = bundle.squares(problem.margins())
    assert np.allclose(squares.forms(T), margins, atol=1e-5)
    small, T2, wider = bundle.grown(T, rng.standard_normal((8, 2)), 5)
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


def test_blocks_stay_small_and_what_left_them_still_counts():
    """Narrower than n, the master ends at the optimum; dropped instead of aggregated, values could get worse."""
    problem = only(d=12, m=60, seed=4)
    exact = solve(problem, Spectraplex(12), ColumnGeneration(), tol=1e-7)
    width = exact.matrix.compress(1e-6).rank + 4
    assert width < 12
    result = solve(
        problem, Spectraplex(12), ColumnGeneration(columns=3, max_columns=width), tol=1e-4, max_iterations=100
    )
    records = result.history.records
    assert result.optimal
    assert all(record["generated"] <= width for record in records)
    assert any(record["aggregated"] > 0 for record in records)
    share, Y = result.state.aggregate
    assert 0.0 <= share <= 1.0
    assert np.isclose(np.linalg.norm(Y), 1.0)
    T, V = result.state.theta, result.state.columns
    assert np.isclose(np.trace(T) + share, 1.0)
    assert T.shape == (V.shape[1],) * 2
