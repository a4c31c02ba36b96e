"""Stacks of matrices, second-order cones and random programs, checked by matrices and conditions themselves."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import solve
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop.cvxpy import PSDOPT

from . import cvxpy_claims
from .cone_programs import defects, program_of_any_sizes

pytestmark = pytest.mark.filterwarnings("ignore:The problem .*Defaulting to the SCIPY backend:UserWarning")


def stacks_are_known():
    try:
        return len((cp.Variable((2, 2, 2)) >> 0).shape) == 3
    except ValueError:
        return False


stacked = pytest.mark.skipif(not stacks_are_known(), reason="this CVXPY has no stacks of matrices")


def transposed(X):
    return np.swapaxes(X, -1, -2)


@stacked
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 2, 3, 3), (1, 3, 3), (3, 1, 2, 2)])
@pytest.mark.parametrize("beside", [False, True])
def test_every_matrix_of_a_stack_is_semidefinite_and_so_is_its_multiplier(shape, form, beside):
    """min ⟨C, X⟩ with ⟨S, X⟩ = 5, S ≻ 0: 5 λ for the least λ with C_b − λ S_b singular for a b, and Y = C − λ S."""
    rng = np.random.default_rng(len(shape))
    C, W = rng.standard_normal(shape), rng.standard_normal((*shape[:-1], shape[-1] + 2))
    C, S = C + transposed(C), W @ transposed(W) + np.eye(shape[-1])
    X = cp.Variable(shape)
    inside, bound = X >> 0, cp.sum(cp.multiply(S, X)) == 5.0
    objective, constraints = cp.sum(cp.multiply(C, X)), [inside, bound]
    if beside:
        Z, t = cp.Variable((2, 2), symmetric=True), cp.Variable(3)
        objective += cp.trace(Z) + cp.sum(t)
        constraints = [cp.norm(t) <= 2, Z >> np.eye(2), *constraints, Z[0, 1] == t[0] + 1.0]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=PSDOPT(), form=form, tol=1e-9)
    assert problem.status == "optimal"
    root = np.linalg.inv(np.linalg.cholesky(S))
    least = np.linalg.eigvalsh(root @ C @ transposed(root)).min()
    assert np.sum(C * X.value) == pytest.approx(5.0 * least, abs=1e-6)
    assert np.sum(S * X.value) == pytest.approx(5.0, abs=1e-6)
    assert np.linalg.eigvalsh((X.value + transposed(X.value)) / 2).min() >= -1e-7
    Y = inside.dual_value
    assert Y.shape == shape
    assert bound.dual_value == pytest.approx(-least, abs=1e-6)
    assert np.allclose(Y, C + bound.dual_value * S, rtol=0, atol=1e-5)
    assert np.linalg.eigvalsh(Y).min() >= -1e-6


@stacked
def test_the_largest_eigenvalues_of_a_stack():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((2, 3, 3))
    A = A + transposed(A)
    X = cp.Variable((2, 3, 3))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.lambda_sum_largest(X, 2))), [X == A])
    expected = np.linalg.eigvalsh(A)[:, 1:].sum()
    assert problem.solve(solver=PSDOPT()) == pytest.approx(expected, rel=1e-5)


def test_the_size_of_a_complex_number_is_bounded():
    z, Y = cp.Variable(complex=True), cp.Variable((2, 2), PSD=True)
    bound = cp.abs(z) <= 1
    problem = cp.Problem(cp.Minimize(cp.trace(Y) + cp.real(z) - cp.imag(z)), [Y[0, 0] >= 1, bound])
    assert problem.solve(solver=PSDOPT(), tol=1e-8) == pytest.approx(1.0 - np.sqrt(2.0), abs=1e-6)
    assert abs(z.value) <= 1.0 + 1e-7
    assert bound.dual_value == pytest.approx(np.sqrt(2.0), abs=1e-4)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_entries_of_a_hermitian_matrix_are_bounded_in_size(form):
    """Sizes of voltages and of flows, as in optimal power flow, against Clarabel."""
    rng = np.random.default_rng(3)
    C = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    W = cp.Variable((3, 3), hermitian=True)
    flows = [(1.0 - 2.0j) * (W[i, i] - W[i, j]) for i, j in ((0, 1), (1, 2), (0, 2))]
    constraints = [
        W >> 0, cp.real(cp.diag(W)) <= 1.21, cp.real(cp.trace(W)) >= 2.0, cp.abs(W[0, 1]) <= 0.7,
        *(cp.abs(S) <= 2.5 for S in flows),
    ]  # fmt: skip
    problem = cp.Problem(cp.Minimize(cp.real(cp.trace((C + C.conj().T) @ W))), constraints)
    expected = problem.solve(solver="CLARABEL")
    assert problem.solve(solver=PSDOPT(), form=form, tol=1e-8) == pytest.approx(expected, rel=1e-6)
    assert np.linalg.eigvalsh(W.value).min() >= -1e-6
    assert abs(W.value[0, 1]) <= 0.7 + 1e-6
    assert 2.0 < max(abs(S.value) for S in flows) <= 2.5 + 1e-6


def test_the_multipliers_of_a_second_order_cone_are_in_its_dual_and_end_at_the_optimum():
    """min tr X + cᵀu with |u − a| <= t, t <= 2 − X_00: u = a − (2 − X_00) c/|c|; |c| > 1 asks for X_00 = 0."""
    c, a = np.array([1.0, -2.0, 2.0]), np.array([0.5, 0.0, 1.0])
    X, u, t = cp.Variable((2, 2), PSD=True), cp.Variable(3), cp.Variable()
    cone, top = cp.SOC(t, u - a), t <= 2 - X[0, 0]
    problem = cp.Problem(cp.Minimize(cp.trace(X) + c @ u), [cone, top])
    assert problem.solve(solver=PSDOPT(), tol=1e-9) == pytest.approx(c @ a - 6.0, abs=1e-6)
    height, side = (np.ravel(v.value) for v in cone.dual_variables)
    assert np.allclose(height, 3.0, rtol=0, atol=1e-5)
    assert np.allclose(side, c, rtol=0, atol=1e-5)
    assert top.dual_value == pytest.approx(3.0, abs=1e-5)


def test_cones_that_the_bridge_does_not_know_are_refused(monkeypatch):
    """Whatever CVXPY's chain leaves, and whatever later versions call it."""
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] >= 1])
    data, _, _ = problem.get_problem_data(PSDOPT())
    monkeypatch.setattr(type(data["dims"]), "__init__", _with_a_cone(type(data["dims"]).__init__))
    with pytest.raises(cp.SolverError, match=r"PSDOPT takes .*; CVXPY's program has cones of other kinds: quantum"):
        cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] >= 1]).solve(solver=PSDOPT())


def _with_a_cone(before):
    def made(self, constraints):
        before(self, constraints)
        self.quantum = [3]

    return made


def test_a_problem_of_second_order_cones_alone_is_solved():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 2])
    assert problem.solve(solver=PSDOPT()) == pytest.approx(-2.0 * np.sqrt(3.0), rel=1e-5)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["primal", "dual", "quadratic"]))
def test_every_form_meets_the_optimality_conditions(seed, kind):
    """Feasibility, stationarity, signs of the multipliers and complementarity, of x and y in the program itself."""
    program = program_of_any_sizes(seed, kind == "quadratic")
    form = PrimalForm(program) if kind != "dual" else DualForm(program)
    if kind == "dual" and not form.suits:  # an unknown without a row, or a cost of zero
        form = PrimalForm(program)
    result = solve(form.problem(), tol=1e-8)
    # of a curved objective S may be semidefinite but for rounding, and where nothing bounds the trace that is no proof
    assert result.optimal or (kind == "quadratic" and result.certificate.relative <= 1e-6), result
    y = result.certificate.constraints.multipliers if form.m else np.zeros(0)
    point = form.point(np.asarray(result.matrix.factor), y)
    x, y, s = point.x, point.y, program.b - program.A @ point.x
    loose = 2e-5 * (1.0 + sum(np.max(np.abs(v)) for v in (program.b, x, y, s))) ** 2
    found = defects(program, x, y)
    assert found.pop("gap") <= 10.0 * len(s) * loose
    assert max(found.values()) <= loose, found


@pytest.mark.parametrize("seed", range(1000, 1025))
def test_random_programs_with_scalars_and_several_matrices_agree_with_clarabel(seed) -> None:
    """A few of what ``python -m tests.interop.cvxpy_claims`` runs by the hundred, to more digits."""
    assert cvxpy_claims.judged(seed, agree=1e-5, tol=1e-7) == "agrees"


def test_an_unknown_of_a_small_coefficient_is_not_eliminated():
    """x has the coefficient 0.0036 in one row, and larger ones in others: F(0) was 1e8, F at the solution 53."""
    assert cvxpy_claims.judged(969) == "agrees"


def test_a_saddle_of_a_curved_objective_is_left():
    """An unknown has left the factor, and S is −0.5 there: the curvature of F hid it from the damping of the steps."""
    assert [cvxpy_claims.judged(seed) for seed in (195, 958)] == ["agrees", "agrees"]
