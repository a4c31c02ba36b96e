"""Faces that only a combination of equations defines, and problems in coordinates W N Wᵀ against W Z."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import (
    AutogradProblem,
    Constrained,
    InteriorPoint,
    QuadraticSDP,
    Status,
    TermSum,
    certify,
    constraints,
    solve,
)
from psdopt.constraints.faces.combined_rows import combined
from psdopt.constraints.faces.congruence import CarriedForms, carried_forms, carried_problem
from psdopt.constraints.faces.hidden_face import _scaled, hidden_combination, inside
from psdopt.constraints.measurements import SparseForms
from psdopt.contracts.images import Images
from psdopt.problems.composite import Composite
from psdopt.terms import LeastSquares, LinearTerm, MeasuredTerm, PairDistances, ProductTerm, QuadraticForms
from psdopt.terms.base import combine
from psdopt.terms.forms import GramForm, MatrixForm, SumForm
from psdopt.testing import parametrize_with_checks
from tests.constraints.faces.test_face import E
from tests.instances import symmetric


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


N, Q, R = 7, 4, 3


def basis(dense: bool) -> sp.csr_array:
    """Two clusters, a row that is zero, and two rows by themselves; or an arbitrary basis."""
    if dense:
        return sp.csr_array(np.linalg.qr(np.random.default_rng(1).standard_normal((N, Q)))[0])
    W = np.zeros((N, Q))
    W[[0, 2], 0], W[[3, 4], 1], W[5, 2], W[6, 3] = np.sqrt(0.5), np.sqrt(0.5), 1.0, 1.0
    return sp.csr_array(W)


def forms() -> constraints.SparseForms:
    rng = np.random.default_rng(2)
    A = [G + G.T for G in rng.standard_normal((3, N, N))]
    return constraints.SparseForms.of([*A, np.diag(np.arange(N) * 1.0)])


def curved() -> TermSum:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5, N))
    C = np.diag(rng.standard_normal(N))
    return TermSum(
        [
            ProductTerm(SumForm([GramForm(X), MatrixForm(np.eye(N))]), MatrixForm(sp.csr_array(np.eye(N)))),
            LinearTerm(C, 2.0),
            MeasuredTerm(QuadraticForms(X), LeastSquares(np.ones(5)), 0.5),
            MeasuredTerm(PairDistances([0, 1], [3, 5], n=N), LeastSquares(np.array([1.0, 2.0]))),
        ],
        constant=1.5,
    )


@pytest.mark.parametrize("dense", [False, True])
def test_forms_measure_what_the_original_ones_do(dense) -> None:
    W, rng = basis(dense), np.random.default_rng(4)
    Z, U, y = rng.standard_normal((Q, R)), rng.standard_normal((Q, R)), rng.standard_normal(4)
    original, zero = forms(), np.array([1])
    expected = original.pair(Images((), W @ Z), Images((), W @ U))
    expected[1] = 0.0
    found = carried_forms(original, W, zero)
    assert found.norms[1] == 0.0
    assert np.allclose(found.pair(Images((), Z), Images((), U)), expected, atol=1e-12)
    through = CarriedForms(original, W, zero)
    left, right = Images(through.maps, Z), Images(through.maps, U)
    assert np.allclose(through.pair(left, right), expected, atol=1e-12)
    kept = np.where(np.arange(4) == 1, 0.0, y)
    force = W.T @ (original.matrix(kept) @ (W @ Z))
    assert np.allclose(combine(through.adjoint(y, left), Z.shape), force, atol=1e-12)
    assert np.allclose(found.matrix(y) @ Z, force, atol=1e-12)


def test_sums_that_cancel_are_zero_and_not_rounding() -> None:
    W = basis(False)
    linked = constraints.distances([0, 3], [2, 4], 0.0, n=N).measurement
    found = carried_forms(constraints.explicit_forms(linked), W, np.zeros(0, dtype=int))
    assert found.norms.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("kind", ["terms", "autograd", "operator"])
def test_problems_agree_with_direct_evaluation(kind, dense) -> None:
    W, rng = basis(dense), np.random.default_rng(5)
    if kind == "terms":
        F = curved()
    elif kind == "operator":  # entries of A are not at hand
        F = QuadraticSDP(A=sp.linalg.aslinearoperator(np.eye(N)), C=np.eye(N))
    else:
        F = AutogradProblem(lambda M: ((M - 1.0) ** 4).sum(), N, convex=True)
    problem = carried_problem(F, W)
    assert isinstance(problem, TermSum if kind == "terms" else Composite)
    Z, D = rng.standard_normal((2, Q, R))
    here, there = problem.at(Z), F.at(W @ Z)
    assert here.value == pytest.approx(there.value, rel=1e-12)
    assert np.allclose(here.factor_gradient(), W.T @ there.factor_gradient())
    assert np.allclose(here.gradient @ D, W.T @ (there.gradient @ (W @ D)))
    assert np.allclose(here.gradient @ here.factor, 0.5 * here.factor_gradient())
    assert np.allclose(here.hessian_vector(D), W.T @ there.hessian_vector(W @ D))
    assert problem.counts() == F.counts() or kind != "autograd"


def test_derived_classes_are_not_taken_for_their_bases() -> None:
    class Doubled(LinearTerm):
        def value(self, features: float) -> float:
            return 2.0 * super().value(features)

    assert isinstance(carried_problem(TermSum([Doubled(np.eye(N))]), basis(False)), Composite)


@parametrize_with_checks([carried_problem(curved(), basis(False)), Composite([curved()], basis(True))])
def test_conformance(check):
    check()


def guesses(n: int, W: np.ndarray, seed: int) -> list[np.ndarray]:
    """Definite, indefinite and zero, of all sizes, and near a matrix on the face with the basis W."""
    rng = np.random.default_rng(seed)
    G, H = rng.standard_normal((n, n)), rng.standard_normal((W.shape[1], W.shape[1]))
    on = W @ H @ H.T @ W.T
    near = [on + size * P for size in (1e-15, 1e-12, 1e-9, 1e-6, 1e-3) for P in (np.eye(n), G @ G.T)]
    sizes = [size * P for size in (1e-8, 1.0, 1e8) for P in (np.eye(n), -np.eye(n), G + G.T, G @ G.T, -G @ G.T)]
    return [*near, *sizes, np.zeros((n, n))]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 6, 7, 12])
def test_no_matrix_talks_a_face_away(seed) -> None:
    program, _, _, W = hidden(seed)
    forms, lower, upper = program.forms, program.lower, program.upper
    for M in guesses(program.n, W, seed):
        assert not inside(forms, lower, upper, M)
        program.rule_out_face(M)
    assert program.face is not None


def test_what_meets_the_equations_has_to_meet_the_inequalities() -> None:
    """tr M = 2, M_00 <= 0: −I has M_00 < 0, and the matrix with tr M = 2 nearest to it is I. M_01 <= 1 is no matter."""
    rows = [constraints.trace(2, 2.0), constraints.sparse_forms([E(0, 0, n=2)], upper=0.0)]
    known = Constrained(QuadraticSDP(C=np.eye(2)), rows)
    beside = constraints.entries([0], [1], 2, upper=1.0)
    loose = Constrained(QuadraticSDP(C=np.eye(2)), [constraints.trace(2, 2.0), beside])
    alone = Constrained(QuadraticSDP(C=np.eye(2)), rows[1:])
    for M in (-np.eye(2), np.eye(2), np.diag([-1e-3, 1.0]), np.diag([-1.0, 1e3]), 1e8 * np.eye(2)):
        for program in (known, alone):
            assert not inside(program.forms, program.lower, program.upper, M)
            program.rule_out_face(M)
            assert program.face.order == 1
    for M in (-np.eye(2), np.eye(2), 1e8 * np.eye(2)):
        assert inside(loose.forms, loose.lower, loose.upper, M)
    off = np.array([[1.0, 1.5], [1.5, 1.0]])
    assert not inside(loose.forms, loose.lower, loose.upper, off + 2.0 * np.eye(2))


@pytest.mark.parametrize("depth", [1e-9, 1e-6, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_knows_a_matrix_has_the_certificate_of_a_fresh_problem(seed, depth) -> None:
    program = hidden(seed, inside=depth)[0]
    result = solve(program, method=InteriorPoint())
    assert result.state.dual.inside is not None
    y = result.certificate.constraints.multipliers
    fresh, known = (certify(each, result.matrix, dual=y) for each in (hidden(seed, inside=depth)[0], program))
    assert (fresh.gap, fresh.dual_value, fresh.value) == (known.gap, known.dual_value, known.value)
    assert (fresh.constraints.on_face, known.constraints.on_face) == (0, 0)
    assert fresh.constraints.dimacs == known.constraints.dimacs


@pytest.mark.parametrize("seed", range(4))
def test_where_a_definite_matrix_is_known_nothing_is_searched_for(seed, monkeypatch) -> None:
    program, again = (hidden(seed, inside=1.0)[0] for _ in range(2))
    monkeypatch.setattr("psdopt.constraints.faces.face.hidden_combination", lambda *_: pytest.fail("a search"))
    M = solve(program, method=InteriorPoint()).state.dual.inside
    assert inside(program.forms, program.lower, program.upper, M)
    assert program.face is None
    assert program.shown.face is None
    again.rule_out_face(M)
    assert again.face is None


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_a_fresh_problem_has_the_certificate_that_the_run_on_a_face_had(seed) -> None:
    program = hidden(seed)[0]
    result = solve(program)
    y = result.certificate.constraints.multipliers
    fresh, known = (certify(each, result.matrix, dual=y) for each in (hidden(seed)[0], program))
    assert fresh.constraints.on_face == known.constraints.on_face > 0
    assert (fresh.gap, fresh.dual_value) == (known.gap, known.dual_value)
    assert fresh.proves(1e-6)


def test_what_the_error_of_the_forms_explains_defines_no_face() -> None:
    """⟨E, M⟩ = 0 and ⟨E + 1e-3 P, M⟩ = 0 force P M = 0, but not if the second may be the first."""
    E, P = np.diag([1.0, -1.0, 2.0, -2.0]), np.diag([1.0, 1.0, 0.0, 0.0])
    E[0, 3] = E[3, 0] = 0.3
    b = np.array([0.0, 0.0, 1.0])
    forms = SparseForms.of([E, E + 1e-3 * P, np.eye(4)])
    exact, none = (combined(forms, b, b, noise)[0] for noise in (0.0, 1e-2))
    assert none.shape[0] == 0
    A = forms.matrix(exact[0]).toarray()
    assert np.allclose(A, A[0, 0] * P, rtol=0, atol=1e-6 * abs(A[0, 0]))
    ranks = [len(_scaled(forms, b, np.arange(3), noise)[0].independent) for noise in (0.0, 1e-2)]
    assert ranks == [3, 2]
    assert hidden_combination(forms, b, b, 1e-2) is None


def test_a_definite_matrix_within_the_face_at_sight_rules_out_a_search(monkeypatch) -> None:
    """M_00 = 0 is seen; tr M = 1 with M_12 = 0.2 has definite matrices on the rest. One on a face of it does not."""
    rows = constraints.entries([0, 1], [0, 2], 4, [0.0, 0.2])
    for C, M, known in (
        (np.diag([0.0, 1.0, 2.0, 3.0]), np.diag([0.0, 0.4, 0.4, 0.2]), True),
        (np.eye(4), np.diag([0.0, 0.5, 0.5, 0.0]), False),
    ):
        program = Constrained(QuadraticSDP(C=C), [rows, constraints.trace(4, 1.0)])
        M[1, 2] = M[2, 1] = 0.2
        program.rule_out_face(M)
        assert ("face" in vars(program)) == known
        assert program.face is not None
        assert program.face.order == 3
