"""Proofs that nothing is feasible, or that F falls along a ray: which hold, and which are refused."""

import numpy as np
import pytest

from benchmarks.papers.sdp_families import qap
from psdopt import Constrained, LowRankPSD, QuadraticSDP, Status, TermSum, certify, constraints, solve
from psdopt.certificates.constrained import refutation
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.recession import proven_ray
from psdopt.certificates.constrained.refutation import _rounded, proven_infeasible
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint
from psdopt.terms import IdentityForm, LinearTerm, LogDet


def test_a_proof_of_infeasibility_must_hold(solved) -> None:
    problem, _ = solved
    for ray in (np.array([1.0, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 1.0])):
        assert proven_infeasible(problem, [ray]) is None
    empty = Constrained(problem.problem, [constraints.diagonal(6, upper=1.0), constraints.trace(6, lower=7.0)])
    ray = np.concatenate([np.ones(6), [-1.0]])
    assert proven_infeasible(empty, [ray]) is not None
    assert proven_infeasible(empty, [-ray]) is None


def test_a_matrix_spares_the_eigenvalue_of_what_it_refutes(monkeypatch) -> None:
    """λ_min(A*(y)) <= ⟨y, A(M)⟩ / tr M: of diag(1, −1) no eigenvalue is computed, of I it is, and proves."""
    bounds = constraints.entries([0, 1], [0, 1], 3, [-1.0, 1.0])
    problem = Constrained(QuadraticSDP(A=np.eye(3)), bounds)
    asked = []

    def least(problem, y, accuracy):
        asked.append(y)
        return float(np.linalg.eigvalsh(problem.forms.matrix(y).toarray())[0])

    monkeypatch.setattr(refutation, "_least_of_adjoint", least)
    monkeypatch.setattr(refutation, "_rounded", lambda problem, candidates: candidates)
    y = np.array([1.0, -1.0])
    assert proven_infeasible(problem, [y]) is None
    assert len(asked) == 1
    assert proven_infeasible(problem, [y], np.array([0.1, 2.0]), 2.1) is None
    assert len(asked) == 1
    assert proven_infeasible(problem, [np.array([1.0, 0.5])], np.array([0.1, 2.0]), 2.1) is not None
    assert len(asked) == 2


@pytest.mark.parametrize("dense", [True, False])
def test_equations_that_contradict_each_other_are_refuted_by_multipliers_that_are_not_quite_right(
    dense, monkeypatch
) -> None:
    if not dense:
        monkeypatch.setattr(refutation, "DENSE_LIMIT", 0)
    # M_00 = 1, M_11 = 2, M_00 + M_11 = 4: A*(y) = 0 for y = (1, 1, -1), and for no y near it
    n = 4
    sums = constraints.sparse_forms([1e6 * np.diag([1.0, 1.0, 0.0, 0.0])], 4e6)
    problem = Constrained(QuadraticSDP(A=np.eye(n)), [constraints.entries([0, 1], [0, 1], n, [1.0, 2.0]), sums])
    assert problem.trace_limit is None
    rng = np.random.default_rng(0)
    for error in (0.0, 1e-9, 1e-5):
        y = np.array([1.0, 1.0, -1e-6]) * (1.0 + error * rng.standard_normal(3))
        proof = proven_infeasible(problem, [y])
        assert problem.support(proof) < 0.0
        assert np.linalg.eigvalsh(problem.forms.matrix(proof).toarray())[0] >= -1e-15
    assert proven_infeasible(problem, [np.array([1.0, 1.0, -0.5e-6])]) is None
    feasible = Constrained(
        QuadraticSDP(A=np.eye(n)), [problem.constraints[0], constraints.sparse_forms(sums.measurement, 3e6)]
    )
    assert proven_infeasible(feasible, [np.array([1.0, 1.0, -1e-6]), np.array([-1.0, -1.0, 1e-6])]) is None


def test_equations_that_contradict_each_other_are_refuted_at_any_matrix() -> None:
    """Four random equations, and their sum with another right-hand side: no method has to bring multipliers."""
    n = 5
    rng = np.random.default_rng(3)
    A = [G + G.T for G in rng.standard_normal((4, n, n))]
    M = LowRankPSD(rng.standard_normal((n, 2)))
    b = np.array([float(np.sum(a * M.to_dense())) for a in A])
    for scale in (1e-8, 1.0, 1e8):
        for excess, empty in ((0.0, False), (1e-3, True), (-1.0, True)):
            rows = constraints.sparse_forms([*A, scale * sum(A)], [*b, scale * (b.sum() + excess)])
            problem = Constrained(QuadraticSDP(A=np.eye(n)), [rows])
            for at in (M, LowRankPSD(rng.standard_normal((n, 3)))):
                certificate = certify(problem, at)
                proof = certificate.constraints.infeasibility_proof
                assert (proof is not None) == (empty and certificate.misses(1e-6)), (scale, excess)
                assert proof is None or problem.support(proof) < 0.0


@pytest.mark.parametrize("seed", [0, 1])
def test_redundant_equations_on_a_face_contradict_nothing(seed) -> None:
    """Sums of rows and of columns of an assignment: σ(y) of dependent rows is rounding, and its sign says nothing."""
    problem, rng = qap(5, seed=seed), np.random.default_rng(seed)
    assert problem.face is not None
    for _ in range(20):
        M = LowRankPSD(rng.standard_normal((problem.n, 3)))
        assert certify(problem, M).constraints.infeasibility_proof is None


@pytest.mark.parametrize("method", [None, InteriorPoint(), BoundaryPoint()])
def test_multipliers_that_are_rounding_prove_nothing(method) -> None:
    """M = diag(0, 0, 1, 1) is feasible; on the face M_11 = 0 two rows are dependent, and the third has y = 1e-17."""
    A = [np.diag([0.0, 0.0, -1.0, 1.0]), np.diag([0.0, -1.0, 0.0, 1.0]), np.diag([0.0, 1.0, 1.0, -1.0])]
    C = np.zeros((4, 4))
    C[0, 1] = C[1, 0] = -0.5
    for unit in (1.0, 1024.0):
        rows = constraints.sparse_forms([unit * A[0], A[1], A[2] / unit], [0.0, 1.0, 0.0])
        result = solve(Constrained(QuadraticSDP(C=C), rows), method=method, max_iterations=500, max_time=20.0)
        assert result.certificate.constraints.infeasibility_proof is None
        assert result.status not in (Status.INFEASIBLE, Status.UNBOUNDED)


@pytest.mark.parametrize(("b", "empty"), [(1e-17, False), (1e-3, True), (-1e-3, True)])
def test_a_row_that_vanishes_on_a_face_is_missed_by_more_than_rounding(b, empty) -> None:
    rows = constraints.entries([0, 0, 1], [0, 1, 1], 3, [0.0, b, 1.0])
    assert (Constrained(QuadraticSDP(C=np.eye(3)), [rows]).contradiction is not None) == empty


def test_on_a_face_the_form_that_is_compressed_to_it_counts() -> None:
    n = 4
    A = np.diag([-1.0, 1.0, 0.0, 0.0])
    groups = [constraints.entries([0], [0], n, 0.0), constraints.sparse_forms([A], upper=-1.0)]
    problem = Constrained(QuadraticSDP(A=np.eye(n)), groups)  # M_11 <= -1 once M_00 = 0
    proof = proven_infeasible(problem, [np.array([0.0, 1.0])])
    assert proof.tolist() == pytest.approx([0.0, 1.0 / np.sqrt(2.0)])
    assert proven_infeasible(problem, [np.array([5.0, -1.0])]) is None
    free = Constrained(problem.problem, groups[1])
    assert proven_infeasible(free, [np.array([1.0])]) is None  # M_00 = 1 is feasible


@pytest.mark.parametrize(("least", "proven"), [(-0.9, True), (-1.1, False)])
def test_with_a_bounded_trace_a_little_indefiniteness_is_allowed_for(least, proven) -> None:
    """σ(y) = −2 against λ_min(A*(y)) τ, τ = 2."""
    A = np.diag([1.0, 3.0, least])
    problem = Constrained(QuadraticSDP(A=np.eye(3)), constraints.sparse_forms([A], upper=-2.0), trace_bound=2.0)
    found = proven_infeasible(problem, [np.array([7.0])])
    assert (found is not None) == proven
    if proven:
        assert np.linalg.norm(A) * found[0] == pytest.approx(1.0)  # |y| = 1 in units of 1/|A_t|


def test_multipliers_that_are_small_are_left_out_of_a_proof() -> None:
    """M_00 <= −1 is refuted by (1, 0); with 1e-7 of a second form A*(y) is indefinite, with 1e-3 it stays so."""
    forms = [np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, -1.0])]
    problem = Constrained(QuadraticSDP(A=np.eye(3)), constraints.sparse_forms(forms, upper=[-1.0, 0.0]))
    scale = np.sqrt(2.0)
    found = proven_infeasible(problem, [np.array([1.0, 1e-7 / scale])])
    assert found.tolist() == [1.0, 0.0]
    kept = _rounded(problem, [np.array([1.0, 1e-3 / scale])])
    assert kept[1:] != []
    assert all(y[1] != 0.0 for y in kept)


METHODS = [None, AugmentedLagrangian(), BoundaryPoint(), InteriorPoint()]


def linear(C, *groups) -> Constrained:
    return Constrained(QuadraticSDP(C=np.asarray(C, dtype=float) / 2.0), list(groups))


def test_a_ray_must_fall_and_be_unseen() -> None:
    problem, e = linear(np.diag([1.0, -1.0, 0.0]), constraints.entries([0], [0], 3, 1.0)), np.eye(3)
    assert np.allclose(proven_ray(problem, 5.0 * e[:, 1:2]), e[:, 1:2])
    assert proven_ray(problem, e[:, 0:1]) is None  # nothing of it is left
    assert proven_ray(problem, e[:, 2:3]) is None  # does not fall
    for none in (None, np.zeros((3, 1)), np.full((3, 1), np.inf)):
        assert proven_ray(problem, none) is None
    nearly = proven_ray(problem, e[:, 1:2] + 0.1 * e[:, 0:1])
    assert np.array_equal(nearly[0], [0.0])  # moved to M_00 = 0, without a rest


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_bounds_count_towards_their_side_only(scale) -> None:
    """M_00 >= 1 is no obstacle to a growing M_00, M_00 <= 1 is one, in whatever units."""
    C, growing, A = np.diag([-1.0, 1.0, 0.0]), np.eye(3)[:, :1], scale * np.diag([1.0, 0.0, 0.0])
    assert proven_ray(linear(C, constraints.sparse_forms([A], lower=scale)), growing) is not None
    assert proven_ray(linear(C, constraints.sparse_forms([-A], upper=-scale)), growing) is not None
    assert proven_ray(linear(C, constraints.sparse_forms([A], upper=scale)), growing) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_ray_is_moved_onto_general_conditions(seed) -> None:
    """A_t with integers and ⟨A_t, D₀⟩ = 0 for one D₀: from near D₀ the ray found meets them to rounding."""
    rng = np.random.default_rng(seed)
    n, v = 6, np.array([1.0, 2.0, -1.0, 0.0, 3.0, 1.0])
    forms = []
    for _ in range(4):
        G = rng.integers(-3, 4, (n, n)).astype(float)
        A = G + G.T
        A[3, 3] -= 1.0
        A[0, 0] -= v @ A @ v
        forms.append(A)
    problem = linear(-np.outer(v, v), constraints.sparse_forms(forms, rng.integers(-3, 4, 4).astype(float)))
    R = proven_ray(problem, (v + 1e-4 * rng.standard_normal(n))[:, None])
    D = R @ R.T
    assert np.linalg.norm(D) == pytest.approx(1.0)
    for A in forms:
        assert abs(np.sum(A * D)) <= 1e-13 * np.sum(np.abs(A) * np.sqrt(np.outer(np.diag(D), np.diag(D))))
    assert np.sum(problem.conic.C.toarray() * D) < 0.0


def test_a_fall_of_1e_10_is_none() -> None:
    free = constraints.entries([2], [2], 3, 1.0)
    for fall, ray in ((1e-10, False), (1e-5, True)):
        C = np.array([[1.0, -1.0 - fall, 0.0], [-1.0 - fall, 1.0, 0.0], [0.0, 0.0, 0.0]])
        assert (proven_ray(linear(C, free), np.array([[1.0], [1.0], [0.0]])) is not None) == ray
        assert (proven_ray(linear(np.diag([-fall, 1.0, 0.0]), free), np.eye(3)[:, :1]) is not None) == ray


def test_entries_that_a_combination_of_rows_forbids_make_no_ray() -> None:
    """A_0 − A_1 and A_1 − A_2 are semidefinite: M e = 0 for two vectors e, and D_ij = √rounding is rounding."""
    A = [
        [[2, 0, 1, -2], [0, 1, 0, 0], [1, 0, 0, -1], [-2, 0, -1, 4]],
        [[2, 0, 1, -2], [0, 0, 0, 0], [1, 0, 0, -1], [-2, 0, -1, 3]],
        [[2, 0, 1, -2], [0, 0, 0, 0], [1, 0, 0, -1], [-2, 0, -1, 2]],
    ]
    C = 0.5 * np.array([[1, -1, 1, -1], [-1, 0, 0, 1], [1, 0, 1, -1], [-1, 1, -1, 1]])
    rows = constraints.sparse_forms(np.array(A, dtype=float), [2.0, 1.0, 0.0])
    for tol in (1e-4, 1e-6, 1e-8):
        assert solve(Constrained(QuadraticSDP(C=C), rows), tol=tol).status is not Status.UNBOUNDED


def test_what_is_feasible_in_the_limit_only_is_not_unbounded() -> None:
    """M e = 0 for e = (0, 1, 0, −1), and on that face two rows say 0 = 1; far out along a ray both are nearly met."""
    A = [
        [[-1, 0.5, -1, 0.5], [0.5, 1, 0.5, -1], [-1, 0.5, -1, 0.5], [0.5, -1, 0.5, 0]],
        [[-1, 0.5, -1, 0.5], [0.5, 0, 0.5, 0], [-1, 0.5, -1, 0.5], [0.5, 0, 0.5, -1]],
        [[1, 0, 1, -1], [0, 0, 0, 0], [1, 0, 1, -1], [-1, 0, -1, 1]],
    ]
    C = 0.5 * np.array([[0, 0, 0, -1], [0, 0, 0, 0], [0, 0, 0, -1], [-1, 0, -1, 1]])
    rows = constraints.sparse_forms(np.array(A, dtype=float), [0.0, 0.0, 1.0])
    for tol in (1e-4, 1e-6, 1e-8):
        assert solve(Constrained(QuadraticSDP(C=C), rows), tol=tol).status is not Status.UNBOUNDED


def test_no_ray_where_the_trace_is_bounded_or_F_is_curved() -> None:
    e = np.eye(2)[:, :1]
    held = constraints.entries([1], [1], 2, 1.0)
    assert proven_ray(linear(np.diag([-1.0, 0.0]), held), e) is not None
    assert proven_ray(Constrained(QuadraticSDP(C=np.diag([-1.0, 0.0])), held, trace_bound=1e9), e) is None
    assert proven_ray(Constrained(QuadraticSDP(A=np.eye(2), C=np.diag([-1.0, 0.0])), held), e) is None
    for small in (1e-8, 1e-12, 1e-17):  # tr M <= 1/small, though that is found for the first alone
        assert (
            proven_ray(linear(np.diag([-1.0, 0.0]), constraints.sparse_forms([np.diag([small, 1.0])], 1.0)), e) is None
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("C", "prices"), [([-1.0, 0.0], [1e-8, 1.0]), (-np.ones(5), np.logspace(-8, 0, 5)), (-np.ones(3), [1e-5, 1e3, 1.0])]
)
def test_bounded_programs_are_not_unbounded(method, C, prices) -> None:
    """min Σ c_i M_ii with Σ p_i M_ii = 1: the minimum is min c_i / p_i."""
    least = float(np.min(np.asarray(C) / prices))
    result = solve(
        linear(np.diag(C), constraints.sparse_forms([np.diag(prices)], [1.0])), method=method, max_iterations=100
    )
    assert result.status in (Status.OPTIMAL, Status.NO_PROGRESS, Status.ITERATION_LIMIT)
    assert result.certificate.constraints.ray is None
    if result.status is Status.OPTIMAL:
        assert result.value == pytest.approx(least, rel=2e-6)
    assert result.certificate.dual_value <= least * (1.0 - 1e-12)
    assert result.status is Status.OPTIMAL or method is not None


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("method", METHODS)
def test_a_proven_word_does_not_depend_on_tol(tol, method) -> None:
    A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -1.0], [0.0, -1.0, 0.0]])  # no D along (1, 0, 1) is seen
    problem = linear(np.diag([-1.0, 2.0, 0.5]), constraints.sparse_forms([A, np.diag([0.0, 1.0, 0.0])], [0.25, 1.0]))
    result = solve(problem, method=method, tol=tol)
    assert result.status is Status.UNBOUNDED
    R, M = result.certificate.constraints.ray, result.matrix.to_dense()
    for t in (1.0, 1e3):
        moved = certify(problem, np.hstack([result.matrix.factor, np.sqrt(t) * R]))
        assert moved.constraints.primal_infeasibility <= 1e-6
        assert moved.value < result.value - 0.1 * t
    assert M.shape == (3, 3)


def test_a_ray_is_handed_out_only_where_nothing_refutes_it() -> None:
    """Of an infeasible problem no word `unbounded` is said, though its recession cone has a ray."""
    C = np.diag([-1.0, 1.0])
    empty = linear(C, constraints.entries([1], [1], 2, lower=1.0), constraints.sparse_forms([np.diag([0.0, 2.0])], 1.0))
    for method in METHODS:
        assert solve(empty, method=method).status is Status.INFEASIBLE
    held = linear(C, constraints.entries([1], [1], 2, 1.0))
    ray = Multipliers(np.zeros(1), direction=np.eye(2)[:, :1])
    assert certify(held, np.eye(2), dual=ray).unbounded
    assert not certify(held, 2.0 * np.eye(2), dual=ray).unbounded  # that matrix is not feasible
    assert certify(linear(-C, constraints.entries([1], [1], 2, 1.0)), np.eye(2), dual=ray).constraints.ray is None


@pytest.mark.parametrize("apart", [1e-8, 1e-10, 1e-13])
def test_nearly_collinear_points_are_not_said_to_leave_a_direction_free(apart):
    """x_tᵀMx_t <= 1 bounds M as long as the x_t span the space, by 1/apart² in the direction that they nearly miss."""
    X = np.array([[1.0, 1.0], [2.0, 2.0 + 2.0 * apart], [1.0, 1.0 + 3.0 * apart]])
    along = np.array([[1.0], [-1.0]])
    for F in (LogDet(2), LinearTerm(IdentityForm(2), -1.0)):
        problem = Constrained(TermSum([F]), constraints.quadratic_forms(X, upper=1.0))
        assert proven_ray(problem, along) is None
        assert solve(problem).status not in (Status.UNBOUNDED, Status.INFEASIBLE)
    exact = constraints.quadratic_forms(X[:1], upper=1.0)
    assert proven_ray(Constrained(TermSum([LogDet(2)]), exact), along) is not None
