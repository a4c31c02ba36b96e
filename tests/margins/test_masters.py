"""Masters of column generation: solvers against each other, quadratic programs by their conditions, aggregation."""

import numpy as np
import pytest

from psdopt import MarginProblem, Status, solve
from psdopt.geometries import Spectraplex
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters import BlockMaster, Bundle, LPMaster, Unsolved
from psdopt.margins.masters.growth import grown_block, grown_linear, squares_of
from psdopt.margins.masters.selection import widest_block
from psdopt.methods import ColumnGeneration
from psdopt.terms.measurements import TripletDifferences
from psdopt_plugins.pair_sampling import nearest_triplets

EPS = np.finfo(float).eps


def instance(d=6, m=40, nu=0.2, seed=0, samples=25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d))
    t = np.array([rng.choice(samples, 3, replace=False) for _ in range(m)])
    return MarginProblem(TripletDifferences(*t.T, X), 1.0 / (nu * m))


def gap_of(squares, loss, answer):
    """λ_max(Σ w_r A_r) − (best margin at T), recomputed: what the two multipliers prove of each other."""
    upper = np.linalg.eigvalsh(squares.combination(answer.dual))[-1]
    return upper + loss.value(squares.forms(answer.weights))


@pytest.mark.parametrize("aggregated", [False, True])
def test_aggregation_keeps_the_matrix_and_its_margins(aggregated):
    problem, rng = instance(d=8, m=30), np.random.default_rng(3)
    V = np.linalg.qr(rng.standard_normal((8, 6)))[0]
    bundle, T = Bundle(problem.at(V)), np.diag(rng.dirichlet(np.ones(6)))
    if aggregated:
        bundle, T, _ = grown_block(bundle, T, np.linalg.qr(rng.standard_normal((8, 2)))[0], 5)
        assert bundle.aggregated
        T = 0.7 * T + 0.3 * np.diag(rng.dirichlet(np.ones(bundle.order)))
    before = bundle.matrix(T, 1.0, -np.inf if aggregated else 0.0).factor
    M = before @ before.T
    margins = problem.margins().values(problem.at(before))
    squares = bundle.squares(problem.margins())
    assert np.allclose(squares.forms(T), margins, atol=1e-5)
    small, T2, grown = grown_block(bundle, T, rng.standard_normal((8, 2)), 5)
    assert grown
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


def test_a_full_linear_program_aggregates_what_weighs_least():
    problem, rng = instance(d=8, m=30), np.random.default_rng(3)
    V = rng.standard_normal((8, 6))
    V /= np.linalg.norm(V, axis=0)
    bundle, theta = Bundle(problem.at(V)), np.array([0.4, 0.0, 0.1, 0.2, 0.3, 0.0])
    margins = squares_of(problem.margins(), bundle)
    new = np.eye(8)[:, :1]
    small, T, kept = grown_linear(bundle, margins, np.diag(theta), new, 6, problem, problem.margins())
    assert small.width == 4  # three of the old, one new
    assert np.allclose(np.diag(T), [0.1, 0.4, 0.2, 0.3, 0.0])
    assert len(kept) == small.order == 5
    assert np.allclose(np.diag(T) @ np.array(kept), theta @ np.array(margins))
    assert all(np.allclose(a, b) for a, b in zip(kept, squares_of(problem.margins(), small), strict=True))


def test_blocks_stay_small_and_what_left_them_still_counts():
    """Narrower than n, the master ends at the optimum; dropped instead of aggregated, values could get worse."""
    problem = instance(d=12, m=60, seed=4)
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
    lp = solve(
        problem, Spectraplex(12), ColumnGeneration(master="lp", max_columns=40),
        tol=1e-3, max_iterations=90,
    )  # fmt: skip
    assert all(record["generated"] <= 40 for record in lp.history.records)
    assert lp.history.records[-1]["gap"] < 0.1 * lp.history.records[30]["gap"]


def test_by_default_the_block_has_six_times_the_columns_of_a_round_at_most():
    problem = instance(d=90, m=300, seed=4, samples=150)
    result = solve(problem, Spectraplex(90), ColumnGeneration(), tol=1e-4, max_iterations=60)
    assert result.optimal
    assert all(record["generated"] <= 6 * 15 for record in result.history.records)
    assert result.iterations <= 60


def test_rounds_at_550_triplets_in_24_dimensions():
    """Overlapping classes and an optimum close to zero: where the printed algorithm needs more than 1,000 rounds."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = 0.3 * rng.standard_normal((2, 24))[y] + rng.standard_normal((600, 24))
    rows = nearest_triplets(X, y, 1)[rng.permutation(600)[:550]]
    problem = MarginProblem(TripletDifferences(*rows.T, X), 1.0 / 55)
    result = solve(problem, Spectraplex(24), ColumnGeneration(), tol=1e-4, max_iterations=60)
    assert result.optimal
    assert result.iterations <= 20
    plain = ColumnGeneration(master="lp", stabilization="none")
    assert solve(problem, Spectraplex(24), plain, tol=1e-4, max_iterations=60).certificate.relative > 1.0


def test_many_margins_bound_the_width_that_is_factorised():
    assert widest_block(CappedMargin(10_000, 1e-3)) > 10_000
    assert widest_block(CappedMargin(100_000, 1e-4)) <= 130


@pytest.mark.parametrize(
    ("method", "master"), [(ColumnGeneration(master="lp"), LPMaster), (ColumnGeneration(), BlockMaster)]
)
def test_a_run_ends_with_the_best_matrix_when_its_master_gives_up(method, master, monkeypatch):
    problem = instance(d=6, m=80)
    whole = solve(problem, Spectraplex(6), method, tol=1e-6)
    assert whole.iterations >= 2
    right, calls = master.solve, []

    def gives_up(self, *given, **named):
        calls.append(1)
        if len(calls) == whole.iterations:
            raise Unsolved("not solved")
        return right(self, *given, **named)

    monkeypatch.setattr(master, "solve", gives_up)
    result = solve(problem, Spectraplex(6), method, tol=1e-12)
    assert result.status is Status.NO_PROGRESS
    # one round short of the optimum, and better than before the first
    assert whole.value <= result.value + 1e-12
    assert result.value < result.history.records[0]["value"]
    assert result.value == pytest.approx(min(record["value"] for record in result.history.records), rel=1e-14)
    assert result.certificate.gap is not None
