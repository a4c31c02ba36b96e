"""Masters: their interior point and its systems, columns and the aggregate of those dropped, margins that count."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import ColumnGeneration, Spectraplex, Status, solve
from psdopt.margins import CappedMargin, SignedSquares
from psdopt.margins.masters import BlockMaster, Bundle, Unsolved
from psdopt.margins.masters.base import FEWEST_ROWS, widest_block, working_rows
from psdopt.margins.masters.newton_system import MOST_ROWS, NewtonSystem
from tests.margins.instances import check_bounds, instance, matrices, only


def test_block_master_stops_at_the_gap_it_is_given():
    problem, _, _ = instance(d=7, m=50, seed=9)
    squares = problem.margins().squares(problem.at(np.eye(7)))
    best = None
    for gap in (1e-1, 1e-3, 1e-6):
        answer = BlockMaster().solve(squares, problem.loss, gap)
        primal = -problem.loss.value(squares.forms(answer.weights))
        dual = np.linalg.eigvalsh(squares.combination(answer.dual / answer.dual.sum()))[-1]
        assert primal - 1e-12 <= dual <= primal + gap
        assert np.linalg.eigvalsh(answer.weights)[0] > 0.0
        best = answer if best is None or answer.steps >= best.steps else best
    assert best.steps > 0
    warm = BlockMaster().solve(squares, problem.loss, 1e-6, (best.weights, best.dual))
    assert warm.steps <= best.steps


@pytest.mark.parametrize("spread", [0.0, 3.0, 6.0])
@pytest.mark.parametrize("k", [2, 9])
def test_newton_system_is_solved(spread, k):
    rng = np.random.default_rng(k)
    signs = sp.csr_array((np.tile([1.0, -1.0], 45), np.arange(90), np.arange(0, 91, 2)), shape=(45, 90))
    squares, E = SignedSquares(rng.standard_normal((90, k)), signs), 10.0 ** rng.uniform(-spread, spread, 45)
    system, r = NewtonSystem(squares, E), rng.standard_normal(45)
    x = system.solve(r)
    dense = squares.gram() + np.diag(E)
    exact = np.linalg.solve(dense, r)
    assert (x - exact) @ dense @ (x - exact) <= 1e-8 * (exact @ dense @ exact)


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
    problem, X, t = instance(d=12, m=60, seed=4)
    exact = solve(problem, Spectraplex(12), ColumnGeneration(), tol=1e-7)
    width = exact.matrix.compress(1e-6).rank + 4
    assert width < 12
    result = solve(
        problem, Spectraplex(12), ColumnGeneration(columns=3, max_columns=width), tol=1e-4, max_iterations=100
    )
    records = result.history.records
    assert result.optimal
    check_bounds(problem, result, matrices(X, t))
    assert all(record["generated"] <= width for record in records)
    assert any(record["aggregated"] > 0 for record in records)
    share, Y = result.state.aggregate
    assert 0.0 <= share <= 1.0
    assert np.isclose(np.linalg.norm(Y), 1.0)
    T, V = result.state.theta, result.state.columns
    assert np.isclose(np.trace(T) + share, 1.0)
    assert T.shape == (V.shape[1],) * 2


def test_a_run_ends_with_the_best_matrix_when_its_master_gives_up(monkeypatch):
    method = ColumnGeneration()
    problem = only(d=6, m=80)
    whole = solve(problem, Spectraplex(6), method, tol=1e-6)
    assert whole.iterations >= 2
    right, calls = BlockMaster.solve, []

    def gives_up(self, *given, **named):
        calls.append(1)
        if len(calls) == whole.iterations:
            raise Unsolved("not solved")
        return right(self, *given, **named)

    monkeypatch.setattr(BlockMaster, "solve", gives_up)
    result = solve(problem, Spectraplex(6), method, tol=1e-12)
    assert result.status is Status.NO_PROGRESS
    # one round short of the optimum, and better than before the first
    assert whole.value <= result.value + 1e-12
    assert result.value < result.history.records[0]["value"]
    assert result.value == pytest.approx(min(record["value"] for record in result.history.records), rel=1e-14)
    assert result.certificate.gap is not None


def test_many_margins_bound_the_width_that_is_factorised():
    many = 20 * MOST_ROWS
    assert widest_block(CappedMargin(many, 10.0 / MOST_ROWS)) > many
    width = widest_block(CappedMargin(many, 0.1 / MOST_ROWS))
    assert width**2 <= 2 * MOST_ROWS  # the entries of one block are as many as rows that are factorised
    assert widest_block(CappedMargin(MOST_ROWS, 1.0 / MOST_ROWS)) > width


def test_a_master_looks_at_low_margins_at_those_that_carry_weight_and_at_those_before():
    rng, m = np.random.default_rng(0), 3 * FEWEST_ROWS
    loss, a, w = CappedMargin(m, 0.5), rng.permutation(m).astype(float), np.zeros(m)
    highest = np.argsort(a)[-3:]
    w[highest] = 0.5, 1e-9, 0.0
    rows = working_rows(a, w, loss, 0.0, None)
    assert np.all(rows[a <= FEWEST_ROWS])
    assert rows[highest].tolist() == [True, False, False]
    assert np.count_nonzero(rows) == FEWEST_ROWS + 2
    before = a > m - 2.5
    assert np.array_equal(working_rows(a, w, loss, 0.0, before), rows | before)
    assert np.all(working_rows(a[:FEWEST_ROWS], w[:FEWEST_ROWS], CappedMargin(FEWEST_ROWS, 0.5), 0.0, None))


def test_far_from_the_end_only_large_weights_keep_a_margin():
    m = 3 * FEWEST_ROWS
    loss, a, w = CappedMargin(m, 0.5), np.arange(m, dtype=float), np.zeros(m)
    w[-1] = 0.1
    assert working_rows(a, w, loss, 0.0, None)[-1]
    assert not working_rows(a, w, loss, 1.0, None)[-1]
