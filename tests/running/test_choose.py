"""What is chosen where nothing is said, and what fits together: told before work, and a refusal leads somewhere."""

import itertools
import math

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import cKDTree

from benchmarks.choices import drawn
from benchmarks.papers.sdp_graphs import theta
from benchmarks.papers.sdp_low_rank import completion, sensors
from psdopt import (
    ConjugateGradient,
    Constrained,
    DualNewton,
    EigenSplitting,
    EntryFit,
    InteriorPoint,
    LagrangeNewton,
    Status,
    TruncatedNewton,
    constraints,
    solve,
)
from psdopt.contracts.abilities import MEMBERS, Ability
from psdopt.errors import IncompatibleError
from psdopt.geometries import FlatQuotient, PSDCone, Spectraplex
from psdopt.margins.problem import MarginProblem
from psdopt.methods import ADMM, BILGO, Alternating, AugmentedLagrangian, BoundaryPoint, ColumnGeneration
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt.methods.primal_dual import dual_values
from psdopt.problems import AutogradProblem, QuadraticSDP, TermSum
from psdopt.problems.quadratic_sdp import QuadraticStarts
from psdopt.running.choose import FOR_HINGES, LARGE, LIMITED, SECOND_ORDER, choose, first_rank, wide_atoms
from psdopt.running.compatibility import compatible, fits
from psdopt.running.thresholds import THRESHOLDS
from psdopt.terms import Entries, LeastSquares, LinearTerm, MeasuredTerm, PairDistances, QuadraticForms, SquaredHinge
from tests.instances import psd, symmetric

N = 6


def problem() -> QuadraticSDP:
    return QuadraticSDP(A=np.eye(N), C=-np.diag(np.arange(1.0, N + 1.0)))


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (128, 128), (129, 40), (10_000, 100)])
def test_first_rank(n, rank):
    assert first_rank(n) == rank


def test_what_was_chosen_is_named():
    geometry, method, chosen = choose(problem(), FlatQuotient(N, 2), None)
    assert chosen == ("method",)
    assert Ability.STRAIGHT in geometry.abilities
    assert method.descends
    geometry, method, chosen = choose(problem(), None, ConjugateGradient())
    assert chosen == ("geometry",)
    assert geometry.rank == N
    assert choose(problem(), geometry, method)[2] == ()


def test_under_a_limit_of_the_rank_that_hardly_binds_lagranges_conditions_get_a_hundred_steps():
    """Solutions for 66 measurements have up to 11 columns."""
    n, rng = 12, np.random.default_rng(3)
    i, j = np.triu_indices(n, 1)
    fit = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(rng.uniform(-1.0, 1.0, len(i))), 1.0)])
    unlimited = choose(fit, None, None)[1]
    assert isinstance(unlimited.second, InteriorPoint)
    assert unlimited == choose(fit, None, None, n)[1]  # which is none
    assert [choose(fit, None, None, most)[1] is LIMITED for most in (1, 2, 3, 11)] == [False, False, True, True]
    result, other = solve(fit, max_rank=3, rng=0), solve(fit, method=LagrangeNewton(), max_rank=3, rng=0)
    assert result.status is Status.STATIONARY
    assert result.value <= other.value + 1e-6 * abs(other.value)


def test_newton_steps_follow_a_hundred_others_on_large_factors():
    """Squared hinges that conjugate gradient alone does not prove in 2,000 steps."""
    n, rng = 411, np.random.default_rng(0)
    X, signs = rng.standard_normal((4 * n, n)), np.where(rng.random(4 * n) < 0.5, -1.0, 1.0)
    hinges = MeasuredTerm(QuadraticForms(X), SquaredHinge(1.0 + rng.random(len(X)), signs), 1.0 / len(X))
    F = TermSum([hinges, LinearTerm(0.01 * np.eye(n))])
    assert choose(F, None, None)[0].rank * n > THRESHOLDS.second_order
    assert choose(F, None, None)[1] is LARGE
    assert choose(TermSum([LinearTerm(np.eye(n))]), FlatQuotient(n, 40), None)[1].name == "ConjugateGradient"
    result = solve(F, rng=0, max_iterations=300)
    assert result.optimal
    assert [record["phase"] for record in result.history.records][:101] == [0.0] * 101


def test_more_measurements_than_m_has_entries_are_left_to_steps_on_a_factor():
    """A system whose order is their number would exceed all of M: 15 entries, and Newton's step has n r unknowns."""
    n, rng = 5, np.random.default_rng(0)
    for m, few in ((15, True), (60, False)):
        X = rng.standard_normal((m, n))
        fit = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares((X @ rng.standard_normal(n)) ** 2), 1.0 / m)])
        method = choose(fit, FlatQuotient(n, 2), None)[1]
        assert isinstance(method, LagrangeNewton) == few
        assert (method is SECOND_ORDER) != few
        assert solve(fit, FlatQuotient(n, 2), rng=0).optimal


def test_few_steps_are_taken_on_the_face_that_constraints_leave():
    """M_00 + M_11 − 2 M_01 = 0 has no strictly feasible M: beside the face rounds take thousands of steps."""
    n, rng = 4, np.random.default_rng(2)
    i, j = np.triu_indices(n, 1)
    fit = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(rng.uniform(-1.0, 1.0, len(i))), 1.0)])
    limits = [constraints.distances([0], [1], 0.0, n=n), constraints.diagonal(n, upper=1.0)]
    hard = Constrained(fit, limits)
    result = solve(hard, rng=0)
    M = result.matrix.to_dense()
    assert result.status is Status.OPTIMAL
    assert result.iterations < 100
    assert abs(M[0, 0] + M[1, 1] - 2.0 * M[0, 1]) < 1e-6


def test_a_distance_of_weighted_entries_begins_with_steps_to_the_nearest_feasible_matrix():
    """Not for squared distances, which meet in entries, nor under a limit of the rank."""
    n, rng = 12, np.random.default_rng(0)
    i, j = np.triu_indices(n, 1)
    ones = constraints.diagonal(n, 1.0)
    entries = Constrained(EntryFit(None, i[::2], j[::2], rng.uniform(-1.0, 1.0, len(i[::2])), n=n), ones)
    geometry, method, _ = choose(entries, None, None)
    assert isinstance(method, Alternating)
    assert isinstance(method.first, DualNewton)
    assert geometry.r == n
    assert isinstance(choose(entries, PSDCone(n), None)[1], DualNewton)
    assert isinstance(choose(entries, None, None, 3)[1], AugmentedLagrangian)
    squares = LeastSquares(rng.random(len(i)))
    lengths = Constrained(TermSum([MeasuredTerm(PairDistances(i, j, n=n), squares)]), constraints.trace(n, 9.0))
    assert isinstance(choose(lengths, None, None)[1], AugmentedLagrangian)
    assert solve(entries, rng=0).optimal


def test_a_distance_on_a_face_is_no_matter_for_its_dual():
    """⟨11ᵀ, M⟩ = 0 leaves a face, on which the dual of the distance has no minimiser: 971 steps of DualNewton."""
    n, rng = 30, np.random.default_rng(7)
    G = rng.standard_normal((n, n))
    distance = QuadraticSDP(B=0.5, C=-0.25 * (G + G.T))
    two = constraints.entries([0, 1], [1, 2], n, lower=0.1, upper=0.1)
    hard = Constrained(distance, [constraints.sparse_forms([np.ones((n, n))], [0.0]), two])
    assert not isinstance(choose(hard, None, None)[1], DualNewton)
    assert isinstance(choose(hard, PSDCone(n), None)[1], DualNewton)  # a geometry that is given is kept
    assert isinstance(choose(Constrained(distance, two), None, None)[1], DualNewton)
    result = solve(hard, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.iterations < 50
    assert abs(np.sum(result.matrix.to_dense())) < 1e-6


def triangles(n, rng):
    """Max-cut of a random graph with every triangle inequality, 4 (n over 3) of them beside n equations."""
    A = np.triu(rng.random((n, n)) < 0.5, 1)
    L = np.diag((A + A.T).sum(axis=0)) - (A + A.T)
    forms = []
    for i, j, k in itertools.combinations(range(n), 3):
        for s, t in itertools.product((1.0, -1.0), repeat=2):
            B = np.zeros((n, n))
            B[i, j], B[i, k], B[j, k] = s, t, s * t
            forms.append(sp.csr_array(B + B.T) / 2.0)
    groups = [constraints.diagonal(n, 1.0), constraints.sparse_forms(forms, lower=-np.ones(len(forms)))]
    return Constrained(QuadraticSDP(C=-L / 8.0), groups)


def test_many_inequalities_are_not_split():
    """Few of many triangle inequalities hold with equality, and splitting the dual was slow to tell which."""
    rng = np.random.default_rng(7)
    small = triangles(8, rng)
    assert isinstance(choose(small, None, None)[1], InteriorPoint)
    result = solve(small)
    assert result.status is Status.OPTIMAL
    assert isinstance(choose(triangles(14, rng), None, None)[1], AugmentedLagrangian)
    other = solve(small, method=AugmentedLagrangian())
    assert other.status is Status.OPTIMAL
    assert other.value == pytest.approx(result.value, rel=1e-5)


def test_nuclear_norms_begin_with_few_columns() -> None:
    geometry, method, _ = choose(completion(120, 2), None, None)
    assert isinstance(method, AugmentedLagrangian)
    assert geometry.rank == math.ceil(math.log(completion(120, 2).m))
    assert isinstance(choose(completion(30, 2), None, None)[1], InteriorPoint)  # where systems of order m are cheap
    known = completion(120, 2)
    both = Constrained(known.problem, [*known.constraints, constraints.diagonal(240, upper=50.0)])
    assert choose(both, None, None)[0].rank != geometry.rank  # entries of the diagonal are no nuclear norm
    assert not isinstance(choose(sensors(330), None, None)[1], AugmentedLagrangian)


@pytest.mark.parametrize(("program", "chosen"), [
    (lambda: completion(60), AugmentedLagrangian),
    (lambda: completion(60, noise=1e-4), AugmentedLagrangian),
    (lambda: completion(60, noise=1e-2), BoundaryPoint),
    (lambda: completion(60, noise=0.1), BoundaryPoint),
    (lambda: completion(60, 24, share=0.8), BoundaryPoint),  # exact, and of a rank beyond log m
    (lambda: completion(40, noise=0.1), BoundaryPoint),
    (lambda: completion(30, noise=0.1), BoundaryPoint),
    (lambda: completion(30), InteriorPoint),
    (lambda: completion(20, noise=0.1), InteriorPoint),
    (lambda: completion(60, share=2.0, noise=0.1), InteriorPoint),  # steps of order m cost less than decompositions
    (lambda: completion(200, share=4.0, noise=0.1), BoundaryPoint),
    (lambda: completion(1000, noise=0.1), AugmentedLagrangian),  # decompositions cost more than a factor
])  # fmt: skip
def test_nuclear_norms_are_split_where_no_matrix_of_few_columns_nearly_has_the_entries(program, chosen) -> None:
    assert isinstance(choose(program(), None, None)[1], chosen)


def test_noisy_entries_are_completed_in_few_decompositions(monkeypatch) -> None:
    """No slack is proven definite on the way: C = I/2 bounds traces. 66 steps here, 56 at noise of one."""
    monkeypatch.setattr(dual_values, "_definite", lambda form, v: pytest.fail("a proof was sought"))
    for noise, most in ((0.1, 90), (1.0, 80)):
        problem = completion(50, noise=noise)
        result = solve(problem, tol=1e-6)
        assert result.optimal
        assert result.certificate.gap_relative <= 1e-6
        assert result.iterations <= most
        assert 2 * THRESHOLDS.fewest < result.matrix.rank <= math.isqrt(2 * problem.m)


def test_theta_numbers_of_sparse_graphs_are_found_on_a_factor() -> None:
    """Of orders above two thousand, below that by splitting, unless equations meet in entries of M."""
    sparse = theta(2500, 0.008)
    geometry, method, _ = choose(sparse, None, None)
    assert isinstance(method, AugmentedLagrangian)
    assert geometry.rank == math.isqrt(2 * sparse.m) + 1
    for n, share in ((200, 0.15), (500, 0.04), (1000, 0.02)):
        method = choose(theta(n, share), None, None)[1]
        assert isinstance(method, Alternating)
        assert isinstance(method.first, BoundaryPoint)
        assert isinstance(method.second, InteriorPoint)
    assert isinstance(choose(theta(1000, 0.0145), None, None)[1], InteriorPoint)  # 7 edges a vertex: few decompositions
    apart = theta(500, 0.04)
    meeting = Constrained(apart.problem, [*apart.constraints, constraints.diagonal(500, upper=1.0)])
    assert isinstance(choose(meeting, None, None)[1], AugmentedLagrangian)


def test_where_splitting_is_slow_an_interior_point_method_ends_the_run() -> None:
    """Near points in a square have many cliques, and theta numbers many minimisers: 800 steps left a gap of 1e-3."""
    points = np.random.default_rng(0).uniform(size=(150, 2))
    i, j = cKDTree(points).query_pairs(0.24, output_type="ndarray").T
    groups = [constraints.trace(150, 1.0), constraints.entries(i, j, 150, 0.0)]
    result = solve(Constrained(QuadraticSDP(C=-0.5 * np.ones((150, 150))), groups), tol=1e-6)
    assert result.optimal
    assert result.method == "BoundaryPoint + InteriorPoint"
    assert np.bincount(np.asarray(result.history["phase"], dtype=int))[1] <= 40


def test_a_curved_function_under_nearly_contradictory_bounds_is_solved_to_many_digits():
    Q = np.random.default_rng(0).standard_normal((12, N))
    fit = TermSum([MeasuredTerm(QuadraticForms(Q), LeastSquares(np.arange(12.0)))])
    curved = Constrained(fit, constraints.trace(N, 1.0))
    assert isinstance(choose(curved, None, None)[1], AugmentedLagrangian)
    assert solve(curved, tol=1e-9).optimal


def claiming(ability):
    """A problem of order 5 that declares `ability` and has nothing behind it."""
    problem = AutogradProblem(anp.trace, 5)
    problem.abilities = problem.abilities | {ability}
    return problem


@pytest.mark.parametrize(("ability", "geometry", "method"), [
    (Ability.MARGINS, Spectraplex(5), ColumnGeneration()),
    (Ability.SPLIT, FlatQuotient(5, 2), ADMM()),
    (Ability.STREAM, FlatQuotient(5, 2), OnlineRiemannianGradient()),
    (Ability.QUADRATIC_FIT, FlatQuotient(5, 2), LagrangeNewton()),
    (Ability.CONSTRAINTS, FlatQuotient(5, 2), AugmentedLagrangian()),
    (Ability.CONIC, PSDCone(5), InteriorPoint()),
    (Ability.CONIC, PSDCone(5), BoundaryPoint()),
    (Ability.EQUATIONS, PSDCone(5), DualNewton()),
])  # fmt: skip
def test_an_ability_without_its_members_is_no_ability(ability, geometry, method):
    verdict = compatible(claiming(ability), geometry, method)
    assert not verdict
    assert f"the problem AutogradProblem declares {ability} (its member {MEMBERS[ability][0]!r})" in verdict.message
    with pytest.raises(IncompatibleError, match="which is not there"):
        solve(claiming(ability), geometry, method)


def test_what_the_interface_only_raises_is_not_there():
    class Bare(PSDCone):
        def __init__(self, n):
            super().__init__(n)
            self.abilities = frozenset({Ability.LINEAR_ORACLE})

    assert compatible(QuadraticSDP(None, 1.0, -np.eye(5)), Bare(5), Needs("linear-oracle"))  # inherited from PSDCone
    cone = PSDCone(5)
    cone.abilities = frozenset({Ability.RIEMANNIAN})
    verdict = compatible(QuadraticSDP(None, 1.0, -np.eye(5)), cone, Needs("riemannian"))
    assert "the geometry PSDCone declares riemannian (its member 'retract'), which is not there" in verdict.missing


class Needs(BILGO):
    def __init__(self, ability):
        super().__init__()
        object.__setattr__(self, "requires", {"geometry": (ability,)})


def test_a_hint_names_geometries_where_no_other_method_fits():
    problem = MarginProblem(QuadraticForms(np.random.default_rng(0).standard_normal((4, 5))))
    message = compatible(problem, FlatQuotient(5, 2), ColumnGeneration()).message
    assert "ColumnGeneration works with this problem on Spectraplex" in message


def test_a_refusal_does_not_send_back_to_what_was_refused():
    """The data admit no closed form: the refusal names the others, and each of them runs."""
    rng = np.random.default_rng(3)
    A = psd(rng)
    A[0] = A[:, 0] = 0.0
    problem = QuadraticSDP(A, None, symmetric(rng) + np.diag([9.0] + [0.0] * (len(A) - 1)))
    assert problem.solve_in_closed_form() is None
    with pytest.raises(IncompatibleError) as refused:
        solve(problem, PSDCone(problem.n), EigenSplitting())
    assert "no closed form for these data. With this problem and geometry these work: BILGO" in str(refused.value)
    assert "EigenSplitting" not in str(refused.value)
    assert solve(problem, PSDCone(problem.n), BILGO()).optimal


def test_the_short_answer_is_the_verdict_and_looks_at_no_plugin(monkeypatch):
    problem = QuadraticSDP(A=np.eye(3))
    pairs = [
        (PSDCone(3), ConjugateGradient()),
        (FlatQuotient(3, 2), ConjugateGradient()),
        (PSDCone(4), EigenSplitting()),
    ]
    verdicts = [bool(compatible(problem, *pair)) for pair in pairs]
    monkeypatch.setattr("psdopt.running.compatibility.known", lambda kind: pytest.fail("no examples are asked for"))
    assert [fits(problem, *pair) for pair in pairs] == verdicts
    assert True in verdicts
    assert False in verdicts


def test_a_closed_form_is_not_looked_for_where_the_rank_is_limited(monkeypatch):
    monkeypatch.setattr(QuadraticSDP, "solve_in_closed_form", lambda self: pytest.fail("decomposed"))
    problem = QuadraticSDP(np.eye(6), 1.0, -np.eye(6))
    assert choose(problem, FlatQuotient(6, 2), None)[1].name == "ConjugateGradient + TruncatedNewton"
    assert choose(problem, None, None, 2)[0].rank == 2


def hinges(n: int, m: int) -> TermSum:
    rng = np.random.default_rng(n)
    return TermSum(
        [MeasuredTerm(QuadraticForms(rng.standard_normal((m, n))), SquaredHinge(1.0)), LinearTerm(np.eye(n))]
    )


def test_one_sided_squares_are_given_to_the_interior_point_by_its_price():
    """Once Newton steps on a factor have cost as much, or never; and never under a limit of the rank."""
    geometry, method, _ = choose(hinges(30, 600), None, None)
    assert method.first is FOR_HINGES
    assert isinstance(FOR_HINGES.first, TruncatedNewton)
    assert isinstance(method.second, InteriorPoint)
    assert geometry.rank == 30
    assert 600 < choose(hinges(8, 60), None, None)[1].switch.count < 700  # its calls alone
    assert method.switch.count > 1000
    assert choose(hinges(150, 5000), None, None)[1] is SECOND_ORDER
    assert choose(hinges(8, 60), None, None, 3)[1] is SECOND_ORDER
    assert choose(hinges(8, 60), FlatQuotient(8, 3), None)[1] is SECOND_ORDER
    squares = TermSum([MeasuredTerm(QuadraticForms(np.eye(8)), LeastSquares(1.0))])
    assert not isinstance(choose(squares, None, None)[1], InteriorPoint)


@pytest.mark.parametrize(("n", "spread", "at_once"), [(20, 1000.0, True), (80, 1000.0, True), (80, 10.0, False)])
def test_squares_of_unlike_weights_are_for_the_interior_point(n, spread, at_once):
    rng = np.random.default_rng(n)
    i, j = np.triu_indices(n)
    kept = rng.choice(len(i), 5 * n, replace=False)
    weights = np.geomspace(1.0, spread, 5 * n)
    loss = LeastSquares(rng.standard_normal(5 * n), weights)
    fit = TermSum([MeasuredTerm(Entries(i[kept], j[kept], n), loss), LinearTerm(0.01 * np.eye(n))])
    _, method, _ = choose(fit, None, None)
    assert isinstance(method, InteriorPoint) is at_once
    result = solve(fit, rng=0)
    assert result.status in (Status.OPTIMAL, Status.OPTIMAL_WITHIN)
    assert result.iterations < 150  # 14 of the interior point alone, 200 of LagrangeNewton alone, in the third case


def test_a_quadratic_of_many_columns_begins_with_those_of_its_free_minimiser():
    """Of order 160, with half of the eigenvalues of C negative: 40 columns at first had to grow to 80."""
    rng, n = np.random.default_rng(0), 160
    F = QuadraticSDP(psd(rng, n), 0.1 * psd(rng, n, condition=10.0), symmetric(rng, n))
    atoms = wide_atoms(F)
    assert atoms is not None
    assert choose(F, None, None)[0].rank == atoms.shape[1] > first_rank(n)
    assert choose(F, None, None, 10)[0].rank == 10
    assert choose(F, None, ConjugateGradient())[0].rank == first_rank(n)
    begun, grown = solve(F, rng=0), solve(F, FlatQuotient(n, 40), SECOND_ORDER, rng=0, escape=True)
    assert begun.status is Status.OPTIMAL
    assert begun.value == pytest.approx(grown.value, rel=1e-5)
    assert 2 * begun.iterations < grown.iterations


def test_splitting_needs_no_first_atoms(monkeypatch):
    n, rng = 140, np.random.default_rng(4)
    F = QuadraticSDP(psd(rng, n), 0.1, symmetric(rng, n))
    monkeypatch.setattr(QuadraticStarts, "first_atoms", lambda self: pytest.fail("three eigendecompositions wasted"))
    result = solve(F, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.method == "EigenSplitting"


def test_squares_with_weak_directions_end_in_tens_of_steps_after_fifty():
    """Entries under weights from 0.03 to 30, from the draws of the benchmark: Newton alone took 378 and 729 steps."""
    for seed, k in ((21, 27), (23, 7)):
        F = drawn(seed, k).problem
        result = solve(F, rng=0, tol=1e-6)
        assert result.optimal
        assert result.iterations <= 80
        least = solve(F, method=LagrangeNewton(), rng=0, tol=1e-8).value
        assert result.value - least <= 1e-6 * (F.value_at_zero() - least)
