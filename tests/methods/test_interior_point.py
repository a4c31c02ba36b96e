"""Interior point: agreement with a conic solver and the augmented Lagrangian, proofs, blocks, resumption."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, InteriorPoint, PSDCone, QuadraticSDP, Status, constraints, solve
from psdopt.constraints.coupled_systems import RootedSystem
from psdopt.constraints.standard import StandardForm
from psdopt.errors import InvalidInputError
from psdopt.methods.interior_steps import Iterate, newton_step
from psdopt_plugins.papers.sdp_families import PROGRAMS


def random_program(n: int, m: int, seed: int) -> Constrained:
    """Strictly feasible on both sides, equations of random sparse matrices."""
    rng = np.random.default_rng(seed)
    A = [sp.random(n, n, density=0.3, random_state=rng) for _ in range(m)]
    A = [sp.csr_array(a + a.T + sp.eye_array(n)) for a in A]
    G = rng.standard_normal((n, n))
    M, Z = G @ G.T, np.eye(n) + 0.1 * np.diag(rng.random(n))
    C = Z - sum(y * a.toarray() for y, a in zip(rng.standard_normal(m), A, strict=True))
    b = np.array([np.sum(a.toarray() * M) for a in A])
    return Constrained(QuadraticSDP(C=C / 2), constraints.sparse_forms(A, b))


def reference(problem: Constrained) -> float:
    cp = pytest.importorskip("cvxpy")
    n, conic = problem.n, problem.conic
    X = cp.Variable((n, n), PSD=True)
    rows = [conic.forms.matrix(e).toarray() for e in np.eye(problem.m)]
    measured = [cp.trace(A @ X) for A in rows]
    held = []
    for a, lower, upper in zip(measured, problem.lower, problem.upper, strict=True):
        held += [a == lower] if lower == upper else []
        held += [a >= lower] if np.isfinite(lower) and lower < upper else []
        held += [a <= upper] if np.isfinite(upper) and lower < upper else []
    found = cp.Problem(cp.Minimize(cp.trace(conic.C.toarray() @ X)), held)
    found.solve(solver="CLARABEL")
    return float(found.value)


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_with_a_conic_solver(seed) -> None:
    problem = random_program(8, 6, seed)
    result = solve(problem, PSDCone(8), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(reference(problem), rel=3e-6)
    assert result.certificate.dual_value <= result.value


def test_inequalities_and_intervals_are_slacks() -> None:
    rng = np.random.default_rng(7)
    n = 6
    C = rng.standard_normal((n, n))
    C = C + C.T
    i, j = np.triu_indices(n, 1)
    problem = Constrained(
        QuadraticSDP(C=C / 2),
        [constraints.trace(n, 3.0), constraints.entries(i, j, n, lower=-0.2, upper=0.3),
         constraints.diagonal(n, upper=1.0)],
    )  # fmt: skip
    result = solve(problem, PSDCone(n), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(reference(problem), rel=3e-6)


def test_blocks_are_worked_on_one_by_one_and_give_the_same_answer() -> None:
    one, two = random_program(5, 3, 1), random_program(4, 3, 2)
    C = sp.block_diag([one.conic.C, two.conic.C], format="csr")
    forms = [sp.block_diag([one.forms.matrix(e), sp.csr_array((4, 4))], format="csr") for e in np.eye(3)]
    forms += [sp.block_diag([sp.csr_array((5, 5)), two.forms.matrix(e)], format="csr") for e in np.eye(3)]
    both = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(forms, np.concatenate([one.lower, two.lower])))
    assert sorted(map(len, both.conic.blocks)) == [4, 5]
    apart = [solve(problem, PSDCone(problem.n), InteriorPoint()).value for problem in (one, two)]
    assert solve(both, PSDCone(9), InteriorPoint()).value == pytest.approx(sum(apart), rel=3e-6)


def test_infeasible_and_unbounded_are_proven() -> None:
    n = 4
    empty = Constrained(
        QuadraticSDP(C=np.eye(n)), [constraints.entries([0], [0], n, upper=-1.0), constraints.entries([1], [1], n, 1.0)]
    )
    result = solve(empty, PSDCone(n), InteriorPoint())
    assert result.status is Status.INFEASIBLE
    y = result.certificate.infeasibility_proof
    assert empty.support(y) < 0.0
    assert np.linalg.eigvalsh(empty.forms.matrix(y).toarray())[0] >= 0.0
    free = Constrained(QuadraticSDP(C=np.diag([1.0, 1.0, 1.0, -1.0])), constraints.entries([0], [0], n, 1.0))
    result = solve(free, PSDCone(n), InteriorPoint())
    assert result.status is Status.UNBOUNDED
    D = result.certificate.unboundedness_proof
    assert np.sum((free.conic.C @ D) * D) < 0.0


def test_repeated_constraints_leave_a_singular_system_that_is_solved() -> None:
    problem = random_program(6, 4, 5)
    twice = Constrained(problem.problem, 2 * list(problem.constraints))
    result = solve(twice, PSDCone(6), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(solve(problem, PSDCone(6), InteriorPoint()).value, rel=3e-6)


def test_a_run_goes_on_from_its_checkpoint(tmp_path) -> None:
    problem, path = random_program(6, 4, 6), tmp_path / "run.psdopt"
    whole = solve(problem, PSDCone(6), InteriorPoint())
    solve(problem, PSDCone(6), InteriorPoint(), max_iterations=3, checkpoint=path)
    resumed = solve(problem, PSDCone(6), InteriorPoint(), resume=path)
    assert resumed.iterations == whole.iterations
    assert resumed.value == whole.value


@pytest.mark.parametrize(
    ("family", "size", "seed"), [("hinf", 12, 0), ("truss", 8, 0), ("truss", 8, 11), ("qap", 4, 0)]
)
def test_programs_whose_solutions_are_large_or_degenerate_are_solved(family, size, seed) -> None:
    """Multipliers of 1e4 and traces of 1e7, no bound on the trace, or nothing strictly feasible."""
    result = solve(PROGRAMS[family](size, seed=seed), tol=1e-6)
    assert result.method == "InteriorPoint"
    assert result.status is Status.OPTIMAL


def test_large_programs_without_progress_take_the_roots_of_their_systems_in_the_end(monkeypatch) -> None:
    made = []

    class Counted(RootedSystem):
        def __init__(self, form: StandardForm, *given: Any) -> None:
            made.append(form.m)
            super().__init__(form, *given)

    monkeypatch.setattr("psdopt.methods.interior_steps.RootedSystem", Counted)
    problem = PROGRAMS["hinf"](12, seed=0)
    monkeypatch.setattr("psdopt.constraints.coupled_systems.AFFORDABLE", 0.0)
    assert solve(problem, tol=1e-6).status is Status.OPTIMAL
    assert made
    made.clear()
    monkeypatch.setattr("psdopt.constraints.coupled_systems.LAST", 0.0)
    assert solve(problem, tol=1e-6).status is not Status.OPTIMAL
    assert not made


def test_a_run_that_begins_once_more_ends_no_worse_than_it_was(monkeypatch) -> None:
    """The first run is cut at a gap of about 1e-4, the second after its first step, which is far off."""
    problem, steps = random_program(8, 6, 1), []

    def failing(form: StandardForm, at: Iterate, *options: Any) -> Any:
        steps.append(at)
        if len(steps) in (8, 10):
            raise FloatingPointError
        return newton_step(form, at, *options)

    monkeypatch.setattr("psdopt.methods.interior_point.newton_step", failing)
    result = solve(problem, PSDCone(8), InteriorPoint(), tol=1e-9)
    assert len(steps) == 10
    assert result.status is Status.NO_PROGRESS
    assert result.certificate.relative <= 1e-2
    steps.clear()
    cut = solve(problem, PSDCone(8), InteriorPoint(), tol=1e-9, max_iterations=9)
    assert cut.certificate.relative <= 1e-2
    alone = solve(problem, PSDCone(8), InteriorPoint(), tol=1e-9, max_iterations=1)
    assert alone.certificate.relative > 0.1


def test_share_is_checked() -> None:
    with pytest.raises(InvalidInputError, match="share"):
        InteriorPoint(share=1.0)
