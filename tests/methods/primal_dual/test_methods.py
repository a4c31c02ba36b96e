"""Interior and boundary point: steps of the literature, starts, blocks, degenerate programs, values of zero."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.papers.sdp_families import PROGRAMS
from psdopt import BoundaryPoint, Constrained, InteriorPoint, Outcome, PSDCone, QuadraticSDP, Status, constraints, solve
from psdopt.constraints.central_path.interior_steps import Iterate, first_iterate, newton_step
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.faces import congruence
from psdopt.linalg import halves as linalg_halves
from psdopt.linalg.ridged import ridged_solver, sparse_ridged_solver
from psdopt.methods import Alternating
from psdopt.methods.primal_dual import interior_point
from psdopt.running.choose import choose
from tests.methods.constrained import intervals, random_program, theta


def test_blocks_are_worked_on_one_by_one_and_give_the_same_answer() -> None:
    one, two = random_program(5, 3, 1), random_program(4, 3, 2)
    C = sp.block_diag([one.conic.C, two.conic.C], format="csr")
    forms = [sp.block_diag([one.forms.matrix(e), sp.csr_array((4, 4))], format="csr") for e in np.eye(3)]
    forms += [sp.block_diag([sp.csr_array((5, 5)), two.forms.matrix(e)], format="csr") for e in np.eye(3)]
    both = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(forms, np.concatenate([one.lower, two.lower])))
    assert sorted(map(len, both.conic.blocks)) == [4, 5]
    apart = [solve(problem, PSDCone(problem.n), InteriorPoint()).value for problem in (one, two)]
    assert solve(both, PSDCone(9), InteriorPoint()).value == pytest.approx(sum(apart), rel=3e-6)


def beside(parts: list[Constrained]) -> Constrained:
    """The programs side by side: the blocks of M are theirs, and so are the constraints."""
    sizes = [part.n for part in parts]
    C = sp.block_diag([part.conic.C for part in parts], format="csr")
    forms = []
    for k, part in enumerate(parts):
        for e in np.eye(part.m):
            diagonal = [sp.csr_array((s, s)) for s in sizes]
            diagonal[k] = part.conic.forms.matrix(e)
            forms.append(sp.block_diag(diagonal, format="csr"))
    bounds = np.concatenate([part.conic.lower for part in parts])
    return Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(forms, bounds))


def test_many_blocks_of_one_order_are_worked_on_together_and_give_the_same_answer() -> None:
    parts = [random_program(4, 3, seed) for seed in range(6)] + [random_program(5, 4, 9)]
    both = beside(parts)
    found = InteriorPoint().init(both, PSDCone(both.n), np.zeros((both.n, 1))).form.parts
    assert [(part.count, part.size) for part in found] == [(6, 4), (1, 5)]
    apart = [solve(problem, PSDCone(problem.n), InteriorPoint(), tol=1e-8) for problem in parts]
    together = solve(both, PSDCone(both.n), InteriorPoint(), tol=1e-8)
    assert {result.status for result in [*apart, together]} == {Status.OPTIMAL}
    expected = sum(result.value for result in apart)
    assert together.value == pytest.approx(expected, abs=1e-7 * sum(abs(result.value) for result in apart))


def chain(count: int, order: int) -> Constrained:
    """`count` blocks with their diagonals held, and a random equation of each block and the next."""
    rng = np.random.default_rng(count)
    n = count * order
    where = np.arange(n).reshape(count, order)
    forms, bounds = [], []
    M = np.zeros((n, n))
    for rows in where:
        G = rng.standard_normal((order, order))
        M[np.ix_(rows, rows)] = G @ G.T + np.eye(order)
    for k in range(count - 1):
        A = sp.lil_array((n, n))
        for rows in where[k : k + 2]:
            G = rng.standard_normal((order, order))
            A[np.ix_(rows, rows)] = G + G.T
        forms.append(sp.csr_array(A))
        bounds.append(float(np.sum(forms[-1].toarray() * M)))
    C = np.where(M != 0.0, rng.standard_normal((n, n)), 0.0)
    held = [constraints.diagonal(n, np.diagonal(M)), constraints.sparse_forms(forms, bounds)]
    return Constrained(QuadraticSDP(C=sp.csr_array(0.5 * (C + C.T))), held)


def test_a_chain_of_blocks_is_solved_by_sparse_systems(monkeypatch) -> None:
    """64 blocks of order 4, whose diagonals are held, and 63 constraints of neighbours; by dense systems as well."""
    problem = chain(64, 4)
    assert (problem.m, len(problem.conic.blocks)) == (5 * 64 - 1, 64)
    assert problem.conic.sparse
    dense, sparse = [], []
    systems = "psdopt.constraints.central_path.coupled_systems"
    monkeypatch.setattr(f"{systems}.ridged_solver", lambda M: dense.append(M.shape) or ridged_solver(M))
    monkeypatch.setattr(f"{systems}.sparse_ridged_solver", lambda M: sparse.append(M.nnz) or sparse_ridged_solver(M))
    result = solve(problem, PSDCone(problem.n), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert dense == []
    assert len(sparse) >= 5
    assert max(sparse) <= problem.conic.meetings < problem.m**2 / 25
    monkeypatch.setattr(type(problem.conic), "sparse", False)
    calls = len(sparse)
    by_dense = solve(problem, PSDCone(problem.n), InteriorPoint())
    assert by_dense.status is Status.OPTIMAL
    assert len(sparse) == calls
    assert set(dense) == {(problem.m, problem.m)}
    assert result.value == pytest.approx(by_dense.value, rel=3e-6)


def test_repeated_constraints_leave_a_singular_system_that_is_solved() -> None:
    problem = random_program(6, 4, 5)
    twice = Constrained(problem.problem, 2 * list(problem.constraints))
    result = solve(twice, PSDCone(6), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(solve(problem, PSDCone(6), InteriorPoint()).value, rel=3e-6)


@pytest.mark.parametrize(
    ("family", "size", "seed"), [("hinf", 12, 0), ("truss", 8, 0), ("truss", 8, 11), ("qap", 4, 0)]
)
def test_programs_whose_solutions_are_large_or_degenerate_are_solved(family, size, seed) -> None:
    """Multipliers of 1e4 and traces of 1e7, no bound on the trace, or nothing strictly feasible."""
    result = solve(PROGRAMS[family](size, seed=seed), tol=1e-6)
    assert result.method == "InteriorPoint"
    assert result.status is Status.OPTIMAL


def test_where_the_roots_of_the_systems_cost_too_much_a_run_without_progress_ends(monkeypatch) -> None:
    for name in ("SPARED", "FLOPS"):
        monkeypatch.setattr(f"psdopt.constraints.central_path.coupled_systems.{name}", 0.0)
    assert solve(PROGRAMS["hinf"](12, seed=0), tol=1e-6).status is not Status.OPTIMAL


def test_a_run_that_begins_once_more_ends_no_worse_than_it_was(monkeypatch) -> None:
    """The first run is cut at a gap of about 1e-4, the second after its first step, which is far off."""
    problem, steps = random_program(8, 6, 1), []

    def failing(form: StandardForm, at: Iterate, *options: Any) -> Any:
        steps.append(at)
        if len(steps) in (8, 10):
            raise FloatingPointError
        return newton_step(form, at, *options)

    monkeypatch.setattr("psdopt.methods.primal_dual.interior_point.newton_step", failing)
    result = solve(problem, PSDCone(8), InteriorPoint(), tol=1e-9)
    assert len(steps) == 10
    assert result.status is Status.NO_PROGRESS
    assert result.certificate.relative <= 1e-2
    steps.clear()
    cut = solve(problem, PSDCone(8), InteriorPoint(), tol=1e-9, max_iterations=9)
    assert cut.certificate.relative <= 1e-2
    alone = solve(problem, PSDCone(8), InteriorPoint(), tol=1e-9, max_iterations=1)
    assert alone.certificate.relative > 0.1


def test_the_start_is_that_of_sdpt3() -> None:
    """X = max(10, √s, s max_t (1 + |b_t|)/(1 + |A_t|)) I, Z = max(10, √s, max_t |A_t|, |C|) I; elsewhere 10."""
    form = StandardForm(random_program(30, 6, 2).conic)
    X, Z = first_iterate(form)
    (block,) = form.parts
    sizes = np.array([np.linalg.norm(block.adjoint(e)) for e in np.eye(form.m)])
    reach = np.max((1.0 + np.abs(form.b[sizes > 0.0])) / (1.0 + sizes[sizes > 0.0]))
    np.testing.assert_allclose(X[0][0], max(10.0, np.sqrt(30.0), 30.0 * reach) * np.eye(30), rtol=1e-12)
    np.testing.assert_allclose(Z[0][0], max(10.0, np.sqrt(30.0), np.max(sizes), np.linalg.norm(block.C)) * np.eye(30))
    assert X[0][0, 0, 0] > 10.0
    form = StandardForm(intervals().conic)
    for each in first_iterate(form):
        np.testing.assert_array_equal(each[-1], np.full(form.parts[-1].degree, 10.0))
    assert form.parts[-1].degree == 2 * 15 + 6


@pytest.mark.parametrize("products", [congruence.MOST_PRODUCTS, 0])
def test_on_a_face_the_forms_are_those_of_its_coordinates(products, monkeypatch) -> None:
    """Written out where their products are few, else made from W as long as that costs FLOPS at most."""
    monkeypatch.setattr(congruence, "MOST_PRODUCTS", products)
    rng = np.random.default_rng(4)
    n, ones = 6, np.ones((6, 6))
    G = [rng.standard_normal((n, n)) for _ in range(3)]
    A = [ones, *(B + B.T for B in G[:2])]
    C = G[2] + G[2].T
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(A, [0.0, 1.0, -2.0]))
    monkeypatch.setattr(interior_point, "FLOPS", 4.0 * (n - 1) ** 3 * 3)
    form = interior_point._within(problem)
    monkeypatch.setattr(interior_point, "FLOPS", 0.999 * 4.0 * (n - 1) ** 3 * 3)
    assert (interior_point._within(problem) is None) == (products == 0)
    W = problem.face.within.toarray()
    assert W.shape == (n, n - 1)
    np.testing.assert_allclose(W.T @ ones @ W, 0.0, atol=1e-12)
    np.testing.assert_allclose(form.conic.C.toarray(), W.T @ C @ W, atol=1e-12)
    for t in (1, 2):
        e = np.eye(3)[t]
        np.testing.assert_allclose(form.conic.forms.matrix(e).toarray(), W.T @ A[t] @ W, atol=1e-12)
    assert form.conic.forms.norms[0] == 0.0
    assert interior_point._within(random_program(4, 3, 0)) is None


def bounded_program() -> Constrained:
    """With an inequality beside the equations, so that there is a linear part."""
    problem = random_program(8, 4, 5)
    return Constrained(problem.problem, [*problem.constraints, constraints.trace(8, upper=100.0)])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["Laplacian", "singular", "no edges"])
def test_programs_whose_optimal_value_is_zero_are_solved(kind: str, scale: float) -> None:
    """No relative gap is small near a value of zero: the run has to follow the gap down to rounding."""
    n, rng = 9, np.random.default_rng(4)
    W = np.triu(rng.random((n, n)), 1)
    A = rng.standard_normal((n, n - 1))
    C = {"Laplacian": np.diag((W + W.T).sum(1)) - W - W.T, "singular": A @ A.T, "no edges": np.zeros((n, n))}[kind]
    held = constraints.trace(n, 1.0) if kind == "singular" else constraints.diagonal(n, 1.0)
    result = solve(Constrained(QuadraticSDP(C=scale * C), held), PSDCone(n), InteriorPoint())
    assert result.status is Status.OPTIMAL
    assert abs(result.value) <= 1e-9 * scale * np.abs(C).max(initial=1.0)


def test_a_direction_that_overflows_ends_the_run() -> None:
    """M_11 = 0 beside 2 M_01 − 2 M_11 + M_33 = 2 and M_33 = 1: feasible at infinity only, where F falls as well."""
    A = [np.zeros((4, 4)) for _ in range(3)]
    A[0][1, 1] = A[1][3, 3] = A[2][3, 3] = 1.0
    A[1][0, 1] = A[1][1, 0] = 0.5
    A[1][1, 1] = -2.0
    rows = constraints.sparse_forms(A, [0.0, 2.0, 1.0])
    result = solve(Constrained(QuadraticSDP(C=0.5 * np.diag([-1.0, 0.0, 0.0, 1.0])), rows))
    assert result.status in (Status.INFEASIBLE, Status.NO_PROGRESS)


def test_it_is_chosen_for_very_many_constraints() -> None:
    many, few = theta(70, 0.8, 5), theta(30, 0.2, 5)
    method = choose(many, None, None)[1]
    assert isinstance(method, Alternating)
    assert isinstance(method.first, BoundaryPoint)
    assert isinstance(choose(few, None, None)[1], InteriorPoint)


@pytest.mark.parametrize("penalty", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("overshoot", [1.0, 1.6])
@pytest.mark.parametrize(
    ("problem", "kinds"), [(random_program(6, 5, 1), [1]), (bounded_program(), [1, 0]), (chain(4, 3), [4])]
)
def test_a_step_is_that_of_the_literature(penalty, overshoot, problem, kinds, monkeypatch) -> None:
    """Z − X/s = W, A A*(v) = A(C − Z) + (b − A(X))/s, F = C − A*(v) − Z, W⁺ = W + rho F, and so for x, z.

    |F|² is told in its two parts, that in the range of A* and the rest.
    """
    told = []
    monkeypatch.setattr(BoundaryPoint, "_balanced", lambda self, new, p, d: told.append((p, d)))
    method = BoundaryPoint(overshoot, depth=0)
    state = method.init(problem, PSDCone(problem.n), np.zeros((problem.n, 1)))
    form = state.form
    assert [getattr(part, "count", 0) for part in form.parts] == kinds
    adjoints = [[part.adjoint(e) for part in form.parts] for e in np.eye(form.m)]
    gram = np.array([form.measure(each) for each in adjoints])
    state = replace(state, penalty=penalty)
    first = np.linalg.solve(gram, form.measure([part.C for part in form.parts]) + form.b / penalty)
    W = [part.C - part.adjoint(first) for part in form.parts]
    for _ in range(4):
        state = method.step(state)
        Z, X = zip(*(halves(P) for P in W), strict=True)
        missed = form.b - penalty * form.measure(list(X))
        right = form.measure([part.C - S for part, S in zip(form.parts, Z, strict=True)]) + missed / penalty
        v = np.linalg.solve(gram, right)
        np.testing.assert_allclose(state.v, v, rtol=1e-7, atol=1e-9)
        F = [part.C - part.adjoint(v) - S for part, S in zip(form.parts, Z, strict=True)]
        W = [P + overshoot * R for P, R in zip(W, F, strict=True)]
        for found, expected, factor in ((state.Z, Z, 1.0), (state.X, X, penalty), (state.W, W, 1.0)):
            for P, Q in zip(found, expected, strict=True):
                np.testing.assert_allclose(P, factor * Q, atol=1e-7)
        assert (state.step, state.outcome) == (penalty, Outcome.RUNNING)
        within = np.linalg.solve(gram, missed / penalty)
        primal = np.sqrt(sum(np.sum(part.adjoint(within) ** 2) for part in form.parts))
        whole = np.sqrt(sum(np.sum(R**2) for R in F))
        assert told[-1] == (pytest.approx(primal, rel=1e-5), pytest.approx(np.sqrt(whole**2 - primal**2), rel=1e-5))


def test_x_and_z_stay_where_the_penalty_changes() -> None:
    problem = random_program(6, 5, 1)
    method = BoundaryPoint()
    state = replace(method.init(problem, PSDCone(problem.n), np.zeros((problem.n, 1))), wait=1)
    for _ in range(5):
        before, state = state.penalty, method.step(state)
        assert state.penalty != before
        F = [part.C - part.adjoint(state.v) - Z for part, Z in zip(state.form.parts, state.Z, strict=True)]
        for W, X, Z, R in zip(state.W, state.X, state.Z, F, strict=True):
            np.testing.assert_allclose(W, Z + method.overshoot * R - X / state.penalty, atol=1e-12)
        state = replace(state, wait=1)


def test_the_wait_for_another_penalty_doubles_at_each_reversal() -> None:
    state = BoundaryPoint().init(random_program(6, 5, 1), PSDCone(6), np.zeros((6, 1)))
    changed, before = [], state.penalty
    for step in range(60):
        BoundaryPoint()._balanced(state, *((2.0, 1.0) if (step // 15) % 2 else (1.0, 2.0)))
        if state.penalty != before:
            changed, before = [*changed, (step, state.penalty > before)], state.penalty
    assert changed == [(5, True), (11, True), (20, False), (41, True)]


def test_extrapolation_halves_the_steps() -> None:
    """Lovász's number of random graphs, as they are proven: 2.2 times as many steps without."""
    for seed in (0, 1):
        problem = theta(50, 0.3, seed)
        counts = [solve(problem, method=BoundaryPoint(depth=depth)) for depth in (0, 10)]
        assert [result.status for result in counts] == [Status.OPTIMAL] * 2
        assert 1.4 * counts[1].iterations < counts[0].iterations


@pytest.mark.parametrize("share", [0.06, 0.95])
def test_large_blocks_are_decomposed_in_few_of_the_steps(share, monkeypatch) -> None:
    """Lovász's numbers of order 320, sparse and dense: a sixth of the steps at most, no more steps than exact ones."""
    problem, taken, counts = theta(320, share, 0), [], []
    monkeypatch.setattr(linalg_halves, "spectrum", lambda W: taken.append(1) or np.linalg.eigh(W))
    for order in (linalg_halves.ITERATED_ORDER, problem.n):
        monkeypatch.setattr(linalg_halves, "ITERATED_ORDER", order)
        before = len(taken)
        result = solve(problem, tol=1e-5, method=BoundaryPoint())
        assert result.optimal
        counts.append((result.iterations, len(taken) - before))
    assert counts[1][0] == counts[1][1]
    assert 6 * counts[0][1] <= counts[0][0] <= 1.2 * counts[1][0]


def halves(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positive part of W (K, s, s) or (p,), and that of −W."""
    if W.ndim == 1:
        return np.maximum(W, 0.0), np.maximum(-W, 0.0)
    values, V = np.linalg.eigh(W)
    return (V * np.maximum(values, 0.0)[:, None]) @ V.mT, (V * np.maximum(-values, 0.0)[:, None]) @ V.mT
