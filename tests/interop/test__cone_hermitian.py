"""Hermitian blocks of cone programs: equations between their parts are left out, and answers stay the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_forms import PrimalForm
from psdopt.interop._cone_hermitian import twins
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_solve import solved
from psdopt.interop.conic import ConicProgram

RNG = np.random.default_rng(0)
N = 4


def real_form(H):
    return np.block([[H.real, -H.imag], [H.imag, H.real]])


def basis(n):
    """A real basis of the Hermitian matrices of order n."""
    for j in range(n):
        for i in range(j, n):
            for unit in (1.0, 1j) if i > j else (1.0,):
                H = np.zeros((n, n), dtype=complex)
                H[i, j], H[j, i] = unit, np.conj(unit)
                yield H


def hermitian(n):
    G = RNG.standard_normal((n, n)) + 1j * RNG.standard_normal((n, n))
    return (G + G.conj().T) / 2


def rows(S):
    column, row = np.triu_indices(len(S))
    return S[row, column]


def program(C, equations=(), values=(), spoilt=0.0):
    """min Re tr(C H), Re tr(A_t H) = b_t, with H ⪰ 0 as its real form."""
    units = list(basis(len(C)))
    inner = lambda A: np.array([np.trace(A @ H).real for H in units])  # noqa: E731
    block = -np.array([rows(real_form(H)) for H in units]).T
    block[0, 0] += spoilt
    A = np.vstack([*(inner(each) for each in equations), block])
    b = np.concatenate([np.asarray(values, dtype=float), np.zeros(len(block))])
    return inner(C), A, b, len(values)


def solve(c, A, b, zero, **options):
    n = int(np.sqrt(8 * (len(b) - zero) + 1) - 1) // 2
    scale = np.where(np.equal(*np.triu_indices(n)), 1.0, np.sqrt(2.0))
    scale = np.concatenate([np.ones(zero), scale])
    return ConicProgram(c, A * scale[:, None], b * scale, {"zero": zero, "psd": [n]}).solve(**options)


def cone_program(c, A, b, zero):
    n = int(np.sqrt(8 * (len(b) - zero) + 1) - 1) // 2
    return ConeProgram(c, None, sp.csr_array(A), b, zero, 0, (n,))


C = hermitian(N)
TRACE = program(C, [np.eye(N)], [1.0])


def test_a_trace_is_the_only_constraint_that_is_left():
    assert PrimalForm(cone_program(*TRACE)).m == 1
    spoilt = program(C, [np.eye(N)], [1.0], spoilt=0.5)
    assert twins(cone_program(*spoilt)) is None
    assert PrimalForm(cone_program(*spoilt)).m > N * N


def test_the_mean_of_twins_is_that_with_the_turned_matrix():
    found = twins(cone_program(*TRACE))
    M = RNG.standard_normal((2 * N, 2 * N))
    M = M + M.T
    J = np.block([[np.zeros((N, N)), -np.eye(N)], [np.eye(N), np.zeros((N, N))]])
    s = np.concatenate([[0.0], rows(M)])
    assert np.allclose((found.mean @ s)[1:], rows(0.5 * (M + J @ M @ J.T)), rtol=1e-14)
    assert np.sum(found.repeated) == N * (2 * N + 1) - N * N


@pytest.mark.parametrize("form", ["primal", "dual", "auto"])
def test_the_answer_and_its_multipliers_are_of_the_program_that_was_given(form):
    c, A, b, zero = TRACE
    answer = solve(c, A, b, zero, tol=1e-9, form=form)
    assert answer.optimal
    assert np.isclose(answer.value, np.linalg.eigvalsh(C)[0], rtol=1e-7)
    units = list(basis(N))
    H = sum(x * unit for x, unit in zip(answer.x, units, strict=True))
    assert np.linalg.eigvalsh(H)[0] >= -1e-7
    scale = np.concatenate([[1.0], np.where(np.equal(*np.triu_indices(2 * N)), 1.0, np.sqrt(2.0))])
    assert np.allclose(c + (A * scale[:, None]).T @ answer.y, 0.0, atol=1e-6)
    Y = np.zeros((2 * N, 2 * N))
    column, row = np.triu_indices(2 * N)
    Y[row, column] = answer.y[1:] / np.where(row == column, 1.0, np.sqrt(2.0))
    Y = Y + np.tril(Y, -1).T
    assert np.linalg.eigvalsh(Y)[0] >= -1e-6
    assert np.allclose(Y[:N, :N], Y[N:, N:], rtol=1e-12, atol=1e-14)
    assert np.allclose(Y[N:, :N], -Y[N:, :N].T, rtol=1e-12, atol=1e-14)


def test_endings_are_proven_as_before():
    corner = np.zeros((N, N))
    corner[0, 0] = 1.0
    empty = solved(PrimalForm(cone_program(*program(np.eye(N), [corner], [-1.0]))), {}, None, False)
    assert empty.ending is Ending.INFEASIBLE
    _, A, b, _ = program(np.eye(N), [corner], [-1.0])
    assert np.allclose(A.T @ empty.proof, 0.0, atol=1e-9)
    assert b @ empty.proof < 0.0
    low = np.diag([1.0, *[-1.0] * (N - 1)])
    assert solved(PrimalForm(cone_program(*program(low, [corner], [1.0]))), {}, None, False).ending is Ending.UNBOUNDED


def test_hermitian_variables_of_cvxpy_have_one_constraint_for_each_equation():
    cp = pytest.importorskip("cvxpy")
    import psdopt.interop.cvxpy  # noqa: F401

    H = cp.Variable((N, N), hermitian=True)
    model = cp.Problem(cp.Minimize(cp.real(cp.trace(C @ H))), [H >> 0, cp.real(cp.diag(H)) == 1, H[0, 1] == 0.1j])
    value = model.solve(solver="PSDOPT", tol=1e-9)
    assert model.status == cp.OPTIMAL
    assert np.isclose(value, model.solve(solver=cp.CLARABEL), rtol=1e-6)
