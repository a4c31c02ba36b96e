"""The interior point with log dets of blocks in F: conditions of optimality, peers, units, rays, blocks."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import AugmentedLagrangian, Constrained, FlatQuotient, Status, TermSum, compatible, constraints, solve
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.contracts.abilities import Ability
from psdopt.terms import LinearTerm, LogDet
from psdopt.testing import run_checks
from tests.instances import psd

TOL = 1e-8


def sparse_precision(n, count, seed, size=1.0, d=None, nu=1.0):
    """min ⟨C, M⟩ − ν log det M with M_ij = 0 for some pairs: C, ν M⁻¹ agree wherever M_ij is free."""
    rng = np.random.default_rng(seed)
    C = size * psd(rng, n)
    C = C if d is None else C / d / d[:, None]
    i, j = np.triu_indices(n, 1)
    zero = rng.choice(len(i), count, replace=False)
    return C, i[zero], j[zero], TermSum([LinearTerm(C), LogDet(n, nu)])


@pytest.mark.parametrize(("n", "count"), [(4, 3), (15, 40), (40, 300)])
@pytest.mark.parametrize("nu", [1e-3, 1.0])
def test_conditions_of_optimality(n, count, nu):
    C, i, j, F = sparse_precision(n, count, n, nu=nu)
    result = solve(Constrained(F, constraints.entries(i, j, n, 0.0)), tol=TOL)
    assert (result.status, result.method) == (Status.OPTIMAL, "InteriorPoint")
    M = result.matrix.to_dense()
    free = np.ones((n, n), dtype=bool)
    free[i, j] = free[j, i] = False
    assert np.abs(M[i, j]).max() <= 1e-9 * np.abs(M).max()
    np.testing.assert_allclose(nu * np.linalg.inv(M)[free], C[free], atol=1e-3 * np.abs(C).max())


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e3, 1e8])
def test_the_same_in_other_units_of_f_and_of_m(size):
    n = 8
    values = [
        solve(Constrained(F, constraints.entries(i, j, n, 0.0)), tol=TOL)
        for _, i, j, F in (sparse_precision(n, 9, 3, nu=1.0), sparse_precision(n, 9, 3, size, nu=size))
    ]
    assert all(each.status is Status.OPTIMAL for each in values)
    assert values[1].value / size == pytest.approx(values[0].value, rel=1e-7)
    _, i, j, F = sparse_precision(n, 9, 3, 1.0 / size)
    scaled = solve(Constrained(F, constraints.entries(i, j, n, 0.0)), tol=TOL)
    assert scaled.status is Status.OPTIMAL
    assert scaled.value + n * np.log(size) == pytest.approx(values[0].value, abs=1e-5)


def test_rows_of_all_units():
    n, d = 10, np.exp2(np.linspace(-14.0, 14.0, 10).round())
    found = []
    for units in (np.ones(n), d):
        _, i, j, F = sparse_precision(n, 12, 0, d=units)
        groups = constraints.entries(i, j, n, lower=-0.1 * units[i] * units[j], upper=0.05 * units[i] * units[j])
        found.append(solve(Constrained(F, groups), tol=TOL))
    assert all(each.status is Status.OPTIMAL for each in found)
    assert found[1].value + 2.0 * np.sum(np.log(d)) == pytest.approx(found[0].value, abs=1e-5)
    assert found[1].iterations <= found[0].iterations + 2  # the units of the form are those of C


def blocks():
    """Four blocks, of orders 3, 3, 2 and 1: with weights 2.5, 0.5, none and 0.1; their rows are mixed."""
    rng, order = np.random.default_rng(3), np.array([3, 0, 8, 6, 1, 4, 7, 2, 5])
    C = block_diag(*(psd(rng, k, k) + np.eye(k) for k in (3, 3, 2, 1)))
    place = np.argsort(order)
    C = C[np.ix_(order, order)]
    groups = [constraints.entries(place[[0, 3]], place[[1, 4]], 9, 0.2), constraints.trace(9, lower=10.0)]
    barriers = [(0.5, place[:6]), (2.0, place[:3]), (0.1, place[8:])]
    return C, groups, barriers


def test_blocks_with_different_weights_and_without_any():
    cp = pytest.importorskip("cvxpy")
    C, groups, barriers = blocks()
    problem = Constrained(TermSum([LinearTerm(C), *(LogDet(9, nu, rows) for nu, rows in barriers)]), groups)
    assert sorted(part.rows.size for part in StandardForm(problem.central).parts) == [1, 2, 6]
    result = solve(problem, tol=TOL)
    assert result.status is Status.OPTIMAL
    X = cp.Variable((9, 9), PSD=True)
    i, j = groups[0].measurement.i, groups[0].measurement.j
    cost = cp.trace(C @ X) - sum(nu * cp.log_det(X[rows][:, rows]) for nu, rows in barriers)
    peer = cp.Problem(cp.Minimize(cost), [X[i, j] == 0.2, cp.trace(X) >= 10.0])
    assert result.value == pytest.approx(peer.solve(solver=cp.CLARABEL), rel=1e-6)


def test_a_log_det_of_part_of_a_block_is_for_other_methods():
    groups = constraints.entries([0], [3], 4, 0.2)
    problem = Constrained(TermSum([LinearTerm(np.eye(4)), LogDet(4, 1.0, [0, 1])]), groups)
    assert Ability.LOG_DETS not in problem.abilities
    assert problem.central is None
    whole = Constrained(TermSum([LinearTerm(np.eye(4)), LogDet(4, 1.0, [0, 1, 3])]), groups)
    assert Ability.LOG_DETS in whole.abilities
    assert compatible(whole, FlatQuotient(4, 4), AugmentedLagrangian())


def test_a_log_det_is_added_to_the_program_of_a_file(tmp_path):
    """max M_01 + M_22 + log det of the first block, M_00 + M_22 = 1, M_11 = 3: M_22 = 0 and M_01 below its limit."""
    path = tmp_path / "two.dat-s"
    entries = ["0 1 1 2 0.5", "0 2 1 1 0.1", "1 1 1 1 1.0", "1 2 1 1 1.0", "2 1 2 2 1.0"]
    path.write_text("\n".join(["2", "2", "2 -1", "1.0 3.0", *entries]) + "\n")
    program = constraints.read_sdpa(path)
    terms = [*program.problem.terms, LogDet(program.n, 0.5, [0, 1])]
    result = solve(Constrained(TermSum(terms), program.constraints), tol=TOL)
    assert (result.status, result.method) == (Status.OPTIMAL, "InteriorPoint")
    # with M_22 = 0 the slope of M_01 + ½ log(3 − M_01²) vanishes at M_01² + M_01 = 3
    best = 0.5 * (np.sqrt(13.0) - 1.0)
    assert result.value == pytest.approx(-best - 0.5 * np.log(3.0 - best**2), rel=1e-6)
    assert result.matrix.to_dense()[2, 2] <= 1e-6


def test_the_slack_of_a_small_log_det_among_many_rows_is_sparse_and_exact():
    rng, n = np.random.default_rng(7), 40
    groups = [constraints.entries([0], [1], n, 0.1), constraints.diagonal(n, upper=2.0)]
    problem = Constrained(TermSum([LinearTerm(np.diag(rng.uniform(0.5, 1.0, n))), LogDet(n, 0.7, [0, 1, 5])]), groups)
    evaluation, y = problem.at(rng.standard_normal((n, n))), rng.standard_normal(problem.m)
    S = slack_operator(problem, evaluation, y)
    assert isinstance(S, sp.csr_array)
    assert S.nnz <= n + 9
    np.testing.assert_allclose(S.toarray(), evaluation.gradient @ np.eye(n) + problem.forms.matrix(y), atol=1e-12)
    with pytest.raises(FloatingPointError, match="singular"):
        slack_operator(problem, problem.at(np.ones((n, 1))), y)
    assert solve(problem, tol=TOL).status is Status.OPTIMAL


def test_the_largest_determinant_under_a_trace():
    n = 5
    result = solve(Constrained(TermSum([LogDet(n, 3.0)]), constraints.trace(n, 1.0)), tol=TOL)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(3.0 * n * np.log(n), rel=1e-9)


def test_a_log_det_without_a_bound_is_unbounded():
    result = solve(Constrained(TermSum([LogDet(4)]), constraints.entries([0], [0], 4, 1.0)), tol=TOL)
    assert result.status is Status.UNBOUNDED
    assert result.certificate.dual_value is None
    D = result.certificate.constraints.ray
    assert np.linalg.norm(D[0]) <= 1e-7
    C = np.diag([1.0, 1.0, 1.0, -1.0])
    falls = solve(Constrained(TermSum([LinearTerm(C), LogDet(4)]), constraints.entries([0], [0], 4, 1.0)), tol=TOL)
    assert falls.status is Status.UNBOUNDED


def test_infeasible_and_singular_constraints():
    groups = [constraints.entries([0], [0], 4, -1.0), constraints.trace(4, 1.0)]
    assert solve(Constrained(TermSum([LogDet(4)]), groups)).status is Status.INFEASIBLE
    groups = [constraints.entries([0], [0], 4, 0.0), constraints.trace(4, 1.0)]
    assert not solve(Constrained(TermSum([LogDet(4)]), groups)).optimal  # F is infinite on the feasible set


def test_a_given_start_of_low_rank_is_no_obstacle():
    _, i, j, F = sparse_precision(6, 5, 1)
    problem = Constrained(F, constraints.entries(i, j, 6, 0.0))
    result = solve(problem, start=np.eye(6, 2), tol=TOL)
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("whole", [True, False])
def test_problems_with_log_dets_pass_the_kit(whole):
    C, rows = np.diag([1.0, 2.0, 3.0, 4.0, 2.0]) + (0.3 if whole else 0.0), None if whole else [0, 1]
    groups = [constraints.entries([0], [1], 5, 0.0 if whole else 0.1), constraints.trace(5, upper=3.0)]
    records = run_checks(Constrained(TermSum([LinearTerm(C), LogDet(5, 0.7, rows)]), groups))
    assert len(records) > 30
    assert [str(record) for record in records if not record.ok] == []
