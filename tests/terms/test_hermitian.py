# ruff: noqa: E501 (tables of exact texts)
"""Hermitian matrices on a real factor, against complex arithmetic."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import Constrained, LowRankPSD, TermSum, constraints, solve
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import LinearMap
from psdopt.terms import LinearTerm, embedded, hermitian_form, hermitian_squares
from psdopt.testing import parametrize_with_checks

RNG = np.random.default_rng(0)
N, R = 4, 3


def complex_normal(*shape):
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


Z, X = complex_normal(N, R), complex_normal(6, N)
W = np.concatenate([Z.real, Z.imag])
H = Z @ Z.conj().T
G = complex_normal(N, N)
C = (G + G.conj().T) / 2


@parametrize_with_checks(
    [hermitian_squares(X), hermitian_squares(sp.csr_array(X)), hermitian_squares(aslinearoperator(X))]
)
def test_conformance(check):
    check()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, aslinearoperator])
def test_a_complex_matrix_acts_on_parts_as_its_real_form(kind):
    A = LinearMap(embedded(kind(X)))
    V = complex_normal(6, 2)
    joined = lambda U: np.concatenate([U.real, U.imag])  # noqa: E731
    assert np.allclose(A.apply(W), joined(X @ Z), rtol=1e-13)
    assert np.allclose(A.adjoint(joined(V)), joined(X.conj().T @ V), rtol=1e-13)
    measurement = hermitian_squares(kind(X))
    U = Images(measurement.maps, W)
    assert np.allclose(measurement.pair(U, U), np.linalg.norm(X @ Z, axis=1) ** 2, rtol=1e-13)


def test_a_form_of_a_hermitian_matrix_has_its_eigenvalues_twice():
    form = hermitian_form(C)
    U = Images(form.maps, W)
    assert np.isclose(form.trace(U, U), np.trace(C @ H).real, rtol=1e-13)
    assert np.allclose(np.linalg.eigvalsh(form.to_dense()), np.repeat(np.linalg.eigvalsh(C), 2), rtol=1e-12)


def test_the_least_eigenvalue_of_a_hermitian_matrix_by_a_linear_program():
    problem = Constrained(TermSum([LinearTerm(hermitian_form(sp.csr_array(C)))]), constraints.trace(2 * N, 1.0))
    result = solve(problem, tol=1e-9, rng=0)
    assert result.optimal
    assert np.isclose(result.value, np.linalg.eigvalsh(C)[0], rtol=1e-7)
    assert np.isclose(np.linalg.norm(result.matrix.hermitian()), 1.0, rtol=1e-7)


def test_the_hermitian_factor_is_read_off_the_real_one():
    assert np.array_equal(LowRankPSD(W).hermitian(), Z)
    with pytest.raises(InvalidInputError, match=r"M must have an even order, .*; found 3"):
        LowRankPSD(np.ones((3, 1))).hermitian()


def test_constraints_measure_entries_forms_and_squares():
    i, j = [0, 2, 1], [1, 2, 3]
    groups = {
        "entries": (constraints.hermitian_entries(i, j, N, H[i, j]), [*H[i, j].real, H[0, 1].imag, H[1, 3].imag]),
        "forms": (
            constraints.hermitian_forms([C, sp.csr_array(np.eye(N))], 1.0),
            [np.trace(C @ H).real, np.trace(H).real],
        ),
        "squares": (constraints.hermitian_squares(X, upper=1.0), np.linalg.norm(X @ Z, axis=1) ** 2),
    }
    for group, expected in groups.values():
        U = Images(group.measurement.maps, W)
        assert np.allclose(group.measurement.pair(U, U), expected, rtol=1e-12)
    entries = groups["entries"][0]
    assert np.allclose(entries.lower, groups["entries"][1], rtol=1e-15)
    assert constraints.hermitian_entries([0], [0], N, 1.0).size == 1


SKEW = np.array([[1.0, 1j], [1j, 1.0]])


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: hermitian_form(SKEW), InvalidInputError, r"C must be Hermitian; found max \|C - C\*\| = 2, where .* is allowed"),
        (lambda: hermitian_form(np.ones((2, 3))), InvalidInputError, r"C must be square; found shape \(2, 3\)"),
        (lambda: hermitian_form("C"), InvalidTypeError, "C must hold real or complex numbers; found 'C'"),
        (lambda: embedded([[np.nan]]), InvalidInputError, "X must be finite"),
        (lambda: embedded([1.0]), InvalidInputError, r"X must be a 2-D array, not empty; found shape \(1,\)"),
        (lambda: constraints.hermitian_forms([np.eye(2), SKEW], 0.0), InvalidInputError, r"matrices\[1\] must be Hermitian"),
        (lambda: constraints.hermitian_entries([0, 1], [1, 1], 2, 1j), InvalidInputError,
         "equals must be real on the diagonal .* found 1j at position 1"),
        (lambda: constraints.hermitian_entries([0], [1], 2, "x"), InvalidTypeError, "equals must hold real or complex numbers"),
    ],
)  # fmt: skip
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()
