"""Interior points that begin at the solution of a near program: steps, answers, and starts that do not help."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, InteriorPoint, LowRankPSD, QuadraticSDP, Status, TermSum, constraints, solve
from psdopt.constraints.faces import face, hidden_face
from psdopt.methods import AugmentedLagrangian, BoundaryPoint
from psdopt.methods.primal_dual import interior_point
from psdopt.terms import LinearTerm, LogDet
from psdopt.terms.measurements import Entries
from psdopt.testing.constrained import conic_optimum
from tests.instances import psd, symmetric

#: A change, and what it leaves of the steps at most.
SHARES = [(1e-3, 0.25), (1e-2, 0.36)]


def block(moved: float, seed: int = 0, n: int = 14) -> Constrained:
    """Random equations and inequalities of one block; all data move."""
    rng = np.random.default_rng(seed)
    C, D = symmetric(rng, n), symmetric(rng, n)
    A = [np.eye(n), *(symmetric(rng, n) for _ in range(15))]
    b = np.array([np.trace(P) for P in A]) + moved * np.append(0.0, rng.standard_normal(15))
    held = [constraints.sparse_forms(A[:8], equals=b[:8]), constraints.sparse_forms(A[8:], upper=b[8:])]
    return Constrained(QuadraticSDP(C=0.5 * (C + moved * D)), held)


def blocks(moved: float, seed: int = 0) -> Constrained:
    """Blocks of order three, a cone in arrow form and single rows."""
    rng = np.random.default_rng(seed)
    arrow = np.eye(4) + np.eye(1, 4) + np.eye(1, 4).T
    pattern = block_diag(*[np.ones((3, 3))] * 3, arrow != 0.0, *[np.ones((1, 1))] * 4)
    C, D = (symmetric(rng, 17) * pattern for _ in range(2))
    A = [np.eye(17), *(symmetric(rng, 17) * pattern for _ in range(8))]
    b = [np.trace(P) for P in A]
    return Constrained(QuadraticSDP(C=0.5 * (C + moved * D)), constraints.sparse_forms(A, equals=b))


def linear_program(moved: float, seed: int = 0, n: int = 24) -> Constrained:
    rng = np.random.default_rng(seed)
    A, C, D = rng.standard_normal((9, n)), rng.uniform(0.2, 1.2, n), rng.standard_normal(n)
    forms = [sp.diags_array(row, format="csr") for row in A]
    held = constraints.sparse_forms(forms, lower=A @ rng.uniform(0.5, 1.5, n))
    return Constrained(QuadraticSDP(C=sp.diags_array(0.5 * (C + moved * D), format="csr")), held)


def cone(moved: float, seed: int = 0, n: int = 10) -> Constrained:
    """Entries in a ball that moves."""
    rng = np.random.default_rng(seed)
    at = Entries([0, 1, 2, 3], [4, 5, 6, 7], n)
    held = [constraints.diagonal(n, 1.0), constraints.norm_bound(at, moved * rng.standard_normal(4), 0.5)]
    return Constrained(QuadraticSDP(C=0.5 * symmetric(rng, n)), held)


def log_det(moved: float, seed: int = 0, n: int = 10) -> Constrained:
    rng = np.random.default_rng(seed)
    C, D = psd(rng, n), symmetric(rng, n)
    i, j = np.triu_indices(n, 1)
    zero = rng.choice(len(i), 20, replace=False)
    return Constrained(TermSum([LinearTerm(C + moved * D), LogDet(n)]), constraints.entries(i[zero], j[zero], n, 0.0))


def warm(problem: Constrained, first, **options):
    """`problem` solved from the result `first`; multipliers of rows that are new are zero."""
    y = first.certificate.constraints.multipliers
    y = np.append(y, np.zeros(problem.m - len(y)))
    return solve(problem, method=InteriorPoint(), start=first.matrix, dual=y, **options)


@pytest.mark.parametrize(("family", "moved", "share"), [
    *((family, moved, share) for family in (block, blocks, linear_program, cone) for moved, share in SHARES),
    (log_det, 0.001, 0.6), (log_det, 0.01, 0.6),  # cold runs take five steps
])  # fmt: skip
def test_programs_that_move_a_little_take_a_third_of_the_steps(family, moved, share) -> None:
    cold_steps = warm_steps = 0
    for seed in range(4):
        first = solve(family(0.0, seed), method=InteriorPoint())
        problem = family(moved, seed)
        cold, found = solve(problem, method=InteriorPoint()), warm(problem, first)
        assert found.optimal
        assert found.value == pytest.approx(cold.value, rel=3e-6)
        cold_steps, warm_steps = cold_steps + cold.iterations, warm_steps + found.iterations
    assert warm_steps <= share * cold_steps


def test_the_answer_is_that_of_another_solver() -> None:
    """Which ends a few of these programs without an answer, as a kernel rounds."""
    compared = 0
    for seed in range(5):
        problem = block(0.05, seed)
        found = warm(problem, solve(block(0.0, seed), method=InteriorPoint()), tol=1e-8)
        assert found.optimal
        other = conic_optimum(problem)
        if other is not None:
            compared += 1
            assert found.value == pytest.approx(other.value, rel=1e-5)
    assert compared >= 1


def test_rows_that_the_old_solution_violates_become_active() -> None:
    """min ⟨C, M⟩ with diagonal one has M = (1, -1)(1, -1)ᵀ; with M_12 >= -1/2 its value is -1."""
    C = np.array([[0.0, 1.0], [1.0, 0.0]])
    held = [constraints.diagonal(2, 1.0)]
    first = solve(Constrained(QuadraticSDP(C=0.5 * C), held), method=InteriorPoint())
    assert first.value == pytest.approx(-2.0, rel=1e-6)
    problem = Constrained(QuadraticSDP(C=0.5 * C), [*held, constraints.entries([0], [1], 2, lower=-0.5)])
    found = warm(problem, first, tol=1e-8)
    assert found.optimal
    assert found.value == pytest.approx(-1.0, abs=1e-7)
    assert found.iterations < solve(problem, method=InteriorPoint(), tol=1e-8).iterations


@pytest.mark.parametrize("size", [0.0, 1e-12, -1.0, 1e8, 1e200])
@pytest.mark.parametrize("of", ["matrix", "multipliers", "both"])
def test_starts_that_are_no_solutions_cost_a_few_steps(size, of) -> None:
    problem = block(0.0)
    first = solve(problem, method=InteriorPoint())
    M, y = first.matrix.to_dense(), first.certificate.constraints.multipliers
    M = min(abs(size), 1e150) * M if of != "multipliers" else M
    y = size * y if of != "matrix" else y
    found = solve(problem, method=InteriorPoint(), start=M, dual=y)
    assert found.optimal
    assert found.value == pytest.approx(first.value, rel=3e-6)
    assert found.iterations <= 2 * first.iterations


def test_a_run_that_the_boundary_stops_begins_again_cold(monkeypatch) -> None:
    """The traces of two blocks are bounded, and the bounds contradict each other in the new program."""
    n = 8
    C = symmetric(np.random.default_rng(3), n)
    held = [constraints.trace(n, 1.0), constraints.diagonal(n, upper=0.3)]
    first = solve(Constrained(QuadraticSDP(C=0.5 * C), held), method=InteriorPoint())
    wrong = Constrained(QuadraticSDP(C=0.5 * C), [constraints.trace(n, 1.0), constraints.diagonal(n, upper=0.1)])
    begun, count = interior_point.begun, []
    monkeypatch.setattr(interior_point, "begun", lambda *args: count.append(1) or begun(*args))
    cold = solve(wrong, method=InteriorPoint())
    assert cold.status is Status.INFEASIBLE
    count.clear()
    found = warm(wrong, first)
    assert found.status is Status.INFEASIBLE
    assert len(count) <= 2
    assert found.iterations <= 2 * cold.iterations + 2


def test_steps_that_the_boundary_stops_go_on_from_a_larger_mu_and_then_from_the_first_point(monkeypatch) -> None:
    problem, first = block(0.05), solve(block(0.0), method=InteriorPoint())
    seen, step = [], interior_point.newton_step

    def stopped(form, at, *args):
        seen.append(form.mean_product(at.X, at.Z))
        new, length, careful = step(form, at, *args)
        return (replace(new, pair=None), 0.05, careful) if len(seen) <= 2 else (new, length, careful)

    monkeypatch.setattr(interior_point, "newton_step", stopped)
    found = warm(problem, first)
    assert found.optimal
    assert found.iterations == len(seen) <= solve(problem, method=InteriorPoint()).iterations + 2
    assert 1.5 * seen[0] < seen[1] < 0.5 * seen[2]


@pytest.mark.parametrize("seed", range(6))
def test_programs_without_a_solution_are_not_claimed_to_have_one(seed) -> None:
    """A feasible program, then one with a row that contradicts the others, then one that is unbounded."""
    rng = np.random.default_rng(seed)
    n = 6
    A = [symmetric(rng, n) for _ in range(4)]
    C = psd(rng, n)
    b = np.array([np.trace(P) for P in A])
    first = solve(Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(A, equals=b)), method=InteriorPoint())
    assert first.optimal
    definite = psd(rng, n) + np.eye(n)
    none = [*A, definite]
    infeasible = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(none, equals=np.append(b, -1.0)))
    assert warm(infeasible, first).status is Status.INFEASIBLE
    unbounded = Constrained(QuadraticSDP(C=-0.5 * C), constraints.sparse_forms(A, upper=b + 1.0))
    expected = solve(unbounded, method=InteriorPoint()).status
    assert warm(unbounded, first).status is expected


def test_degenerate_programs_are_solved() -> None:
    """Constraints given twice, so that multipliers are not unique, and a block of cost zero with many solutions."""
    n = 8
    rng = np.random.default_rng(0)
    C = np.zeros((n, n))
    C[:4, :4] = symmetric(rng, 4)
    held = [constraints.diagonal(n, 1.0), constraints.diagonal(n, 1.0), constraints.trace(n, upper=float(n))]
    first = solve(Constrained(QuadraticSDP(C=0.5 * C), held), method=InteriorPoint())
    D = np.zeros((n, n))
    D[:4, :4] = symmetric(rng, 4)
    problem = Constrained(QuadraticSDP(C=0.5 * (C + 0.01 * D)), held)
    cold, found = solve(problem, method=InteriorPoint()), warm(problem, first)
    assert cold.optimal
    assert found.optimal
    assert found.value == pytest.approx(cold.value, rel=3e-6)
    assert found.iterations <= cold.iterations


@pytest.mark.parametrize("family", [block, blocks, linear_program, cone, log_det])
@pytest.mark.parametrize("method", [InteriorPoint(), BoundaryPoint(), AugmentedLagrangian(), None])
def test_a_start_that_its_multipliers_prove_is_the_answer(family, method) -> None:
    problem = family(0.0)
    if family is log_det and method is not None:
        method = InteriorPoint()  # others take no log det
    first = solve(problem, method=InteriorPoint(), tol=1e-8)
    y = first.certificate.constraints.multipliers
    again = solve(problem, method=method, start=first.matrix, dual=y)
    assert (again.status, again.iterations) == (Status.OPTIMAL, 0)
    assert again.value == pytest.approx(first.value, rel=1e-7)  # a factor may lose columns that are next to nothing
    assert len(again.history) == 1
    for wrong in (-y, 1e3 * y, 0.0 * y):  # nothing is taken on trust
        other = solve(problem, method=method, start=first.matrix, dual=wrong, max_iterations=0)
        assert other.status is Status.ITERATION_LIMIT
    shifted = LowRankPSD(1.01 * first.matrix.factor)
    assert solve(problem, method=method, start=shifted, dual=y, max_iterations=0).status is Status.ITERATION_LIMIT


def test_a_start_of_another_objective_is_judged_without_a_search_for_a_face(monkeypatch) -> None:
    problem = block(0.0)
    first = solve(problem, method=InteriorPoint())
    monkeypatch.setattr(face, "hidden_combination", lambda *_: pytest.fail("a search"))
    monkeypatch.setattr(hidden_face, "_scaled", lambda *_: pytest.fail("a factor of the equations"))
    moved = problem.linear[0] + 1e-3 * symmetric(np.random.default_rng(1), problem.n)
    assert warm(Constrained(QuadraticSDP(C=0.5 * moved), problem.constraints), first).optimal
