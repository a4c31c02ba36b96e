"""Quadratic objectives by their epigraph: optima, multipliers and proofs, against the primal form and Clarabel."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Status
from psdopt.errors import InvalidInputError
from psdopt.interop._cone_ending import Ending, recession
from psdopt.interop._cone_epigraph import EpigraphForm, epigraph, forms_of
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_objective import square_root
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import falls as falls_to_rounding
from psdopt.interop._cone_solve import Answer, solved, solved_in_either
from psdopt.interop.conic import ConicProgram
from psdopt.linalg.limits import FACTOR_ORDER
from tests.interop.cone_programs import defects, falls, program_of_any_sizes, random_cone_program, refuted, slack_matrix


def by_epigraph(program: ConeProgram, tol: float = 1e-8) -> Answer:
    """The answer of the epigraph alone."""
    form, answer = solved_in_either(iter([EpigraphForm(program)]), {"tol": tol}, None, False)
    assert isinstance(form, EpigraphForm)
    return answer


def inside(rng: np.random.Generator, program: ConeProgram, multipliers: bool = False) -> np.ndarray:
    """A random vector inside the cones, or inside their duals."""
    i, j = program.places()
    S = np.zeros((sum(program.psd), sum(program.psd)))
    first = 0
    for k in program.psd:
        G = rng.standard_normal((k, k))
        S[first : first + k, first : first + k] = G @ G.T + 0.1 * np.eye(k)
        first += k
    entries = np.where(i == j, 1.0, 2.0 if multipliers else 1.0) * S[i, j]
    free = rng.standard_normal(program.zero) if multipliers else np.zeros(program.zero)
    return np.concatenate([free, 0.1 + rng.random(program.nonneg), entries])


def without_points(seed: int) -> ConeProgram:
    """Aᵀy = 0 and bᵀy = −1 for a y inside the dual cones."""
    p, rng = random_cone_program(seed, quadratic=True), np.random.default_rng(1000 + seed)
    y = inside(rng, p, multipliers=True)
    A = p.A.toarray()
    return replace(p, A=sp.csr_array(A - np.outer(y, y @ A) / (y @ y)), b=p.b - y * (y @ p.b + 1.0) / (y @ y))


def without_bound(seed: int, size: float = 1.0) -> ConeProgram:
    """P r = 0, cᵀr = −1 and −A r inside the cones for an r, and b = A x + s for an x."""
    p, rng = random_cone_program(seed, quadratic=True), np.random.default_rng(1000 + seed)
    r, x = rng.standard_normal((2, 5))
    G = rng.standard_normal((2, 5))
    G -= np.outer(G @ r, r) / (r @ r)
    P, A = G.T @ G, p.A.toarray()
    A -= np.outer(A @ r + inside(rng, p), r) / (r @ r)
    c = p.c - r * (p.c @ r + 1.0) / (r @ r)
    return replace(p, P=sp.csr_array(size * 0.5 * (P + P.T)), A=sp.csr_array(A), c=c, b=A @ x + inside(rng, p))


@pytest.mark.parametrize("seed", range(6))
def test_the_block_is_semidefinite_exactly_above_the_objective(seed) -> None:
    program = program_of_any_sizes(seed, quadratic=True)
    rng, V = np.random.default_rng(seed), square_root(program.P)
    raised = epigraph(program, V)
    order, N = V.shape[0] + 2, len(program.c)
    assert raised.psd == (*program.psd, order)
    assert (raised.zero, raised.nonneg, raised.P) == (program.zero, program.nonneg, None)
    assert np.array_equal(raised.c, np.append(program.c, 1.0))
    assert np.array_equal(raised.A[: len(program.b)].toarray(), np.c_[program.A.toarray(), np.zeros(len(program.b))])
    for _ in range(5):
        x = 3.0 * rng.standard_normal(N)
        curved = 0.5 * x @ (program.P @ x)
        for t in (curved, 0.9 * curved, 1.1 * curved, curved + 5.0, -0.5):
            s = raised.b - raised.A @ np.append(x, t)
            S = slack_matrix(raised, s[raised.first_psd :])[-order:, -order:]
            assert np.allclose(S[0, 1:-1], np.sqrt(2.0) * (V @ x), rtol=1e-13, atol=1e-13)
            assert np.allclose(np.diagonal(S), t + 1.0, rtol=1e-14, atol=0)
            assert S[-1, 0] == pytest.approx(t - 1.0, abs=1e-15)
            least = np.linalg.eigvalsh(S)[0]
            assert least == pytest.approx(t + 1.0 - np.sqrt(4.0 * curved + (t - 1.0) ** 2), abs=1e-11)
            assert (least >= -1e-12) if t >= curved else (least < 0.0)


@pytest.mark.parametrize("make", [random_cone_program, program_of_any_sizes])
@pytest.mark.parametrize("seed", range(6))
def test_optima_and_multipliers_are_those_of_the_program_itself(make, seed) -> None:
    program = make(seed, quadratic=True)
    mine, primal = by_epigraph(program), solved(PrimalForm(program), {"tol": 1e-8}, None, False)
    assert mine.status is Status.OPTIMAL
    assert mine.proven(1e-8) == "everywhere"
    x, y = mine.point.x, mine.point.y
    assert (x.shape, y.shape) == (program.c.shape, program.b.shape)
    size = 1.0 + np.abs(np.r_[x, y]).max()
    if primal.proven(1e-8):  # Newton's steps in the primal form may end without a proof, which rounding decides
        assert program.value(x) == pytest.approx(program.value(primal.point.x), rel=1e-6, abs=1e-6)
    found = defects(program, x, y)
    # x and y are as exact as the root of the gap
    assert max(found.values()) <= 1e-4 * size**2
    assert max(found[name] for name in ("equations", "inequalities", "slack", "multipliers")) <= 1e-6 * size


@pytest.mark.parametrize("seed", range(4))
def test_what_clarabel_finds(seed) -> None:
    cp = pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    program = random_cone_program(seed, quadratic=True)
    x = cp.Variable(5)
    s, rows, first = program.b - program.A @ x, [], program.first_psd
    rows += [s[: program.zero] == 0, s[program.zero : first] >= 0]
    for k in program.psd:
        column, row = np.triu_indices(k)
        S = cp.Variable((k, k), PSD=True)
        rows += [S[int(i), int(j)] == s[first + t] for t, (i, j) in enumerate(zip(row, column, strict=True))]
        first += len(row)
    objective = 0.5 * cp.sum_squares(square_root(program.P).toarray() @ x) + program.c @ x
    expected = cp.Problem(cp.Minimize(objective), rows).solve(solver="CLARABEL")
    assert program.value(by_epigraph(program).point.x) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_what_has_no_point_has_its_proof_without_the_rows_of_the_epigraph(seed) -> None:
    program = without_points(seed)
    for answer in (by_epigraph(program), solved_in_either(forms_of(program), {}, None, False)[1]):
        assert answer.ending is Ending.INFEASIBLE
        assert answer.proof.shape == program.b.shape
        assert refuted(program, answer.proof) <= 1e-10


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(8))
def test_what_falls_without_end_has_a_ray_on_which_nothing_is_curved(seed, size) -> None:
    program = without_bound(seed, size)
    _, answer = solved_in_either(forms_of(program), {}, None, False)
    assert answer.ending is Ending.UNBOUNDED
    assert answer.proof.shape == program.c.shape
    assert falls_to_rounding(program, answer.proof)
    assert falls(program, answer.proof) <= 1e-10 * max(size, 1.0)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_a_matrix_of_low_rank_hide_no_ray_of_the_primal_form(seed) -> None:
    """P = GᵀG with two rows in G: its five rows are of full rank to rounding."""
    program = without_bound(seed)
    assert recession(program).zero == program.zero + 2
    answer = solved(PrimalForm(program), {"tol": 1e-8}, None, False)
    assert answer.ending is Ending.UNBOUNDED
    assert falls_to_rounding(program, answer.proof)


@pytest.mark.parametrize("small", [1e-14, 1e-12, 1e-10, 1e-8, 1e-4])
def test_a_small_curvature_is_one(small) -> None:
    """min ½ ε x_0² + ½ x_1² − x_0, x >= 0: x_0 = 1/ε. (2, 0, 1) is nearly a ray of the epigraph, and no ray of this."""
    answer = ConicProgram([-1.0, 0.0], -np.eye(2), np.zeros(2), {"nonneg": 2}, np.diag([small, 1.0])).solve()
    assert answer.status is not Status.UNBOUNDED
    assert answer.proof is None
    assert answer.x is None or answer.value <= 0.0
    if answer.optimal:
        assert answer.value == pytest.approx(-0.5 / small, rel=1e-5)


@pytest.mark.parametrize("P", [np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), [[1.0, 2.0], [2.0, 1.0]],
                               np.diag([-1e-3, 0.0]), [[1.0, 1.0], [1.0, 1.0 - 1e-6]]])  # fmt: skip
def test_what_is_not_convex_is_refused(P) -> None:
    """A box around a saddle: a local solution would have a proof, as if the falling part of P were not there."""
    box = ConicProgram([0.1, 0.2], np.r_[np.eye(2), -np.eye(2)], np.ones(4), {"nonneg": 4}, P)
    for form in ("auto", "primal"):
        with pytest.raises(InvalidInputError, match="P must be positive semidefinite; found an eigenvalue -"):
            box.solve(form=form)


def test_rounding_of_a_semidefinite_matrix_is_not_refused() -> None:
    rng = np.random.default_rng(0)
    for size in (1e-8, 1.0, 1e8):
        G = rng.standard_normal((2, 6))
        P = size * G.T @ G
        V = square_root(sp.csr_array(0.5 * (P + P.T)))
        assert V.shape == (2, 6)
        assert np.allclose((V.T @ V).toarray(), P, rtol=0, atol=1e-13 * size * 10.0)


def test_the_epigraph_comes_first_but_for_distances_and_many_unknowns() -> None:
    curved = random_cone_program(0, quadratic=True)
    assert [type(form) for form in forms_of(curved)] == [EpigraphForm, PrimalForm]
    assert [type(form) for form in forms_of(curved, "primal")] == [PrimalForm]
    assert isinstance(next(forms_of(replace(curved, P=None), "dual")), DualForm)
    n = 3
    i, j = np.triu_indices(n)
    weights = np.where(i == j, 1.0, 2.0)
    A = sp.csr_array(np.concatenate([np.eye(6)[i == j], -np.eye(6)]))
    near = ConeProgram(np.ones(6), sp.diags_array(weights).tocsr(), A, np.r_[np.ones(3), np.zeros(6)], 3, 0, (n,))
    assert [type(form) for form in forms_of(near)] == [PrimalForm, EpigraphForm]
    N = FACTOR_ORDER + 1
    ones = sp.eye_array(N, format="csr")
    many = ConeProgram(np.ones(N), ones, sp.csr_array(-ones), np.zeros(N), 0, N - 1, (1,))
    assert [type(form) for form in forms_of(many)] == [PrimalForm]
