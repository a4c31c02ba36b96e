"""Faces that only a combination of equations defines, found by a search for a definite feasible matrix."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.constraints.faces.hidden_face import hidden_combination
from psdopt.constraints.measurements import SparseForms
from tests.constraints.faces.test_face import E


def symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    G = rng.standard_normal((n, n))
    return 0.5 * (G + G.T)


def hidden(seed: int, inside: float = 0.0) -> tuple[Constrained, Constrained, np.ndarray, np.ndarray]:
    """(program, the same on the face, w, W): Σ_t w_t A_t = U K Uᵀ and wᵀb = 0, and no right-hand side is zero.

    `inside` : the feasible M₀ has this multiple of a unit matrix, so that it lies on no face where it is positive.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    m, k = int(rng.integers(2, n + 1)), int(rng.integers(1, n - 1))
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    U, W = Q[:, :k], Q[:, k:]
    K = rng.standard_normal((k, k))
    R = rng.standard_normal((n - k, n - k))
    M0 = W @ R @ R.T @ W.T + inside * np.eye(n)
    A = [symmetric(rng, n) for _ in range(m)]
    w = rng.uniform(0.3, 2.0, m) * rng.choice([-1.0, 1.0], m)
    A[0] = (U @ (K @ K.T + 0.1 * np.eye(k)) @ U.T - sum(w[t] * A[t] for t in range(1, m))) / w[0]
    b = np.array([np.sum(a * M0) for a in A])
    C, trace = symmetric(rng, n), 2.0 * np.trace(M0)
    rows = [constraints.sparse_forms(A, b), constraints.trace(n, upper=trace)]
    there = [constraints.sparse_forms([W.T @ a @ W for a in A[1:]], b[1:]), constraints.trace(n - k, upper=trace)]
    return Constrained(QuadraticSDP(C=C), rows), Constrained(QuadraticSDP(C=W.T @ C @ W), there), w, W


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 6, 7, 12])
def test_a_program_without_a_strictly_feasible_matrix_ends_as_on_its_face(seed) -> None:
    program, there, w, W = hidden(seed)
    assert program.shown.face is None
    result, known = solve(program), solve(there, tol=1e-8)
    assert (result.status, known.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert result.value == pytest.approx(known.value, rel=3e-5, abs=3e-5)
    assert result.certificate.dual_value <= known.value + 1e-6 * abs(known.value)
    found = hidden_combination(program.forms, program.lower, program.upper)
    assert abs(found[:-1] @ w) / np.linalg.norm(found) / np.linalg.norm(w) == pytest.approx(1.0, abs=1e-9)
    face = program.face
    assert face.searched
    assert np.linalg.norm(face.within.toarray() @ face.within.toarray().T - W @ W.T) <= 1e-7


@pytest.mark.parametrize("inside", [1e-9, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_nearly_a_face_is_none(seed, inside) -> None:
    """M₀ is `inside` of the cone: A*(w) is the same, and wᵀb = `inside` tr A*(w)."""
    program, _, _, _ = hidden(seed, inside=inside)
    assert program.face is None
    assert solve(program).certificate.constraints.on_face == 0


@pytest.mark.parametrize("seed", [13, 42])
def test_a_face_that_was_searched_for_proves_nothing_infeasible(seed) -> None:
    program, _, w, _ = hidden(seed)
    result = solve(program)
    assert not result.certificate.infeasible
    again = certify(program, result.matrix, dual=np.r_[1e6 * w, 0.0])
    assert again.constraints.infeasibility_proof is None


def test_a_matrix_that_is_feasible_off_the_face_only_is_not_optimal() -> None:
    """M_00 + M_11 = 2, M_11 + M_22 = 3 and M_00 − M_22 + M_33 = −1 say M_33 = 0, which M_23 = 1e-3 refutes."""
    E = np.eye(4)
    sums = [np.diag([1.0, 1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 1.0, 0.0]), np.diag([1.0, 0.0, -1.0, 1.0])]
    rows = constraints.sparse_forms(
        [*sums, 0.5 * (np.outer(E[2], E[3]) + np.outer(E[3], E[2]))], [2.0, 3.0, -1.0, 1e-3]
    )
    program = Constrained(QuadraticSDP(C=np.diag([1.0, 0.0, 0.0, 0.0])), [rows, constraints.trace(4, upper=10.0)])
    M = np.diag([0.0, 2.0, 1.0, 1e-6])
    M[2, 3] = M[3, 2] = 1e-3
    at = np.linalg.cholesky(M + 1e-12 * np.eye(4))
    y = np.array([-1e4, 1e4, 1e4, 0.0, 0.0])
    assert not certify(program, at, dual=y).proves(1e-3)
    assert solve(program).status is not Status.OPTIMAL


def test_a_run_that_went_on_within_a_hidden_face_resumes_with_the_same_steps(tmp_path) -> None:
    program, file = hidden(0)[0], tmp_path / "run"
    whole = solve(program)
    assert whole.certificate.constraints.on_face > 0
    solve(program, max_iterations=whole.iterations - 2, checkpoint=file)
    resumed = solve(hidden(0)[0], resume=file)
    assert (resumed.iterations, resumed.value, resumed.status) == (whole.iterations, whole.value, whole.status)
    assert np.array_equal(resumed.certificate.constraints.multipliers, whole.certificate.constraints.multipliers)


@pytest.mark.parametrize("seed", range(3))
def test_a_face_of_a_hidden_face_is_found_as_well(seed) -> None:
    """M_00 = 0 leaves M_02 = 0, and M_11 + 2 M_02 = 0 then M_11 = 0: rows in random combinations, axes turned."""
    rng = np.random.default_rng(seed)
    base, b = (
        [E(0, 0, n=5), E(1, 1, n=5) + 2.0 * E(0, 2, 0.5, n=5), E(2, 2, n=5), E(3, 3, n=5) + E(2, 4, 0.5, n=5)],
        [0, 0, 1, 2],
    )
    U, Q = rng.standard_normal((4, 4)), np.linalg.qr(rng.standard_normal((5, 5)))[0]
    C = 30.0 * E(1, 2, 0.5, n=5) + E(3, 3, n=5) + E(4, 4, n=5) + 3.0 * E(2, 2, n=5) + E(0, 4, 0.5, n=5)
    turned = [Q @ np.tensordot(u, base, 1) @ Q.T for u in U]
    rows = constraints.sparse_forms([0.5 * (A + A.T) for A in turned], U @ b)
    program = Constrained(QuadraticSDP(C=Q @ C @ Q.T), [rows, constraints.trace(5, upper=10.0)])
    assert program.shown.face is None
    result = solve(program)
    inside = constraints.sparse_forms([A[2:, 2:] for A in base[2:]], [1.0, 2.0])
    known = solve(Constrained(QuadraticSDP(C=C[2:, 2:]), [inside, constraints.trace(3, upper=10.0)]), tol=1e-8)
    assert (result.status, known.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert result.value == pytest.approx(known.value, rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_the_units_of_the_rows_of_a_matrix_make_no_face(seed) -> None:
    """D M₀ D with d from 1e-3 to 1e3 and D⁻¹ A_t D⁻¹: M₀ is 1e-8 inside of the cone in its own units."""
    program, _, _, _ = hidden(seed, inside=1e-8)
    equations = program.lower == program.upper
    forms, d = program.forms, 10.0 ** np.random.default_rng(seed).integers(-3, 4, program.n)
    B = forms.B[equations].toarray() / (d[forms.i] * d[forms.j])
    turned = SparseForms(forms.i, forms.j, B, program.n)
    b = program.lower[equations]
    assert hidden_combination(turned, b, b) is None


def test_redundant_equations_hide_no_face() -> None:
    """A row given twice, up to rounding: A*(w) of their difference is rounding, and no face."""
    rng = np.random.default_rng(5)
    A = [symmetric(rng, 5) for _ in range(3)]
    A.append(A[0] + 0.1 * A[1] - 0.3 * A[2])
    b = [np.trace(a) for a in A]
    program = Constrained(QuadraticSDP(C=np.eye(5)), constraints.sparse_forms(A, b))
    assert program.face is None
    assert solve(program).status is Status.OPTIMAL


def test_large_programs_are_not_searched() -> None:
    forms = constraints.diagonal(400, 1.0).measurement
    program = Constrained(QuadraticSDP(C=np.eye(400)), [constraints.Constraint(forms, 1.0, 1.0)])
    assert hidden_combination(program.forms, program.lower, program.upper) is None
