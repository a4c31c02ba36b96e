"""Proofs that nothing is feasible, and that F is unbounded: which hold, and which are refused."""

import numpy as np
import pytest

from benchmarks.papers.sdp_families import qap
from psdopt import Constrained, LowRankPSD, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained import refutation
from psdopt.certificates.constrained.refutation import _rounded, proven_infeasible
from psdopt.methods import BoundaryPoint, InteriorPoint


def test_a_proof_of_infeasibility_must_hold(solved) -> None:
    problem, _ = solved
    for ray in (np.array([1.0, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 1.0])):
        assert proven_infeasible(problem, [ray]) is None
    empty = Constrained(problem.problem, [constraints.diagonal(6, upper=1.0), constraints.trace(6, lower=7.0)])
    ray = np.concatenate([np.ones(6), [-1.0]])
    assert proven_infeasible(empty, [ray]) is not None
    assert proven_infeasible(empty, [-ray]) is None


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
