"""Augmented Lagrangian: cost of a step as counts, penalty, trace bounds, gains of rounds, and its first phase."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.papers.sdp_low_rank import completion
from psdopt import Constrained, FlatQuotient, Outcome, State, Status, constraints, solve
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.refutation import proven_infeasible
from psdopt.certificates.constrained.scales import relative_gap, relative_violation
from psdopt.methods import AugmentedLagrangian, InteriorPoint, TruncatedNewton
from psdopt.methods.augmented_lagrangian.phase_one import distance_with, phase_one
from psdopt.methods.augmented_lagrangian.state import AugmentedLagrangianState, complementarity, unit_of
from psdopt.problems import AutogradProblem, QuadraticSDP, TermSum
from psdopt.terms import Entries, LeastSquares, LinearTerm, MeasuredTerm
from tests.methods.constrained import curved, cut


def test_work_does_not_grow_with_the_order() -> None:
    """Products with C, each O(entries · r), until the certificate holds: no more than twice at eight times n."""
    counts = []
    for n in (100, 800):
        result = solve(cut(n), FlatQuotient(n, 16), AugmentedLagrangian())
        assert result.status is Status.OPTIMAL
        counts.append(result.counts["operator_columns"])
    assert counts[1] <= 2.0 * counts[0] + 2000


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_a_start_on_which_the_gradient_vanishes_does_not_set_the_penalty(unit: float) -> None:
    """The Laplacian takes 11ᵀ to 0 up to rounding; its multipliers are not as small as that."""
    n, rng = 30, np.random.default_rng(0)
    W = np.triu(rng.random((n, n)), 1)
    laplacian = np.diag((W + W.T).sum(axis=1)) - W - W.T
    problem = Constrained(QuadraticSDP(C=-unit * laplacian), constraints.diagonal(n, 1.0))
    result = solve(problem, FlatQuotient(n, 1), AugmentedLagrangian(), start=np.ones((n, 1)), escape=True)
    known = solve(problem)
    assert result.optimal
    assert result.value == pytest.approx(known.value, rel=1e-5)


def touched(problem: Constrained, rank: int) -> float:
    """Entries of the A_t times columns that a step touches, counted where constraints are measured and pulled back."""
    measurement, counts = problem.measurement, [0.0]
    pair, along, adjoint = measurement.pair, measurement.along, measurement.adjoint

    def counted(function):
        def call(first, second, *rest):
            columns = second.factor.shape[1]
            assert columns <= rank
            counts[0] += columns * measurement.B.nnz
            return function(first, second, *rest)

        return call

    measurement.pair, measurement.along, measurement.adjoint = counted(pair), counted(along), counted(adjoint)
    n = problem.n
    geometry, method = FlatQuotient(n, rank), AugmentedLagrangian(TruncatedNewton(inner=5), inside_steps=2, grow=False)
    state = method.init(problem, geometry, np.random.default_rng(0).standard_normal((n, rank)))
    counts[0] = 0.0
    before = problem.counts()["operator_columns"]
    for _ in range(3):
        state = method.step(state)
    assert problem.counts()["operator_columns"] - before <= 3 * 2 * (5 + 8) * 3 * rank  # blocks of Y, none of n columns
    return counts[0] / 3.0


def test_a_step_is_linear_in_the_entries_of_the_constraints_at_a_fixed_rank() -> None:
    """At twice the entries a step touches twice as many, at any n; and nothing of it has n columns."""
    per_entry = []
    for n in (60, 240, 960):
        rng = np.random.default_rng(n)
        i, j = rng.integers(0, n, (2, 3 * n))
        B = sp.random_array((2 * n, 3 * n), density=2.0 / (3 * n), random_state=rng, format="csr") + sp.eye_array(
            2 * n, 3 * n
        )
        problem = Constrained(
            QuadraticSDP(C=sp.eye_array(n)),
            constraints.sparse_forms(constraints.SparseForms(i, j, B, n), lower=-1.0, upper=1.0),
        )
        per_entry.append(touched(problem, 4) / problem.measurement.B.nnz)
    assert max(per_entry) <= 4 * 2 * (5 + 3) * 2  # columns · steps inside · products and gradients · passes of each


@pytest.mark.parametrize("seed", range(4))
def test_a_curved_f_under_contradictory_limits_is_proven_infeasible_in_a_few_rounds(seed):
    """Multipliers of ten times their first size are tried as a proof: beyond that the penalty only spoils the steps."""
    n, rng = 4, np.random.default_rng(seed)
    i, j = np.triu_indices(n)
    fit = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(10.0 * rng.standard_normal(len(i))), 1.0)])
    limits = [constraints.trace(n, lower=4.02), constraints.diagonal(n, upper=1.0)]
    result = solve(Constrained(fit, limits), method=AugmentedLagrangian(), rng=0, max_iterations=100)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.constraints.infeasibility_proof is not None


@pytest.mark.parametrize("seed", range(3))
def test_a_tolerance_below_rounding_ends_at_rounding(seed) -> None:
    """The status says that no digit is left, and the certificate how many there are."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((20, 20))
    problem = Constrained(QuadraticSDP(C=G + G.T), constraints.diagonal(20, 1.0))
    result = solve(problem, method=AugmentedLagrangian(), tol=1e-16)
    assert result.status is Status.NO_PROGRESS
    assert result.iterations <= 120
    assert result.certificate.relative <= 1e-13


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_without_a_gain_are_followed_by_more_accurate_ones(seed, tol) -> None:
    """Entries are fitted, others held, and nothing bounds the trace: errors of Y alone keep S from being definite."""
    n, rng = 20, np.random.default_rng(seed)
    L = rng.standard_normal((n, 3))
    i, j = np.triu_indices(n)
    kept = rng.random(len(i)) < 0.3
    i, j = i[kept], j[kept]
    held, y = rng.random(len(i)) < 0.1, (L @ L.T)[i, j]
    fit = MeasuredTerm(Entries(i[~held], j[~held], n), LeastSquares(y[~held] + 0.1 * rng.standard_normal(sum(~held))))
    problem = Constrained(
        TermSum([fit, LinearTerm(0.05 * np.eye(n))]), constraints.entries(i[held], j[held], n, y[held])
    )
    assert problem.trace_limit is None
    assert solve(problem, method=AugmentedLagrangian(), tol=tol).status is Status.OPTIMAL


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_saddles_of_a_curved_f_are_left(seed) -> None:
    assert solve(curved(12, seed), FlatQuotient(12, 1), AugmentedLagrangian(), escape=True).status is Status.OPTIMAL


def torus(rows: int, columns: int, seed: int) -> Constrained:
    """A cut of a grid on a torus with weights ±1: solutions of small rank, and many eigenvalues of S near zero."""
    n, rng = rows * columns, np.random.default_rng(seed)
    i = np.arange(n).reshape(rows, columns)
    b = np.concatenate([np.roll(i, 1, axis=0).ravel(), np.roll(i, 1, axis=1).ravel()])
    W = sp.coo_array((rng.choice([-1.0, 1.0], 2 * n), (np.tile(i.ravel(), 2), b)), shape=(n, n)).tocsr()
    W = W + W.T
    return Constrained(QuadraticSDP(C=sp.csr_array(0.125 * W)), constraints.diagonal(n, 1.0))


def test_toruses_take_few_products_and_end_with_few_columns() -> None:
    """Steps as long as the model holds, and short columns dropped."""
    columns = 0
    for seed in range(3):
        result = solve(torus(40, 10, seed), FlatQuotient(400, 15), AugmentedLagrangian(), escape=True)
        assert result.status is Status.OPTIMAL
        assert result.state.evaluation.factor.shape[1] <= 8
        columns += result.counts["operator_columns"]
    assert columns <= 110_000


def test_where_the_rank_is_given_columns_are_kept() -> None:
    result = solve(torus(40, 10, 0), FlatQuotient(400, 15), AugmentedLagrangian(grow=False), max_iterations=40)
    assert result.state.evaluation.factor.shape == (400, 15)


def held() -> Constrained:
    """⟨C, M⟩ with M_00 = 1 and 2 M_01 <= 0.3 as ⟨A, M⟩, A of norm √2 and of norm 3."""
    C = np.diag([1.0, 2.0, 3.0, -1.0])
    second = np.zeros((4, 4))
    second[0, 1] = second[1, 0] = 1.0
    third = 3.0 * np.diag([0.0, 0.0, 1.0, 0.0])
    return Constrained(
        QuadraticSDP(C=0.5 * C),
        [
            constraints.entries([0], [0], 4, equals=1.0),
            constraints.sparse_forms([second, third], lower=[-np.inf, -1.0], upper=[0.3, 2.0]),
            constraints.trace(4, 5.0),
        ],
    )


@dataclass(frozen=True)
class Watched(AugmentedLagrangian):
    """Notes when bounds are computed, and computes none."""

    seen: list = field(default_factory=list)

    def _bound(self, state):
        self.seen.append(state.infeasibility)


def round_at(Y, method=None, **fields):
    """(the state before its round, the state after it, the method)."""
    problem, method = held(), method or Watched()
    before = method.init(problem, FlatQuotient(4, Y.shape[1]), Y)
    before = replace(before, **fields)
    after = replace(before)
    method._end_round(after)
    return before, after, method


def nearly_feasible(off: float) -> np.ndarray:
    """M_00 = 1 + off, all others within their bounds."""
    Y = np.diag(np.sqrt([1.0 + off, 1.5, 0.5, 2.0]))
    return Y * np.array([1.0, 1.0, 1.0, np.sqrt((2.0 - off) / 2.0)])  # tr M = 5


def test_multipliers_are_those_of_the_penalty_and_infeasibility_counts_their_moves() -> None:
    """y⁺ = w (a + y/w − Π(a + y/w)), w = sigma/|A_t|²; inequalities whose y still moves are not yet met."""
    Y = np.random.default_rng(0).standard_normal((4, 3))
    y, sigma = np.array([0.5, 0.4, -0.2, 0.1]), 3.0
    _, after, _ = round_at(Y, y=y, sigma=sigma, base=sigma)
    problem = held()
    M = Y @ Y.T
    a = np.array([M[0, 0], 2.0 * M[0, 1], 3.0 * M[2, 2], np.trace(M)])
    w = sigma / np.array([1.0, 2.0, 9.0, 4.0])
    lower, upper = np.array([1.0, -np.inf, -1.0, 5.0]), np.array([1.0, 0.3, 2.0, 5.0])
    z = a + y / w
    new = w * (z - np.clip(z, lower, upper))
    np.testing.assert_allclose(after.y, new, rtol=1e-10)
    np.testing.assert_array_equal(after.dual.y, after.y)
    unit = np.linalg.norm(np.clip(a, lower, upper) / np.sqrt([1.0, 2.0, 9.0, 4.0]))
    move = ((new - y) / w / np.sqrt([1.0, 2.0, 9.0, 4.0]))[1:3]
    expected = max(np.linalg.norm(move) / unit, relative_violation(problem, problem.measured(Y), Y))
    assert after.infeasibility == pytest.approx(expected, rel=1e-10)
    assert after.rounds == 1
    moved = complementarity(problem, a, y, new, w)
    assert moved == pytest.approx(np.linalg.norm(move) / unit, rel=1e-10)
    equations = Constrained(QuadraticSDP(C=np.eye(2)), constraints.diagonal(2, 1.0))
    assert complementarity(equations, np.ones(2), np.zeros(2), np.ones(2), np.ones(2)) == 0.0


def test_the_rank_that_a_caller_allows_is_the_least_of_both() -> None:
    for own, asked, most in ((None, 5, 5), (3, 5, 3), (7, 5, 5)):
        method = AugmentedLagrangian(max_rank=own).with_escape(True, asked)
        assert (method.grow, method.max_rank) == (True, most)
    assert not AugmentedLagrangian().with_escape(False, 5).grow
    assert not AugmentedLagrangian(grow=False).with_escape(True, 5).grow


def test_multipliers_of_a_method_that_came_near_are_taken_over() -> None:
    method, Y = AugmentedLagrangian(), nearly_feasible(0.0)
    own = method.init(held(), FlatQuotient(4, 4), Y)
    unit = unit_of(held(), own.evaluation)
    known = Multipliers(np.array([1.0, 0.5, 0.0, -1.0]))
    for share, taken in ((0.01, True), (10.0, False)):
        other = State(held(), own.geometry, Y, own.evaluation, gradient_norm=share * unit, dual=known)
        state = method.continued(replace(other, extras={"sigma": 77.0}))
        assert (state.dual is known, state.sigma == 77.0, state.y is known.y) == (taken, taken, taken)
    assert method.continued(replace(other, gradient_norm=0.0)).sigma == own.sigma


@pytest.mark.parametrize("low", [-0.5, 0.0])
def test_the_dual_bound_is_that_of_the_multipliers(low) -> None:
    """F(M) − ⟨∇F, M⟩ − σ(y) + λ_min(S) τ, with the trace that the constraints fix."""
    problem, Y = held(), nearly_feasible(0.0)
    method = AugmentedLagrangian(grow=False)
    y = np.array([0.0, 0.0, 0.0, 1.0 + low])  # S = C + y I, least eigenvalue low
    state = replace(method.init(problem, FlatQuotient(4, 4), Y), y=y, infeasibility=1e-9, dual=None)
    method._bound(state)
    assert state.bound == pytest.approx(-5.0 * (1.0 + low) + 5.0 * low, abs=1e-6)
    assert state.bounded == 1e-9
    assert state.dual.best is not None
    better = replace(state, bound=0.0)
    method._bound(better)
    assert better.bound == 0.0


def test_runs_end_at_once_where_nothing_or_zero_alone_is_feasible() -> None:
    F = QuadraticSDP(C=np.eye(2))
    nothing = Constrained(F, constraints.trace(2, -1.0))
    zero = Constrained(F, constraints.trace(2, 0.0))
    some = Constrained(F, constraints.trace(2, 1.0))
    assert nothing.contradiction is not None or nothing.only_zero
    for problem, outcome in ((nothing, Outcome.FINISHED), (zero, Outcome.FINISHED), (some, Outcome.RUNNING)):
        assert AugmentedLagrangian().init(problem, FlatQuotient(2, 1), np.ones((2, 1))).outcome is outcome


def begun(length: float = 1.0) -> AugmentedLagrangianState:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.diagonal(3, 1.0))
    evaluation = problem.at(length * np.eye(3))
    return AugmentedLagrangianState(problem, FlatQuotient(3, 3), evaluation.factor, evaluation, gradient_norm=1.0)


@pytest.mark.parametrize("what", ["infeasibility", "gap", "columns"])
def test_any_gain_begins_the_count_anew(what: str) -> None:
    run = begun()
    run.infeasibility = 1e-3
    run.note_progress(1e-2, 25)
    run.note_progress(1e-2, 25)
    assert run.idle == 1
    run.infeasibility *= 0.5 if what == "infeasibility" else 1.0
    run.grown = what == "columns"
    run.note_progress(0.5e-2 if what == "gap" else 1e-2, 25)
    assert run.idle == 0


def test_vanished_is_relative_to_the_first_length() -> None:
    run = begun(1e-7)
    run.first_length = 1.0
    assert run.vanished
    run.first_length = 1e-7
    assert not run.vanished


@pytest.mark.parametrize("seed", range(5))
def test_feasible_points_are_found(seed) -> None:
    """Equations, bounds on one side and on two, rows scaled by 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    G = rng.standard_normal((8, 3))
    A = [H + H.T for H in rng.standard_normal((6, 8, 8))]
    a = np.array([np.sum(each * (G @ G.T)) for each in A])
    scale = 10.0 ** rng.integers(-6, 7, 6)
    scaled = [s * each for s, each in zip(scale, A, strict=True)]
    groups = [
        constraints.sparse_forms(scaled[:2], scale[:2] * a[:2]),
        constraints.sparse_forms(scaled[2:4], upper=scale[2:4] * a[2:4]),
        constraints.sparse_forms(A[4:], lower=a[4:] - 0.1, upper=a[4:] + 0.1),
        constraints.trace(8, float(np.sum(G * G))),
    ]  # fmt: skip
    problem = Constrained(QuadraticSDP(C=np.eye(8)), groups)
    Y, _ = phase_one(problem)
    assert relative_violation(problem, problem.measured(Y), Y) <= 1e-8


def test_multipliers_of_the_nearest_point_refute() -> None:
    minor = [constraints.entries([0, 0], [0, 1], 8, [1.0, 3.0]), constraints.entries([1], [1], 8, upper=2.0)]
    problem = Constrained(QuadraticSDP(C=np.eye(8)), minor)
    Y, y = phase_one(problem)
    assert relative_violation(problem, problem.measured(Y), Y) > 0.1
    assert proven_infeasible(problem, [y]) is not None


def test_the_distance_from_matrices_of_few_columns_is_that_of_the_entries_they_cannot_have() -> None:
    """Zero for entries of a matrix of rank three, to `enough`; for noise as large as the entries, most of them."""
    exact, noisy = completion(30), completion(30, noise=2.0)
    assert distance_with(exact, 8, 1e-2) <= 1e-2
    assert distance_with(exact, 8, 1e-6) <= 1e-6
    assert distance_with(exact, 1, 1e-6) > 0.5
    far = [distance_with(noisy, r, 1e-6) for r in (1, 4, 30)]
    assert far[0] > far[1] > 0.2
    assert far[2] <= 1e-6
    empty = Constrained(QuadraticSDP(C=np.eye(4)), constraints.entries([0], [1], 4, 0.0))
    assert np.isfinite(distance_with(empty, 2, 1e-3))


def test_f_is_not_evaluated() -> None:
    calls = []

    def value(M):
        calls.append(1)
        return (M**2).sum()

    problem = Constrained(AutogradProblem(value, 4, convex=True), constraints.diagonal(4, 1.0))
    before = len(calls)
    phase_one(problem)
    assert len(calls) == before


def test_a_completion_takes_few_rounds_and_ends_with_its_rank() -> None:
    """Rows of the factor have their own systems, and columns that are not needed go: 8 rounds, each of a few steps."""
    work = []
    for n in (60, 120):
        problem = completion(n, 2, 8.0)
        result = solve(problem, rng=0)
        assert result.method == "AugmentedLagrangian"
        assert result.status is Status.OPTIMAL
        assert result.matrix.rank == 2
        assert result.certificate.dual_infeasibility == 0.0
        assert result.certificate.dual_value <= result.value
        extras = result.history.records[-1]
        assert extras["rounds"] <= 12
        assert extras["inside_steps"] <= 50
        work.append(extras["inside_steps"])
    assert work[1] <= work[0] + 15  # steps do not grow with the order


def test_the_penalty_waits_where_the_slack_spoils_the_bound() -> None:
    """Below four times the degrees of freedom solutions have more columns than X: S is indefinite until they are there,
    and a larger penalty would make its errors larger."""
    problem, rank = completion(60, 2, 3.0), 8
    method = AugmentedLagrangian()
    start = np.random.default_rng(0).standard_normal((problem.n, rank))
    state = method.init(problem, FlatQuotient(problem.n, rank), start)
    waited = 0
    while state.rounds < 12 and state.outcome is Outcome.RUNNING:
        before, state = state, method.step(state)
        if state.rounds == before.rounds or state.grown or not -np.inf < state.bound < state.evaluation.value:
            continue
        gap = relative_gap(problem, state.evaluation, state.bound)
        if state.infeasibility <= method.bounds_from and gap > 2.0 * state.infeasibility:
            assert state.sigma == before.sigma
            waited += 1
    assert waited > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_completion_of_noisy_entries_gets_the_columns_that_its_constraints_need(seed) -> None:
    """Exact rows of a matrix of full rank: no M of the first rank meets them, so that columns come before M is near."""
    rng, n = np.random.default_rng(seed), 30
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, n)) + 0.1 * rng.standard_normal((n, n))
    i, j = np.divmod(rng.permutation(n * n)[: n * n // 2], n)
    problem = Constrained(QuadraticSDP(C=0.5 * np.eye(2 * n)), constraints.entries(i, j + n, 2 * n, equals=X[i, j]))
    start = rng.standard_normal((2 * n, 3))
    result = solve(problem, FlatQuotient(2 * n, 3), AugmentedLagrangian(), start=start, escape=True)
    assert result.status is Status.OPTIMAL
    assert result.matrix.rank > 10
    assert result.history.records[-1]["rounds"] <= 40
    assert result.value == pytest.approx(solve(problem, method=InteriorPoint()).value, rel=3e-6)


@pytest.mark.parametrize("seed", [3, 9, 53, 78])
@pytest.mark.parametrize("curved", [False, True])
def test_a_round_ends_where_m_vanishes(seed: int, curved: bool) -> None:
    """For the first multipliers M = 0 is best: no steps to |Y| = 1e-160, from which others overflow, but new ones."""
    rows = constraints.sparse_forms([np.diag([5.0, 1, 1]), np.diag([1.0, 7, 1])], lower=1.0, upper=20.0)
    C = np.random.default_rng(seed).standard_normal((3, 3))
    problem = Constrained(QuadraticSDP(A=np.eye(3) * curved, C=(C + C.T) / 2 + 4.0 * np.eye(3)), rows)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.iterations <= 15
